/** UTC months and days of a moment, as SQL and people write them. */
import { dayOf, monthOf } from '../metering/index.ts';
import { monthEnd } from '../plans/index.ts';

export interface Month {
  /** First day, `YYYY-MM-DD`. */
  readonly period: string;
  readonly today: string;
  /** The next month's beginning. */
  readonly end: Date;
}

export function monthAt(now: Date): Month {
  const today = dayOf(now.getTime());
  const period = monthOf(today);
  return { period, today, end: monthEnd(period) };
}
