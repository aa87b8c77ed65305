import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { Point } from '@noble/ed25519';
import { describe, expect, it } from 'vitest';
import {
  assertStrongPublicKey,
  createNonce,
  decodePublicKey,
  encodePublicKey,
  generateSigningKey,
  keyThumbprint,
  publicKeyObject,
  publicKeyWeakness,
  signingKeyFromPem,
  signingKeyToPem,
} from './keys.ts';
import { testKey } from './testing/fixtures.ts';

const P = 2n ** 255n - 19n;

/** It writes y as 32 bytes little-endian, with the sign of x in the top bit. */
function encodeY(y: bigint, sign = 0): string {
  const bytes = Buffer.from(y.toString(16).padStart(64, '0'), 'hex').reverse();
  bytes[31] = (bytes[31] ?? 0) | (sign << 7);
  return encodePublicKey(bytes);
}

/**
 * Finds a point of order 8: L times any point outside the prime-order subgroup whose torsion part generates
 * it.
 */
function orderEight(): Point {
  for (let y = 2n; y < 200n; y += 1n) {
    try {
      const torsion = multiply(Point.fromBytes(decodePublicKey(encodeY(y))), Point.CURVE().n);
      if (!torsion.double().double().is0()) return torsion;
    } catch {
      // Not every y is on the curve.
    }
  }
  throw new Error('no point of order 8 found');
}

function multiply(point: Point, scalar: bigint): Point {
  let [sum, power] = [Point.ZERO, point];
  for (let rest = scalar; rest > 0n; rest >>= 1n) {
    if (rest & 1n) sum = sum.add(power);
    power = power.double();
  }
  return sum;
}

const torsion = Array.from({ length: 8 }, (_, index) => multiply(orderEight(), BigInt(index)));

describe('signing keys', () => {
  it('name the RFC 9421 test key by its RFC 7638 thumbprint', () => {
    expect(testKey.publicKey).toBe('JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs');
    expect(testKey.keyid).toBe('poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U');
  });

  it('are all different, strong, and survive PEM', () => {
    const keys = Array.from({ length: 5 }, generateSigningKey);
    expect(new Set(keys.map((key) => key.keyid)).size).toBe(5);
    for (const key of keys) {
      assertStrongPublicKey(key.publicKey);
      const pem = signingKeyToPem(key);
      expect(pem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
      const read = signingKeyFromPem(pem);
      expect({ keyid: read.keyid, publicKey: read.publicKey }).toEqual({
        keyid: key.keyid,
        publicKey: key.publicKey,
      });
      const message = Buffer.from('m');
      expect(
        verify(null, message, publicKeyObject(key.publicKey), sign(null, message, read.privateKey)),
      ).toBe(true);
    }
  });

  it('refuse PEM files of other kinds', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({
      format: 'pem',
      type: 'pkcs8',
    });
    expect(() => signingKeyFromPem(rsa.toString())).toThrow('private key is of type rsa, expected ed25519');
    expect(() => signingKeyFromPem('')).toThrow('private key is not a readable PKCS #8 PEM');
    expect(() => signingKeyFromPem('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----')).toThrow(
      RangeError,
    );
  });

  it('make nonces of 16 fresh bytes', () => {
    const nonces = Array.from({ length: 100 }, createNonce);
    expect(new Set(nonces).size).toBe(100);
    for (const nonce of nonces) expect(Buffer.from(nonce, 'base64url')).toHaveLength(16);
  });
});

describe('publicKeyWeakness()', () => {
  it.each(torsion.map((point, index) => [index, encodePublicKey(point.toBytes())] as const))(
    'refuses small-order key %i',
    (_index, publicKey) => {
      expect(publicKeyWeakness(publicKey)).toMatch(/small order/);
    },
  );

  it('has seen all eight small-order points', () => {
    expect(new Set(torsion.map((point) => point.toHex())).size).toBe(8);
    for (const point of torsion) expect(point.isSmallOrder()).toBe(true);
  });

  it('shows why: the verifier alone accepts the identity key with one signature for every message', () => {
    const identity = publicKeyObject(encodePublicKey(Point.ZERO.toBytes()));
    const signature = Buffer.concat([Point.ZERO.toBytes(), Buffer.alloc(32)]);
    expect(verify(null, Buffer.from('any'), identity, signature)).toBe(true);
  });

  it.each([
    ['y = 0 with y + p', encodeY(P)],
    ['y = 1 with y + p', encodeY(P + 1n)],
    ['y = 1 with y + p and a sign', encodeY(P + 1n, 1)],
    ['y = 2^255 - 1', encodeY(2n ** 255n - 1n)],
    ['negative zero at y = 1', encodeY(1n, 1)],
    ['negative zero at y = -1', encodeY(P - 1n, 1)],
    ['y = 2, off the curve', encodeY(2n)],
  ])('refuses the non-canonical or invalid %s', (_name, publicKey) => {
    expect(publicKeyWeakness(publicKey)).toBe('public key is not a canonical point of the curve');
  });

  it('refuses keys of mixed order', () => {
    const strong = Point.fromBytes(decodePublicKey(testKey.publicKey));
    for (const point of torsion.slice(1)) {
      expect(publicKeyWeakness(encodePublicKey(strong.add(point).toBytes()))).toMatch(/prime-order/);
    }
  });

  it.each([
    ['empty', ''],
    ['31 bytes', encodePublicKey(new Uint8Array(31))],
    ['33 bytes', encodePublicKey(new Uint8Array(33))],
    ['padded', `${testKey.publicKey}=`],
    ['standard base64', Buffer.from(decodePublicKey(testKey.publicKey)).toString('base64')],
    ['trailing bits', `${testKey.publicKey.slice(0, -1)}t`],
    ['surrounding space', ` ${testKey.publicKey}`],
    ['PEM', '-----BEGIN PUBLIC KEY-----'],
  ])('refuses a text that is %s', (_name, publicKey) => {
    expect(() => assertStrongPublicKey(publicKey)).toThrow(
      'public key is not 32 bytes in unpadded base64url',
    );
  });

  it('gives every key its own name', () => {
    expect(keyThumbprint(testKey.publicKey)).not.toBe(keyThumbprint(generateSigningKey().publicKey));
  });
});
