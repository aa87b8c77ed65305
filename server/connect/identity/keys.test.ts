import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../base/clock.ts';
import { createSafeFetch } from '../../base/safe-fetch.ts';
import type { Issuer } from './issuers.ts';
import { createIssuerKeys } from './keys.ts';

let server: Server;
let answer: RequestListener;
let asked: string[];
let issuer: Issuer;
let jwk: JWK;
let nowMs: number;
const problems: unknown[] = [];
const clock: Clock = { now: () => new Date(), monotonicMs: () => nowMs };

const answers =
  (...keys: readonly unknown[]): RequestListener =>
  (_request, response) =>
    void response.end(JSON.stringify({ keys }));

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  issuer = { provider: 'github', issuer: 'https://issuer', jwksUrl: `http://127.0.0.1:${port}/jwks` };
  const { publicKey } = await generateKeyPair('RS256', { extractable: true });
  jwk = await exportJWK(publicKey);
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  asked = [];
  problems.length = 0;
  nowMs = 1_000_000;
  answer = answers({ ...jwk, kid: 'a' });
});

const create = () =>
  createIssuerKeys({
    fetch: createSafeFetch({ allowPrivate: true }),
    clock,
    onError: (error) => void problems.push(error),
  });

describe('createIssuerKeys()', () => {
  it('reads a set once for all who ask at once, and again after an hour', async () => {
    const keys = create();
    const found = await Promise.all(Array.from({ length: 20 }, () => keys.find(issuer, 'a')));
    expect([found.every((key) => key !== undefined), asked.length]).toEqual([true, 1]);
    nowMs += 61 * 60_000;
    answer = answers({ ...jwk, kid: 'b' });
    expect(await keys.find(issuer, 'a')).toBeUndefined(); // Withdrawn.
    expect([await keys.find(issuer, 'b'), asked.length]).toEqual([expect.anything(), 2]);
  });

  it('asks at most once a minute for a flood of keys that do not exist', async () => {
    const keys = create();
    await keys.find(issuer, 'a');
    nowMs += 60_000;
    const flood = Array.from({ length: 200 }, (_, i) => keys.find(issuer, `../${i}`));
    expect(await Promise.all(flood)).toEqual(Array(200).fill(undefined));
    for (let i = 0; i < 20; i += 1) await keys.find(issuer, `later-${i}`);
    expect(asked).toEqual(['/jwks', '/jwks']);
    nowMs += 60_000;
    answer = answers({ ...jwk, kid: 'a' }, { ...jwk, kid: 'new' });
    expect([await keys.find(issuer, 'new'), asked.length]).toEqual([expect.anything(), 3]);
  });

  it.each<[string, RequestListener]>([
    ['an error', (_request, response) => void response.writeHead(500).end()],
    ['no JSON', (_request, response) => void response.end('<html>')],
    ['a name twice', (_request, response) => void response.end('{"keys":[],"keys":[]}')],
    ['no keys', answers()],
    ['a redirect', (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end()],
    ['10 MB', (_request, response) => void response.end(Buffer.alloc(10_000_000, ' '))],
  ])('keeps the last good set after %s', async (_what, bad) => {
    const keys = create();
    await keys.find(issuer, 'a');
    nowMs += 61 * 60_000;
    answer = bad;
    expect(await keys.find(issuer, 'a')).toBeDefined();
    expect([problems.length, asked]).toEqual([1, ['/jwks', '/jwks']]);
  });

  it('gives up on an answer that does not end, and says so when there never was one', async () => {
    answer = (_request, response) => void response.write('{"keys":[');
    const keys = create();
    const startedAt = Date.now();
    await expect(keys.find(issuer, 'a')).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    expect(Date.now() - startedAt).toBeLessThan(9_000);
    await expect(keys.find(issuer, 'a')).rejects.toMatchObject({ code: 'unavailable' });
    expect(asked).toHaveLength(1); // Not again at once.
    nowMs += 10_000;
    answer = answers({ ...jwk, kid: 'a' });
    expect(await keys.find(issuer, 'a')).toBeDefined();
  }, 20_000);

  it('takes RSA keys for signatures alone, of 2,048 bits at least, and leaves out the rest', async () => {
    const { publicKey: ec } = await generateKeyPair('ES256', { extractable: true });
    const bad: readonly unknown[] = [
      null,
      'text',
      { ...jwk },
      { ...jwk, kid: 5 },
      { ...jwk, kid: 'enc', use: 'enc' },
      { ...jwk, kid: 'alg', alg: 'HS256' },
      { ...jwk, kid: 'short', n: 'AQAB' },
      { ...jwk, kid: 'odd', n: '!'.repeat(400) },
      { ...(await exportJWK(ec)), kid: 'ec' },
      { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' },
    ];
    answer = answers(...bad, { ...jwk, kid: 'good' });
    const keys = create();
    expect(await keys.find(issuer, 'good')).toBeDefined();
    for (const kid of ['enc', 'alg', 'short', 'odd', 'ec', 'oct'])
      expect([kid, await keys.find(issuer, kid)]).toEqual([kid, undefined]);
  });
});
