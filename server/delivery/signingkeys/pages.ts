/**
 * The public halves, for everybody who verifies: as a list, each as PEM (`cosign verify-blob-attestation
 * --key <url>`), and as a JWK set.
 */
import { hash } from 'node:crypto';
import type { Endpoint, EndpointRequest, PageResponse } from '@svc/proto/http/pages.ts';
import { holdsTag } from '@svc/proto/http/etag.ts';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import { ALGORITHM, pemOf, readKeys, type SigningKey } from './keys.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

export function createKeyPages(db: Database, clock: Clock): Readonly<Record<string, Endpoint>> {
  const page = (
    render: (keys: readonly SigningKey[], variable: string) => PageResponse | undefined,
  ): Endpoint => ({
    verbs: ['GET'],
    serve: async (request) => answer(request, render(await readKeys(db, clock.now()), request.variable)),
  });
  return {
    '/signing-keys': page((keys) => ({
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify({ keys: keys.map(described) }),
    })),
    '/signing-keys/{name}': page((keys, name) => {
      const key = keys.find(({ id }) => name === `${id}.pem`);
      if (key === undefined) return undefined;
      return { headers: { 'content-type': 'application/x-pem-file' }, body: pemOf(key) };
    }),
    '/.well-known/jwks.json': page((keys) => ({
      headers: { 'content-type': 'application/jwk-set+json; charset=utf-8' },
      body: JSON.stringify({ keys: keys.filter(({ state }) => state !== 'revoked').map(jwk) }),
    })),
  };
}

function answer({ header }: EndpointRequest, page: PageResponse | undefined): PageResponse {
  if (page === undefined)
    return {
      status: 404,
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify({
        error: { code: 'not_found', message: 'there is no such key; /signing-keys lists all' },
      }),
    };
  const etag = `"${hash('sha256', page.body ?? '', 'base64url').slice(0, 22)}"`;
  const headers = { ...page.headers, etag, 'cache-control': 'public, max-age=300' };
  return holdsTag(header('if-none-match'), etag) ? { status: 304, headers } : { ...page, headers };
}

const jwk = ({ hint: kid, publicKey }: SigningKey) => {
  return { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' };
};

function described(key: SigningKey) {
  const { id, purpose, state, hint, createdAt, activeFrom, revokedAt, compromisedSince, revokeReason } = key;
  const stated = { id, purpose, state, algorithm: ALGORITHM, hint, publicKey: pemOf(key), jwk: jwk(key) };
  const revoked = revokedAt === null ? {} : { revokedAt, compromisedSince, revokeReason };
  return { ...stated, createdAt, activeFrom, ...revoked };
}
