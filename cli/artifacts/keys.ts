/** Public keys to verify with: as the service lists them at `/signing-keys`, a JWK set, or PEM. */
import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { UsageError } from '../shell/errors.ts';
import { defined, isRecord, type Json } from '../shell/paths.ts';
import { parseTime } from '../shell/time.ts';

/** Many times what the service will ever have; each may be tried once. */
const KEYS_MAX = 1_000;

export interface VerificationKey {
  /** `sgk_…` of the service, else the name that it is listed under, else its hint. */
  readonly id: string;
  /**
   * Names that bundles may use for it: base64 of the SHA-256 of the key, and the name that it is listed
   * under.
   */
  readonly hints: readonly string[];
  readonly publicKey: KeyObject;
  /** It may sign statements of this purpose alone. It is absent where the list does not say. */
  readonly purpose?: string;
  /** State of the key; it is absent where the list says nothing of it. */
  readonly state?: KeyState;
}

export interface KeyState {
  /** `active`, `retired`, `revoked` and the like. */
  readonly word: string;
  readonly reason: string | undefined;
  /** Since when somebody else may have signed with it. */
  readonly compromisedSince: string | undefined;
}

/** `source` is for messages. Throws a UsageError when there is a key that cannot be read, or none. */
export function parseKeys(text: string, source: string): readonly VerificationKey[] {
  // The list of the service is JSON with PEM in it, and before PEM there may be words.
  if (!text.trimStart().startsWith('{') && text.includes('-----BEGIN '))
    return checked(pemsOf(text), source, ofPem);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError(`${source} is neither PEM nor JSON, expected public keys`);
  }
  return keysOf(value, source);
}

/** Reads the same from JSON that was parsed. */
export function keysOf(value: unknown, source: string): readonly VerificationKey[] {
  const keys = isRecord(value) ? value['keys'] : undefined;
  if (!Array.isArray(keys))
    throw new UsageError(
      `${source} has no list of keys, expected that of /signing-keys, a JWK set or public keys as PEM`,
    );
  return checked(keys as readonly unknown[], source, (key) => {
    if (!isRecord(key)) throw new Error('it is no object');
    return typeof key['publicKey'] === 'string' ? ofService(key, key['publicKey']) : ofJwk(key);
  });
}

function checked<T>(
  all: readonly T[],
  source: string,
  read: (one: T) => VerificationKey,
): readonly VerificationKey[] {
  if (all.length === 0 || all.length > KEYS_MAX)
    throw new UsageError(`${source} has ${all.length} public keys, expected 1 to ${KEYS_MAX}`);
  return all.map((one, index) => {
    try {
      return read(one);
    } catch (error) {
      throw new UsageError(`key ${index + 1} of ${source} cannot be read: ${(error as Error).message}`);
    }
  });
}

/** Takes public keys alone, because a private key beside them would be read as one. */
const pemsOf = (text: string): readonly string[] =>
  text.match(/-----BEGIN PUBLIC KEY-----[\w+/=\s]*-----END PUBLIC KEY-----/g) ?? [];

function ofPem(pem: string): VerificationKey {
  const publicKey = createPublicKey(pem);
  const hint = hintOf(publicKey);
  return { id: hint, hints: [hint], publicKey };
}

function ofJwk(jwk: Json): VerificationKey {
  const publicKey = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
  const hint = hintOf(publicKey);
  const kid = textOf(jwk, 'kid') ?? hint;
  return { id: kid, hints: [hint, kid], publicKey };
}

function ofService(key: Json, pem: string): VerificationKey {
  const { id, hints, publicKey } = ofPem(pem);
  return defined({
    id: textOf(key, 'id') ?? id,
    hints,
    publicKey,
    purpose: textOf(key, 'purpose'),
    state: stateOf(key),
  });
}

function stateOf(key: Json): KeyState | undefined {
  const word = textOf(key, 'revokedAt') === undefined ? textOf(key, 'state') : 'revoked';
  if (word === undefined) return undefined;
  const since = textOf(key, 'compromisedSince');
  return {
    word,
    reason: textOf(key, 'revokeReason'),
    compromisedSince: since === undefined || parseTime(since) === undefined ? undefined : since,
  };
}

const hintOf = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest('base64');

function textOf(object: Json, name: string): string | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
