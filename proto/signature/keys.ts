/**
 * Makes, names, reads and writes Ed25519 keys, and refuses the weak ones.
 *
 * @noble/ed25519 makes keys and judges public keys at enrollment; signing and verifying use node:crypto,
 * which is about ten times faster. node:crypto accepts small-order public keys, under which one signature
 * fits any message, so a key must pass `assertStrongPublicKey` before it is ever stored.
 *
 */
import { createHash, createPrivateKey, createPublicKey, randomBytes, type KeyObject } from 'node:crypto';
import { getPublicKey, hashes, Point, utils } from '@noble/ed25519';

// The synchronous half of the library has no hash of its own.
hashes.sha512 = (message) => new Uint8Array(createHash('sha512').update(message).digest());

export const PUBLIC_KEY_BYTES = 32;

/** DER of everything before the raw key in an Ed25519 PKCS #8 private key (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

export interface SigningKey {
  readonly privateKey: KeyObject;
  /** RFC 7638 thumbprint of the public key: the name under which a verifier looks it up. */
  readonly keyid: string;
  /** Raw 32 bytes as unpadded base64url, as sent at enrollment. */
  readonly publicKey: string;
}

/** Makes a key pair from the system's random source. */
export function generateSigningKey(): SigningKey {
  return signingKeyFromSeed(utils.randomSecretKey());
}

/** Makes the key pair of a 32-byte seed (RFC 8032 secret key). */
export function signingKeyFromSeed(seed: Uint8Array): SigningKey {
  const publicKey = encodePublicKey(getPublicKey(seed));
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  return { privateKey, publicKey, keyid: keyThumbprint(publicKey) };
}

/** Writes the key as PKCS #8 PEM. Where it is stored, and with which file mode, is the caller's business. */
export function signingKeyToPem(key: SigningKey): string {
  return key.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** Reads what `signingKeyToPem` or `openssl genpkey -algorithm ed25519` wrote. */
export function signingKeyFromPem(pem: string): SigningKey {
  const privateKey = readPrivateKey(pem);
  if (privateKey.asymmetricKeyType !== 'ed25519') {
    throw new RangeError(
      `private key is of type ${privateKey.asymmetricKeyType ?? 'unknown'}, expected ed25519`,
    );
  }
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined) throw new RangeError('private key has no public half');
  return { privateKey, publicKey: x, keyid: keyThumbprint(x) };
}

function readPrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey({ key: pem, format: 'pem' });
  } catch (error) {
    throw new RangeError('private key is not a readable PKCS #8 PEM', { cause: error });
  }
}

export function encodePublicKey(raw: Uint8Array): string {
  return Buffer.from(raw).toString('base64url');
}

/**
 * Reads the raw 32 bytes. Throws a RangeError unless the text is their one canonical unpadded base64url form.
 */
export function decodePublicKey(publicKey: string): Uint8Array {
  const raw = Buffer.from(publicKey, 'base64url');
  if (raw.length !== PUBLIC_KEY_BYTES || raw.toString('base64url') !== publicKey) {
    throw new RangeError(`public key is not ${PUBLIC_KEY_BYTES} bytes in unpadded base64url`);
  }
  return new Uint8Array(raw);
}

/** RFC 7638 JWK thumbprint (SHA-256, base64url) of a public key given as base64url: the `keyid`. */
export function keyThumbprint(publicKey: string): string {
  return createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${publicKey}"}`).digest('base64url');
}

/**
 * Makes the key for `verifySignature`. Make it once per key and keep it: it costs about as much as a
 * verification.
 */
export function publicKeyObject(publicKey: string): KeyObject {
  decodePublicKey(publicKey);
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' });
}

/**
 * Why a public key (base64url) must not be enrolled; undefined when it is strong. Takes a few milliseconds.
 */
export function publicKeyWeakness(publicKey: string): string | undefined {
  let raw: Uint8Array;
  try {
    raw = decodePublicKey(publicKey);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const point = canonicalPoint(raw);
  if (point === undefined) return 'public key is not a canonical point of the curve';
  if (point.isSmallOrder()) return 'public key has small order: one signature would fit any message';
  if (!point.isTorsionFree()) return 'public key lies outside the prime-order subgroup';
  return undefined;
}

function canonicalPoint(raw: Uint8Array): Point | undefined {
  try {
    // `false` = RFC 8032 decoding, which refuses y ≥ p and the negative zero that ZIP-215 lets through.
    return Point.fromBytes(raw, false);
  } catch {
    // The library has several words for it; all mean that these bytes are no point.
    return undefined;
  }
}

/** Throws a RangeError that says why when the key is malformed, non-canonical or of small or mixed order. */
export function assertStrongPublicKey(publicKey: string): void {
  const weakness = publicKeyWeakness(publicKey);
  if (weakness !== undefined) throw new RangeError(weakness);
}

/** Makes 16 random bytes in base64url, to be used once, for one attempt of one request. */
export function createNonce(): string {
  return randomBytes(16).toString('base64url');
}
