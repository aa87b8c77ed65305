/**
 * This file splits a row of days by what covered it. A discount covers whole rows, so that a partly covered
 * one becomes several.
 */
import type { CoveredBy } from './charge.ts';

export interface DayCost {
  readonly ms: number;
  /** Part of them that the plan includes. */
  readonly includedMs: number;
  /** Price: pico-units of a millisecond. */
  readonly nanos: number;
}

export interface Part {
  /** It is null for time that is to be paid. */
  readonly coveredBy: CoveredBy | null;
  readonly ms: number;
}

/** Credit of a closed month, in pico-units. */
export interface Credit {
  readonly granted: bigint;
  readonly bought: bigint;
}

/**
 * Makes what splits row after row; `net` is the net cost of what comes before the first one. Net costs are
 * laid end to end: granted credit covers the first of them, bought credit the next.
 */
export function createSplitter({ granted, bought }: Credit, net = 0n): (row: DayCost) => Part[] {
  const ends: ReadonlyArray<readonly [CoveredBy, bigint]> =
    granted + bought === 0n
      ? []
      : [
          ['granted_credit', granted],
          ['bought_credit', granted + bought],
        ];
  let position = net;
  return ({ ms, includedMs, nanos }) => {
    const price = BigInt(nanos);
    const parts: Part[] = [{ coveredBy: 'included', ms: includedMs }];
    let left = ms - includedMs;
    for (const [coveredBy, end] of ends) {
      // Less than a millisecond's price at the end of a credit covers nothing; the adjustment of the month
      // has it.
      const room = price === 0n || end <= position ? 0n : (end - position) / price;
      const covered = room > BigInt(left) ? left : Number(room);
      parts.push({ coveredBy, ms: covered });
      position += BigInt(covered) * price;
      left -= covered;
    }
    parts.push({ coveredBy: null, ms: left });
    position += BigInt(left) * price;
    const some = parts.filter((part) => part.ms > 0);
    return some.length === 0 ? [{ coveredBy: null, ms: 0 }] : some;
  };
}
