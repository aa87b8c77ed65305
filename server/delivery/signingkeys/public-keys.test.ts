import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { publicKeyOf } from './public-keys.ts';

const spki = (): Buffer => generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' });

it('a public key is one object, of a thousand that were made last', () => {
  const first = spki();
  const key = publicKeyOf(first);
  expect(publicKeyOf(Uint8Array.from(first))).toBe(key);
  expect(key.export({ format: 'der', type: 'spki' })).toEqual(first);
  for (let n = 0; n < 999; n += 1) publicKeyOf(spki());
  expect(publicKeyOf(first)).toBe(key);
  publicKeyOf(spki());
  expect(publicKeyOf(first)).not.toBe(key);
});
