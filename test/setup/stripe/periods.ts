/** These are the periods of subscriptions: calendar arithmetic in UTC, in whole seconds. */
import type Stripe from 'stripe';
import { invalid } from './refusal.ts';
import type { Anchor } from './world.ts';

const DAY = 24 * 3600;
export const days = (n: number): number => n * DAY;
export const HOUR = 3600;

/**
 * The `n`th period after the anchor begins here: the 31st is the last day of a shorter month, and the 31st
 * again in the next.
 */
function periodStart(anchor: number, recurring: Stripe.Price.Recurring, n: number): number {
  const steps = n * recurring.interval_count;
  switch (recurring.interval) {
    case 'day':
      return anchor + days(steps);
    case 'week':
      return anchor + days(7 * steps);
    case 'month':
      return addMonths(anchor, steps);
    case 'year':
      return addMonths(anchor, 12 * steps);
    default:
      throw invalid(`Invalid interval: ${recurring.interval}`, { param: 'recurring[interval]' });
  }
}

/** Returns the end that the period has which lasts at `now`. */
export function periodEnd(anchor: number, recurring: Stripe.Price.Recurring, now: number): number {
  // Anchors lie at most one period ahead.
  let n = -1;
  while (periodStart(anchor, recurring, n) <= now) n += 1;
  return periodStart(anchor, recurring, n);
}

export const previousStart = (anchor: number, recurring: Stripe.Price.Recurring, end: number): number => {
  let n = 0;
  while (periodStart(anchor, recurring, n) > end) n -= 1;
  while (periodStart(anchor, recurring, n) < end) n += 1;
  return periodStart(anchor, recurring, n - 1);
};

function addMonths(from: number, months: number): number {
  const date = new Date(from * 1000);
  const first = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1));
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), last);
  return from - daysTo(date) + first.getTime() / 1000 + days(day - 1);
}

/** Seconds from 1970 to the day's beginning, so that what is left is the time of day. */
const daysTo = (date: Date): number =>
  Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()) / 1000;

/** Returns the first such moment that is after `now`. */
export function nextAnchor(anchor: Anchor, now: number): number {
  const date = new Date(now * 1000);
  for (let month = date.getUTCMonth(); ; month += 1) {
    const last = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
    const day = Math.min(anchor.dayOfMonth, last);
    const at = Date.UTC(date.getUTCFullYear(), month, day, anchor.hour, anchor.minute, anchor.second) / 1000;
    if (at > now) return at;
  }
}
