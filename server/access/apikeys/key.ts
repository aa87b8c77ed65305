/**
 * The text of an API key is `cpk_live_<kid:12>_<secret:32><crc:6>`, all base62, and that of an agent's key
 * `cpk_agent_…`. The kid finds the row, the secret proves, the CRC lets a typo or a cut be refused without a
 * look into the database (and lets scanners be sure of a find).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { encodeBase62, randomBase62 } from '../../base/base62.ts';
import { crc32 } from '../../base/crc32.ts';

const SHAPE = /^cpk_(live|agent)_([0-9A-Za-z]{12})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

/** Whose key it is: an account's, or an agent's. */
export type KeyKind = 'live' | 'agent';

export interface KeyParts {
  readonly kind: KeyKind;
  readonly kid: string;
  readonly secret: string;
}

export function newKey(kind: KeyKind = 'live'): KeyParts & { readonly text: string } {
  const parts = { kind, kid: randomBase62(12), secret: randomBase62(32) };
  return { ...parts, text: formatKey(parts) };
}

export function formatKey({
  kind = 'live',
  kid,
  secret,
}: Omit<KeyParts, 'kind'> & Partial<KeyParts>): string {
  const body = `${keyPrefix(kind, kid)}_${secret}`;
  return `${body}${encodeBase62(crc32(body), 6)}`;
}

/** Undefined for anything that was never a key of ours. */
export function parseKey(text: string): KeyParts | undefined {
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [, kind, kid = '', secret = ''] = match;
  const parts = { kind: kind as KeyKind, kid, secret };
  return formatKey(parts) === text ? parts : undefined;
}

/** The part of a key that is shown after it was made. */
export function keyPrefix(kind: KeyKind, kid: string): string {
  return `cpk_${kind}_${kid}`;
}

export function digestSecret(pepper: Uint8Array, secret: string): Buffer {
  return createHmac('sha256', pepper).update(secret).digest();
}

const NOBODY = Buffer.alloc(32);

/** Takes the same time for an unknown key (`stored` undefined) as for a wrong secret. */
export function secretMatches(pepper: Uint8Array, secret: string, stored: Uint8Array | undefined): boolean {
  const equal = timingSafeEqual(digestSecret(pepper, secret), stored ?? NOBODY);
  return equal && stored !== undefined;
}
