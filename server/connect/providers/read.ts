/**
 * These functions read payloads: each takes any value, and answers undefined for what is not what it should
 * be.
 */
import type { CiStatus } from './words.ts';
import type { Headers } from './types.ts';

/** Characters; an address of a run is the longest thing that is read. */
const TEXT_MAX = 2_000;
/** A run with more jobs than this in one event is a mistake. */
const LIST_MAX = 1_000;
/** PostgreSQL's text cannot hold NUL, and halves of a pair. */
const UNSTORABLE =
  // oxlint-disable-next-line no-control-regex
  /\u0000|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, LIST_MAX) : [];
}

export function text(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const clean = value.slice(0, TEXT_MAX).replace(UNSTORABLE, '').trim();
  return clean === '' ? undefined : clean;
}

/** This cuts the text to `max` characters at most, whole ones. */
export function clip(value: string, max: number): string {
  return value.length <= max ? value : value.slice(0, max).replace(UNSTORABLE, '');
}

/** Ids are numbers at some providers and texts at others, and pass 2^31. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  const id = text(value);
  return id === undefined || id.length > 500 ? undefined : id;
}

/** Limit of the contract. */
const ATTEMPT_MAX = 100_000;

/** Returns the attempt, at least 1. */
export function attemptOf(value: unknown): number {
  const attempt = typeof value === 'string' ? Number(value) : value;
  return typeof attempt === 'number' &&
    Number.isSafeInteger(attempt) &&
    attempt >= 1 &&
    attempt <= ATTEMPT_MAX
    ? attempt
    : 1;
}

export function urlOf(value: unknown): string | undefined {
  const url = text(value);
  if (url === undefined || !/^https?:\/\//i.test(url) || !URL.canParse(url)) return undefined;
  const parsed = new URL(url);
  if (parsed.username === '' && parsed.password === '') return url;
  parsed.username = '';
  parsed.password = '';
  return parsed.href;
}

/** Reads a commit by SHA-1 or SHA-256; a name (`HEAD`) or zeros are no commit. */
export function shaOf(value: unknown): string | undefined {
  const sha = text(value)?.toLowerCase();
  return sha !== undefined && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(sha) && !/^0+$/.test(sha)
    ? sha
    : undefined;
}

interface Ref {
  readonly branch?: string | undefined;
  readonly tag?: string | undefined;
}

export function refOf(value: unknown, isTag = false): Ref {
  const ref = text(value)?.replace(/^refs\/heads\//, '');
  if (ref === undefined || /^refs\/(pull|merge-requests)\//.test(ref)) return {};
  const tag = /^(?:refs\/)?tags\/(.+)$/.exec(ref)?.[1];
  if (tag !== undefined) return { tag };
  return isTag ? { tag: ref } : { branch: ref };
}

const TIME =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9})\d*)?(?: ?(Z|UTC|GMT|[+-]\d{2}:?\d{2}))?$/;
/** Before this year a time is one that was never set, such as Azure's year 1. */
const FIRST_YEAR = 1990;

/** Reads milliseconds and the digits below the second. A time without a zone is UTC. */
function parseTime(value: unknown): { readonly ms: number; readonly fraction: string } | undefined {
  const [, day, clock, fraction = '', zone = 'Z'] = TIME.exec(text(value) ?? '') ?? [];
  if (day === undefined) return undefined;
  const offset = /^[+-]/.test(zone) ? zone.replace(/^(...)(\d\d)$/, '$1:$2') : 'Z';
  const ms = Date.parse(`${day}T${clock}${offset}`);
  if (Number.isNaN(ms) || new Date(ms).getUTCFullYear() < FIRST_YEAR) return undefined;
  return { ms, fraction };
}

/** Writes ISO 8601 with milliseconds, from ISO in any precision and from `2016-08-12 15:23:28 UTC`. */
export function timeOf(value: unknown): string | undefined {
  const time = parseTime(value);
  return time === undefined
    ? undefined
    : new Date(time.ms + Number(time.fraction.padEnd(3, '0').slice(0, 3))).toISOString();
}

