/** Days that somebody asks about. All of them are UTC days, `YYYY-MM-DD`. */
import { wrongField } from '../../kit/wrong-field.ts';

export const DAY_MS = 24 * 60 * 60_000;

const DAYS_MAX = 366;

/** Years that dates of JavaScript and of the database write alike, and whose next month they do too. */
const YEARS = { first: '0001-01-01', last: '9998-12-31' };

const DAY = /^(\d{4}-\d\d-\d\d)(?:t00:00:00(?:\.0{1,9})?(?:z|[+-]00:00))?$/i;

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

export function addDays(day: string, count: number): string {
  return dayOf(Date.parse(day) + count * DAY_MS);
}

/** This counts the days from one on and before another. */
export function countDays(first: string, end: string): number {
  return (Date.parse(end) - Date.parse(first)) / DAY_MS;
}

export function monthOf(day: string): string {
  return `${day.slice(0, 7)}-01`;
}

export interface DayField {
  /** For people and programs: `costs`. */
  readonly resource: string;
  readonly field: string;
  readonly text: string;
}

/**
 * Reads `YYYY-MM-DD`, or the RFC 3339 time of its midnight in UTC. The 31st of February has the right form
 * too.
 */
export function readDay({ resource, field, text }: DayField): DayField {
  const [, day = ''] = DAY.exec(text) ?? [];
  const ms = Date.parse(day);
  if (Number.isNaN(ms) || dayOf(ms) !== day || day < YEARS.first || day > YEARS.last)
    throw wrongField(`${field} is ${text}, which is no day of the calendar`, {
      resource,
      field,
      rule: 'day',
    });
  return { resource, field, text: day };
}

export interface Span {
  readonly first: DayField;
  readonly last: DayField;
  /** It is true where the last day is one of them. */
  readonly isLastIncluded: boolean;
}

/** This throws for less than one day and for more than 366. */
export function assertSpan({ first, last, isLastIncluded }: Span): void {
  const count = countDays(first.text, last.text) + (isLastIncluded ? 1 : 0);
  const { resource, field } = first;
  if (count < 1) {
    const order = `${field} ${isLastIncluded ? '≤' : '<'} ${last.field}`;
    const given = `${field} is ${first.text} and ${last.field} is ${last.text}`;
    throw wrongField(`${given}, expected ${order}`, { resource, field, rule: 'order' });
  }
  if (count > DAYS_MAX) {
    const message = `${first.text} to ${last.text} are ${count} days, at most ${DAYS_MAX} can be asked for at once`;
    throw wrongField(message, { resource, field, rule: 'span' });
  }
}
