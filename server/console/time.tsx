/** A moment, written as how long ago, with the whole of it in its title. */
import { nowMs } from './now.ts';
import { clockTime, fullTime, relativeTime } from './relative-time.ts';

export function Ago({ at }: { readonly at: string }) {
  const atMs = Date.parse(at);
  // Younger than the last renewal of `nowMs` is normal and means: just now.
  return (
    <time dateTime={at} title={fullTime(atMs)}>
      {relativeTime(atMs, nowMs.value)}
    </time>
  );
}

export function At({ ms }: { readonly ms: number }) {
  return (
    <time dateTime={new Date(ms).toISOString()} title={fullTime(ms)}>
      {clockTime(ms, nowMs.value)}
    </time>
  );
}
