/** Signed requests of ACME (RFC 8555, 6.2): flattened JWS with ES256, and HS256 for an external account. */
import { createHash, createHmac, createPublicKey, sign, type KeyObject } from 'node:crypto';

export interface Jwk {
  crv: string;
  kty: string;
  x: string;
  y: string;
}

export interface Jws {
  protected: string;
  payload: string;
  signature: string;
}

export function publicJwk(key: KeyObject): Jwk {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' });
  if (crv === undefined || kty === undefined || x === undefined || y === undefined)
    throw new Error('the account key is no key of an elliptic curve');
  return { crv, kty, x, y };
}

/** Makes the digest of a key by RFC 7638, which is of its required members in the order of the alphabet. */
export function thumbprint(jwk: Readonly<Record<string, unknown>>): string {
  const members = MEMBERS[String(jwk['kty'])] ?? [];
  const text = JSON.stringify(Object.fromEntries(members.map((name) => [name, jwk[name]])));
  return createHash('sha256').update(text).digest('base64url');
}

const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  RSA: ['e', 'kty', 'n'],
};

/** @param payload It is undefined for a POST-as-GET, whose payload is empty. */
export function signedWith(key: KeyObject, header: object, payload: object | undefined): Jws {
  const parts = encoded({ alg: 'ES256', ...header }, payload);
  const text = Buffer.from(`${parts.protected}.${parts.payload}`);
  const signature = sign('sha256', text, { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  return { ...parts, signature };
}

/** Binds an account key to an account that the authority knows already (RFC 8555, 7.3.4). */
export function boundTo(external: { kid: string; hmacKey: string }, url: string, jwk: Jwk): Jws {
  const parts = encoded({ alg: 'HS256', kid: external.kid, url }, jwk);
  const mac = createHmac('sha256', Buffer.from(external.hmacKey, 'base64url'));
  return { ...parts, signature: mac.update(`${parts.protected}.${parts.payload}`).digest('base64url') };
}

function encoded(header: object, payload: object | undefined): { protected: string; payload: string } {
  const inBase64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return { protected: inBase64(header), payload: payload === undefined ? '' : inBase64(payload) };
}
