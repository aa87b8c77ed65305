/** UTC months and days of a moment, as SQL and people write them. */
import { monthAfter } from '../plans/index.ts';

export interface Month {
  /** First day, `YYYY-MM-DD`. */
  readonly period: string;
  readonly today: string;
  /** The next month's beginning. */
  readonly end: Date;
}

export function monthAt(now: Date): Month {
  const today = now.toISOString().slice(0, 10);
  const period = `${today.slice(0, 7)}-01`;
  return { period, today, end: new Date(`${monthAfter(period)}T00:00:00Z`) };
}
