/**
 * Returns a time so far from now as answers show it. They leave out milliseconds that are zero, so that these
 * never are.
 */
export function shownTime(fromNowMs: number): string {
  const ms = Date.now() + fromNowMs;
  return new Date(ms % 1_000 === 0 ? ms + 1 : ms).toISOString();
}
