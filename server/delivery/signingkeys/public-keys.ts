/** Public keys by their bytes, one object for each: parsing one takes as long as a verification. */
import { createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { createKept } from './kept.ts';

const keys = createKept<KeyObject>(1_000);

/** It is the key of a SubjectPublicKeyInfo in DER. */
export function publicKeyOf(spki: Uint8Array): KeyObject {
  const der = Buffer.from(spki);
  const name = der.toString('latin1');
  const known = keys.get(name);
  if (known !== undefined) return known;
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  keys.keep(name, key);
  return key;
}
