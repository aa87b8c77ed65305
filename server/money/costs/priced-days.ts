/**
 * This file computes what days cost at the prices of another day. History is compared and continued at one
 * price, so that a new price does not look like a change of use.
 */
import type { NanosOn } from '../metering/index.ts';

/** Time of one meter on one day. */
export interface MeterDay {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly meter: string;
  readonly ms: bigint;
  /** List price in pico-units. */
  readonly list: bigint;
}

/** List price in pico-units of a day, at the prices of the day `asOn`. */
export type CostAt = (day: string, asOn: string) => bigint;

/**
 * The price of a meter that was used on `asOn` is what was paid for it there, which is a mean of two for work
 * that was claimed before a new price. Otherwise it is that of `nanosOn`, and without one what was paid when
 * it was last used before.
 */
export function costAt(rows: readonly MeterDay[], nanosOn?: NanosOn): CostAt {
  const days = new Map<string, MeterDay[]>();
  const used = new Map<string, MeterDay[]>();
  for (const row of rows.toSorted((a, b) => (a.day < b.day ? -1 : 1))) {
    if (row.ms === 0n) continue;
    days.set(row.day, [...(days.get(row.day) ?? []), row]);
    used.set(row.meter, [...(used.get(row.meter) ?? []), row]);
  }
  const repriced = ({ meter, ms, list }: MeterDay, asOn: string): bigint => {
    const last = used.get(meter)?.findLast(({ day }) => day <= asOn);
    if (nanosOn !== undefined && last?.day !== asOn) return ms * nanosOn(meter, asOn);
    return last === undefined ? list : (ms * last.list) / last.ms;
  };
  return (day, asOn) => (days.get(day) ?? []).reduce((sum, row) => sum + repriced(row, asOn), 0n);
}
