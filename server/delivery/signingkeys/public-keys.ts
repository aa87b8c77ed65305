/** Public keys by their bytes, one object for each: parsing one takes as long as a verification. */
import { bounded } from '@svc/proto/process/bounded.ts';
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
  bounded(keys, KEYS_MAX).set(name, key);
  return key;
}
