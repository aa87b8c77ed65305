/** The period of a package as callers write it. */
import { wrongField } from '../../kit/wrong-field.ts';

export interface Period {
  readonly periodStart: Date;
  /** The first moment behind it. */
  readonly periodEnd: Date;
  readonly partial: boolean;
  readonly coversUntil: Date;
}

const DAY_MS = 24 * 60 * 60_000;
const DAYS_MAX = 366;
const DAY = /^\d{4}-\d\d-\d\d$/;
const INSTANT = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

/** Throws `validation_failed`. */
export function readPeriod(
  { periodStart, periodEnd }: { readonly periodStart: string; readonly periodEnd: string },
  now: Date,
): Period {
  const start = readMoment('periodStart', periodStart);
  const end = readMoment('periodEnd', periodEnd);
  const endMs = end.atMs + (end.isDay ? DAY_MS : 0);
  const lengthMs = endMs - start.atMs;
  if (lengthMs <= 0)
    throw invalid('periodEnd', `periodEnd is ${periodEnd}, expected a time behind the start, ${periodStart}`);
  if (lengthMs > DAYS_MAX * DAY_MS)
    throw invalid(
      'periodEnd',
      `the period has ${Math.ceil(lengthMs / DAY_MS)} days, at most ${DAYS_MAX} are allowed`,
    );
  if (start.atMs >= now.getTime())
    throw invalid('periodStart', `periodStart is ${periodStart}, which has not come yet`);
  return {
    periodStart: new Date(start.atMs),
    periodEnd: new Date(endMs),
    partial: endMs > now.getTime(),
    coversUntil: new Date(Math.min(endMs, now.getTime())),
  };
}

function readMoment(field: string, text: string): { readonly atMs: number; readonly isDay: boolean } {
  const isDay = DAY.test(text);
  const day = isDay ? text : INSTANT.exec(text)?.[1];
  // A day that its month does not have would be read as one of the next month.
  const exists = day !== undefined && isoDay(Date.parse(`${day}T00:00:00Z`)) === day;
  const atMs = exists ? Date.parse(text) : NaN;
  if (Number.isNaN(atMs))
    throw invalid(field, `${field} is ${JSON.stringify(text)}, expected YYYY-MM-DD or a time by RFC 3339`);
  return { atMs, isDay };
}

const isoDay = (ms: number): string => (Number.isNaN(ms) ? '' : new Date(ms).toISOString().slice(0, 10));

function invalid(field: string, message: string): Error {
  return wrongField(message, { field, rule: 'period' });
}
