/** Public keys by their bytes, one object for each: parsing one takes as long as a verification. */
import { createPublicKey, type KeyObject } from 'node:crypto';

const keys = new Map<string, KeyObject>();
const KEYS_MAX = 1_000;

/** It is the key of a SubjectPublicKeyInfo in DER. */
export function publicKeyOf(spki: Uint8Array): KeyObject {
  const der = Buffer.from(spki);
  const name = der.toString('latin1');
  const known = keys.get(name);
  if (known !== undefined) return known;
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  keys.set(name, key);
  const oldest = keys.size > KEYS_MAX ? keys.keys().next() : undefined;
  if (oldest?.done === false) keys.delete(oldest.value);
  return key;
}