/**
 * Writes nanoseconds since 1970 as digits: times of one provider come with different numbers of digits, and
 * are compared as text.
 */
export function orderOfTime(value: unknown): string | undefined {
  const time = parseTime(value);
  return time === undefined ? undefined : `${time.ms / 1_000}${time.fraction.padEnd(9, '0')}`;
}

/** Reads a Unix time in seconds or nanoseconds, as number or digits; 0 is not set. */
export function unixTimeOf(value: unknown, unit: 'seconds' | 'nanoseconds'): string | undefined {
  const number = typeof value === 'string' && /^\d{1,20}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number) || number <= 0) return undefined;
  const ms = unit === 'seconds' ? number * 1_000 : number / 1_000_000;
  return ms < 253_402_300_800_000 ? new Date(Math.floor(ms)).toISOString() : undefined;
}

/** Reads the milliseconds of a span in seconds, also in parts of one. */
export function msOf(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && seconds >= 0 && seconds < 4_000_000
    ? Math.round(seconds * 1_000)
    : undefined;
}

/**
 * The first of a header that is there once; a header given twice is none, because it is not known which one
 * counts.
 */
export function header(headers: Headers, name: string): string | undefined {
  const wanted = name.toLowerCase();
  // Names from Node are lower-case already.
  const key = Object.hasOwn(headers, wanted)
    ? wanted
    : Object.keys(headers).find((given) => given.toLowerCase() === wanted);
  const value = key === undefined ? undefined : headers[key];
  if (typeof value === 'string') return value;
  return value?.length === 1 ? value[0] : undefined;
}

/** The meaning of a provider's status here. */
export interface Meaning {
  readonly status: CiStatus;
  readonly blocked?: true;
  readonly soft?: true;
  readonly reason?: string;
}

export const MEANINGS = {
  queued: { status: 'queued' },
  blocked: { status: 'queued', blocked: true, reason: 'approval' },
  running: { status: 'running' },
  success: { status: 'success' },
  soft: { status: 'success', soft: true },
  failed: { status: 'failed' },
  declined: { status: 'failed', reason: 'declined' },
  error: { status: 'failed', reason: 'error' },
  expired: { status: 'failed', reason: 'expired' },
  rejected: { status: 'failed', reason: 'rejected' },
  startup: { status: 'failed', reason: 'startup' },
  timed_out: { status: 'failed', reason: 'timed_out' },
  unauthorized: { status: 'failed', reason: 'unauthorized' },
  cancelled: { status: 'cancelled' },
  skipped: { status: 'cancelled', reason: 'skipped' },
  stale: { status: 'unknown', reason: 'stale' },
} as const satisfies Readonly<Record<string, Meaning>>;

/**
 * Returns what a status of a provider means. `words` lists the provider's statuses of each meaning, with
 * spaces between them. A status that is in none of them is never a success.
 */
export function meanings(words: { readonly [name in keyof typeof MEANINGS]?: string }) {
  const known = new Map<string, Meaning>(
    Object.entries(words).flatMap(([name, list]) =>
      list.split(' ').map((word) => [word, MEANINGS[name as keyof typeof MEANINGS]] as const),
    ),
  );
  return (status = ''): Meaning => known.get(status) ?? { status: 'unknown' };
}

export function isEnd({ status }: Meaning): boolean {
  return status !== 'queued' && status !== 'running';
}

/** Makes the status of an event, ours and the provider's. */
export function statusOf(meaning: Meaning, providerStatus?: string, providerConclusion?: string) {
  return {
    status: meaning.status,
    providerStatus: providerStatus ?? null,
    providerConclusion: providerConclusion ?? null,
    blocked: meaning.blocked ?? false,
    soft: meaning.soft ?? false,
    reason: meaning.reason ?? null,
  };
}
