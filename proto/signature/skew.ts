/**
 * This file is the runner's side of clock skew: pure functions over an offset that the caller keeps.
 *
 * `offsetMs` is added to the local clock to get the server's. It is taken from a reply that said
 * `clock_skew`; the request is then tried again once with a new nonce. Durations never travel as absolute
 * times, so only signing uses it.
 *
 */

/** Above this the offset is worth a line in the log: certificates and log times suffer too. */
export const OFFSET_NOTABLE_MS = 5_000;
/** Above this the reply is not believed, except at enrollment, where there is nothing older to trust. */
export const OFFSET_REFUSED_MS = 24 * 60 * 60 * 1000;
/** A Date field counts whole seconds, so on average the server's clock stands half a second further. */
const DATE_FIELD_ROUNDING_MS = 500;

export interface TimedReply {
  /** Local clock when the request left and when the reply came, milliseconds since 1970. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

/** From the reply's `Date` field; undefined when it is absent or unreadable. */
export function offsetFromDateField(date: string | undefined | null, reply: TimedReply): number | undefined {
  const serverMs = date === undefined || date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(serverMs)) return undefined;
  return offsetFromServerTime(serverMs + DATE_FIELD_ROUNDING_MS, reply);
}

/** Finds the offset from a server time of millisecond resolution. */
export function offsetFromServerTime(serverMs: number, reply: TimedReply): number {
  return Math.round(serverMs - (reply.sentAtMs + reply.receivedAtMs) / 2);
}

export type OffsetVerdict = 'use' | 'use_and_log' | 'refuse';

export function judgeOffset(offsetMs: number, options: { readonly enrolling: boolean }): OffsetVerdict {
  const size = Math.abs(offsetMs);
  if (size > OFFSET_REFUSED_MS && !options.enrolling) return 'refuse';
  return size > OFFSET_NOTABLE_MS ? 'use_and_log' : 'use';
}

/** Gives `created` of the next signature. */
export function signingSeconds(localMs: number, offsetMs: number): number {
  return Math.floor((localMs + offsetMs) / 1000);
}
