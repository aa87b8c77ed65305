/** The lines of a month, recomputed from the sums of its days at any time. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { SqlTag } from '../../base/db/index.ts';
import { payableOf, picoOf } from '../amounts/index.ts';
import { includedMs, type Coverage } from '../plans/index.ts';

/** Meter of a line for credit that was refunded after it was used: it has no time and no price. */
export const SHORTFALL = 'credit.shortfall';

export interface Line {
  readonly meter: string;
  /** Empty for a shortfall. */
  readonly priceId: string;
  readonly meteredMs: number;
  readonly includedMs: number;
  /** Amount in pico-units. */
  readonly list: bigint;
  readonly included: bigint;
  readonly listCents: number;
  readonly netCents: number;
}

export interface Totals {
  readonly listCents: number;
  readonly includedCents: number;
  readonly netCents: number;
}

export interface LinesOf {
  readonly teamId: string;
  readonly period: string;
  readonly coverage: Coverage;
  readonly currency: string;
}

/**
 * One for each meter and price, each rounded once: to what can be paid, half of a step up. Sums of them can
 * be paid too.
 */
export async function usageLines(
  sql: SqlTag,
  { teamId, period, coverage, currency }: LinesOf,
): Promise<Line[]> {
  const rows = await sql<
    Array<{ meter: string; priceId: string; ms: number; covered: number; nanosPerSecond: number }>
  >`
    select d.meter, d.price_id as "priceId", p.nanos_per_second as "nanosPerSecond", sum(d.metered_ms)::bigint as ms, sum(${includedMs(sql, coverage)})::bigint as covered
    from cost_days d join prices p on p.id = d.price_id where d.team_id = ${teamId} and d.period = ${period}::date
    group by d.meter, d.price_id, p.nanos_per_second order by d.meter, d.price_id`;
  return rows.map(({ meter, priceId, ms, covered, nanosPerSecond }) => {
    const list = BigInt(ms) * BigInt(nanosPerSecond);
    const included = BigInt(covered) * BigInt(nanosPerSecond);
    return {
      meter,
      priceId,
      meteredMs: ms,
      includedMs: covered,
      list,
      included,
      listCents: payableOf(list, currency),
      netCents: payableOf(list - included, currency),
    };
  });
}

export function shortfallLine(cents: number, currency: string): Line {
  const none = { meteredMs: 0, includedMs: 0, included: 0n };
  return {
    ...none,
    meter: SHORTFALL,
    priceId: '',
    list: picoOf(cents, currency),
    listCents: cents,
    netCents: cents,
  };
}

/** Nothing is rounded again: what is included is what the two others leave. */
export function totalsOf(lines: readonly Line[]): Totals {
  const sum = (part: (line: Line) => number) => lines.reduce((total, line) => total + part(line), 0);
  const [listCents, netCents] = [sum((line) => line.listCents), sum((line) => line.netCents)];
  return { listCents, includedCents: listCents - netCents, netCents };
}
