/**
 * This file reads public keys of the issuers. Each issuer's set comes from its one fixed address and is kept;
 * a key id that is not in it has the set read again, at most once a minute, however many tokens name it. A
 * set that cannot be read, or holds no key that can be used, leaves the last good one in place. Key ids are
 * looked up and used for nothing else. Each process keeps its own.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { parseJson } from '@svc/proto/http/json-text.ts';
import { importJWK, type CryptoKey } from 'jose';
import type { Clock } from '../../base/clock.ts';
import type { SafeFetch } from '../../base/safe-fetch.ts';
import type { Issuer } from './issuers.ts';

/** Time between two readings of the keys that an unknown key causes. */
const REFRESH_EVERY_MS = 60_000;
/** Without any set a job cannot report at all, so it is tried more often. */
const FIRST_EVERY_MS = 10_000;
/** A set that is older is read again although it has the key: keys are withdrawn, too. */
const FRESH_MS = 60 * 60_000;
const READ_LIMIT_MS = 5_000;
/** The real ones have 2 to 10 kB. */
const SET_BYTES_MAX = 262_144;
const KEYS_MAX = 100;
const MODULUS_BITS_MIN = 2_048;

export interface IssuerKeys {
  /** Returns undefined when the issuer has no such key. Throws `unavailable` when nothing was ever read. */
  find(issuer: Issuer, kid: string): Promise<CryptoKey | undefined>;
}

interface KeySet {
  keys: ReadonlyMap<string, CryptoKey> | undefined;
  /** Monotonic, as is `triedAtMs`. */
  readAtMs: number;
  triedAtMs: number | undefined;
  reading: Promise<void> | undefined;
}

export interface KeysDeps {
  readonly fetch: SafeFetch;
  readonly clock: Clock;
  onError(error: unknown): void;
}

export function createIssuerKeys({ fetch, clock, onError }: KeysDeps): IssuerKeys {
  const sets = new Map<string, KeySet>();
  const setOf = ({ jwksUrl }: Issuer): KeySet => {
    const known = sets.get(jwksUrl);
    if (known !== undefined) return known;
    const empty: KeySet = { keys: undefined, readAtMs: 0, triedAtMs: undefined, reading: undefined };
    sets.set(jwksUrl, empty);
    return empty;
  };

  const read = async (set: KeySet, { jwksUrl }: Issuer): Promise<void> => {
    try {
      set.keys = await readKeys(fetch, jwksUrl);
      set.readAtMs = clock.monotonicMs();
    } catch (error) {
      onError(new Error(`the keys at ${jwksUrl} could not be read`, { cause: error }));
    }
  };
  /** One reading at a time, and none too soon after the last one, whatever came of that. */
  const refresh = async (set: KeySet, issuer: Issuer): Promise<void> => {
    const everyMs = set.keys === undefined ? FIRST_EVERY_MS : REFRESH_EVERY_MS;
    const nowMs = clock.monotonicMs();
    if (set.reading === undefined && (set.triedAtMs === undefined || nowMs - set.triedAtMs >= everyMs)) {
      set.triedAtMs = nowMs;
      set.reading = read(set, issuer).finally(() => (set.reading = undefined));
    }
    await set.reading;
  };

  return {
    find: async (issuer, kid) => {
      const set = setOf(issuer);
      const isFresh = clock.monotonicMs() - set.readAtMs < FRESH_MS;
      if (set.keys?.has(kid) !== true || !isFresh) await refresh(set, issuer);
      if (set.keys === undefined)
        throw apiError('unavailable', `the keys of ${issuer.issuer} cannot be read; try again`, {
          retryAfterMs: FIRST_EVERY_MS,
        });
      return set.keys.get(kid);
    },
  };
}

async function readKeys(fetch: SafeFetch, url: string): Promise<ReadonlyMap<string, CryptoKey>> {
  const { status, body } = await fetch({
    method: 'GET',
    url,
    headers: { accept: 'application/json' },
    timeoutMs: READ_LIMIT_MS,
    bytesMax: SET_BYTES_MAX,
  });
  // Redirects are not followed: the address is fixed, wherever somebody would rather have us look.
  if (status !== 200) throw new Error(`the answer was ${status}, expected 200`);
  const { keys: found } = parseJson(body) as { readonly keys?: unknown };
  if (!Array.isArray(found)) throw new Error('the answer holds no list of keys');
  const keys = new Map<string, CryptoKey>();
  for (const jwk of found.slice(0, KEYS_MAX)) {
    const [kid, key] = (await usable(jwk as Jwk | null)) ?? [];
    if (kid !== undefined && key !== undefined) keys.set(kid, key);
  }
  if (keys.size === 0) throw new Error(`none of the ${found.length} keys can be used`);
  return keys;
}

interface Jwk {
  readonly kid?: unknown;
  readonly kty?: unknown;
  readonly use?: unknown;
  readonly alg?: unknown;
  readonly n?: unknown;
  readonly e?: unknown;
}

/** Reads an RSA key for signatures alone; one that cannot be read does not spoil the others. */
async function usable(jwk: Jwk | null): Promise<readonly [string, CryptoKey] | undefined> {
  const { kid, kty, use = 'sig', alg = 'RS256', n, e } = jwk ?? {};
  if (typeof kid !== 'string' || kty !== 'RSA' || use !== 'sig' || alg !== 'RS256') return undefined;
  if (typeof n !== 'string' || typeof e !== 'string') return undefined;
  try {
    const key = (await importJWK({ kty, n, e }, 'RS256')) as CryptoKey;
    const { modulusLength } = key.algorithm as { readonly modulusLength?: number };
    // A text that is no number at all is read as a short one.
    return modulusLength !== undefined && modulusLength >= MODULUS_BITS_MIN ? [kid, key] : undefined;
  } catch {
    return undefined;
  }
}
