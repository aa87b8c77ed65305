/** Days that an answer about costs is of. */
import { addDays, assertSpan, dayOf, monthOf, readDay } from '../metering/index.ts';
import { monthAfter } from '../plans/index.ts';

export interface CostDays {
  /** First day, `YYYY-MM-DD`. */
  readonly since: string;
  /** Day after the last one. */
  readonly until: string;
}

export interface AskedDays {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Without an end it is now, and all of today counts. */
export function costDaysOf({ since, until }: AskedDays, now: Date): CostDays {
  const today = dayOf(now.getTime());
  const read = (field: 'since' | 'until', text: string) => readDay({ resource: 'costs', field, text });
  const first = read('since', since ?? monthOf(today));
  const last = read('until', until ?? addDays(today, 1));
  assertSpan({ first, last, isLastIncluded: false });
  return { since: first.text, until: last.text };
}

/** First days of the months that have a day among them. */
export function monthsOf({ since, until }: CostDays): string[] {
  const months: string[] = [];
  for (let day = monthOf(since); day < until; day = monthAfter(day)) months.push(day);
  return months;
}
