/**
 * The parts of the signatures are here. Everything is compared as digests of one length, and in constant
 * time.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { header } from './read.ts';
import type { Delivery, Headers, Verdict } from './types.ts';

export const OK: Verdict = { ok: true };
export const refuse = (refused: string): Verdict => ({ ok: false, refused });

/** Allowed difference between a signed time and ours, either way. */
const SKEW_MAX_MS = 5 * 60_000;

export function hmac(key: string | Uint8Array, ...parts: ReadonlyArray<string | Uint8Array>): Buffer {
  const signing = createHmac('sha256', key);
  for (const part of parts) signing.update(part);
  return signing.digest();
}

export function sha256(data: string | Uint8Array): Buffer {
  return createHash('sha256').update(data).digest();
}

/** Compares texts by their digests, so that neither length nor content shows in the time it takes. */
export function sameSecret(a: string | Uint8Array, b: string | Uint8Array): boolean {
  return timingSafeEqual(sha256(a), sha256(b));
}

/** Reads the bytes of a digest's exact number of digits, or nothing. */
export function hexDigest(value: string | undefined): Buffer | undefined {
  return value !== undefined && /^[0-9a-f]{64}$/i.test(value) ? Buffer.from(value, 'hex') : undefined;
}

export function base64Digest(value: string | undefined): Buffer | undefined {
  if (value === undefined || !/^[A-Za-z0-9+/]{43}=$/.test(value)) return undefined;
  return Buffer.from(value, 'base64');
}

/** Secrets that were never set must not mean that everybody may come in. */
export function usable(secrets: readonly string[]): readonly string[] {
  return secrets.filter((secret) => secret.trim() !== '').slice(0, 2);
}

/** Verifies with the secrets that are set. */
export const withSecrets =
  <More extends readonly unknown[]>(verify: (delivery: Delivery, ...more: More) => Verdict) =>
  (delivery: Delivery, ...more: More): Verdict => {
    const secrets = usable(delivery.secrets);
    return secrets.length === 0 ? NO_SECRET : verify({ ...delivery, secrets }, ...more);
  };

const NO_SECRET = refuse('no secret is set');

/** Returns whether any secret gives this; all are tried, whichever it is. */
export function anyMatches(
  secrets: readonly string[],
  given: Uint8Array,
  expected: (secret: string) => Uint8Array | undefined,
): Verdict {
  let matched = false;
  for (const secret of secrets) {
    const digest = expected(secret);
    if (digest !== undefined && sameSecret(digest, given)) matched = true;
  }
  return matched ? OK : refuse('the signature is of another secret or of another body');
}

export function isFresh(at: number, now: Date): boolean {
  return Number.isFinite(at) && Math.abs(now.getTime() - at) <= SKEW_MAX_MS;
}

/** Verifies `sha256=<hex>` over the raw body, which GitHub and Bitbucket send under two names. */
export const verifyBodyHmac = withSecrets(({ secrets, headers, rawBody }, name: string) => {
  const value = header(headers, name);
  if (value === undefined) return refuse(`no ${name}`);
  const given = value.startsWith('sha256=') ? hexDigest(value.slice('sha256='.length)) : undefined;
  if (given === undefined) return refuse(`${name} is not sha256= and 64 hexadecimal digits`);
  return anyMatches(secrets, given, (secret) => hmac(secret, rawBody));
});

/** Verifies Standard Webhooks (standardwebhooks.com), which sign id, time and body under `v1`. */
export function verifyStandard({ secrets, headers, rawBody, now }: Delivery): Verdict {
  const keys = usable(secrets).filter((secret) => standardKey(secret) !== undefined);
  if (keys.length === 0) return NO_SECRET;
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature');
  if (id === undefined || id === '' || timestamp === undefined || signatures === undefined)
    return refuse('no webhook-id, webhook-timestamp or webhook-signature');
  if (!/^\d{1,12}$/.test(timestamp) || !isFresh(Number(timestamp) * 1_000, now))
    return refuse('webhook-timestamp is not within 5 minutes');
  const given = signatures
    .split(' ')
    .slice(0, 10)
    .flatMap((one) => (one.startsWith('v1,') ? (base64Digest(one.slice(3)) ?? []) : []));
  if (given.length === 0) return refuse('webhook-signature has no v1');
  const verdicts = given.map((one) =>
    anyMatches(keys, one, (secret) => {
      const key = standardKey(secret);
      return key === undefined ? undefined : hmac(key, `${id}.${timestamp}.`, rawBody);
    }),
  );
  return verdicts.find(({ ok }) => ok) ?? refuse('the signature is of another secret or of another body');
}

export const STANDARD_PREFIX = 'whsec_';

function standardKey(secret: string): Buffer | undefined {
  const encoded = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : secret;
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded)) return undefined;
  const key = Buffer.from(encoded, 'base64');
  return key.length === 0 ? undefined : key;
}

/** A header that holds the secret itself. */
export const verifyToken = withSecrets(({ secrets, headers }, name: string) => {
  const given = header(headers, name);
  return given === undefined ? refuse(`no ${name}`) : anySame(secrets, given);
});

export function anySame(secrets: readonly string[], given: string): Verdict {
  let matched = false;
  for (const secret of secrets) if (sameSecret(secret, given)) matched = true;
  return matched ? OK : refuse('it holds another secret');
}

/** The delivery's id for providers that send none: the same bytes are the same delivery. */
export function digestId(rawBody: Uint8Array): string {
  return `sha256:${sha256(rawBody).toString('hex')}`;
}

/** Takes the first of these headers, or the digest; it is bounded, because it is stored. */
export function headerId(headers: Headers, rawBody: Uint8Array, ...names: readonly string[]): string {
  for (const name of names) {
    const id = header(headers, name)?.trim();
    if (id !== undefined && /^[\x21-\x7e]{1,200}$/.test(id)) return id;
  }
  return digestId(rawBody);
}
