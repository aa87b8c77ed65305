/** Times as people say them. */

const STEPS: ReadonlyArray<
  readonly [limitSeconds: number, unitSeconds: number, unit: Intl.RelativeTimeFormatUnit]
> = [
  [60 * 60, 60, 'minute'],
  [24 * 60 * 60, 60 * 60, 'hour'],
  [30 * 24 * 60 * 60, 24 * 60 * 60, 'day'],
  [365 * 24 * 60 * 60, 30 * 24 * 60 * 60, 'month'],
  [Infinity, 365 * 24 * 60 * 60, 'year'],
];

const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** Clocks of browsers and servers differ by so much: what lies that little ahead has happened. */
const AHEAD_SECONDS_MAX = 10 * 60;

/** Returns words that are `just now`, `5 minutes ago`, `yesterday` or `in 3 days`. */
export function relativeTime(atMs: number, nowMs: number): string {
  const ago = (nowMs - atMs) / 1_000;
  if (ago < 45 && ago > -AHEAD_SECONDS_MAX) return 'just now';
  const seconds = Math.abs(ago);
  for (const [limit, unitSeconds, unit] of STEPS) {
    // Rounded first, so that 59.7 minutes become an hour and never 60 minutes.
    const count = Math.max(1, Math.round(seconds / unitSeconds));
    if (count * unitSeconds < limit) return format.format(ago < 0 ? count : -count, unit);
  }
  return '';
}

/** Returns a time that is `14:02` when it is of today and `19 Nov, 14:02` when it is of another day. */
export function clockTime(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${time}`;
}

/** Returns the whole time that it is in the reader's zone, for titles. */
export function fullTime(atMs: number): string {
  return new Date(atMs).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'long' });
}
