import { gzipSync } from 'node:zlib';
import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { apiError } from './errors.ts';
import type { DoorLimits } from './limits.ts';
import type { Endpoint, EndpointRequest, Pages } from './pages.ts';
import { doorOfTest, type TestDoor } from './testing/app.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const open = (pages: Pages, limits: Partial<DoorLimits> = {}): Promise<TestDoor> =>
  doorOfTest({}, { pages, limits });

const BODY_BYTES_MAX = 100;

/** Says what it was asked. */
const echo: Endpoint = {
  verbs: ['POST'],
  serve: async ({ method, variable, query, body, remoteAddress, responseHeaders }) => {
    responseHeaders.set('x-said', 'always');
    const text = Buffer.from(await body(BODY_BYTES_MAX)).toString();
    return { body: JSON.stringify({ method, variable, query, text, remoteAddress }) };
  },
};
const pages: Pages = { '/flags': echo, '/flags/{key}': echo, '/plain': () => ({ body: 'plain' }) };

async function post(url: string, body?: string | Uint8Array, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'POST', headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: JSON.parse(text) as unknown };
}

describe('an endpoint', () => {
  it('gets verb, variable, query and body', async () => {
    const { url } = await open(pages);
    expect((await post(`${url}/flags?a=1`, '{"x":1}')).json).toEqual({
      method: 'POST',
      variable: '',
      query: 'a=1',
      text: '{"x":1}',
      remoteAddress: '127.0.0.1',
    });
    expect((await post(`${url}/flags/host%2Fci%20x`)).json).toMatchObject({
      variable: 'host/ci x',
      text: '',
    });
  });

  it('answers its own verbs, and HEAD when it answers GET', async () => {
    const { url } = await open({
      ...pages,
      '/both': { verbs: ['GET', 'POST'], serve: () => ({ body: 'x' }) },
    });
    const ask = async (method: string, path: string) => {
      const response = await fetch(`${url}${path}`, { method });
      return [response.status, response.headers.get('allow'), (await response.text()) !== ''];
    };
    expect(await ask('GET', '/flags')).toEqual([405, 'POST', true]);
    expect(await ask('HEAD', '/flags/host.ci')).toEqual([405, 'POST', false]);
    expect(await ask('DELETE', '/flags/host.ci')).toEqual([405, 'POST', true]);
    expect(await ask('HEAD', '/both')).toEqual([200, null, false]);
    expect(await ask('PUT', '/both')).toEqual([405, 'GET, HEAD, POST', true]);
    expect(await ask('POST', '/plain')).toEqual([405, 'GET, HEAD', true]);
  });

  it('is one segment below its path, not none and not two, and takes no path from an RPC', async () => {
    const { url } = await open({ ...pages, '/teams/{id}': echo });
    for (const path of ['/flags/', '/flags/a/b', '/flags//', '/flag/a'])
      expect([path, (await post(`${url}${path}`)).status]).toEqual([path, 404]);
    expect((await post(`${url}/teams/team_1`)).status).toBe(405);
  });

  it('reads a body as RPCs do: bounded, decompressed with a bound, in time', async () => {
    const { url, port } = await open(pages, { bodyTimeoutMs: 200, headersTimeoutMs: 200, sweepMs: 100 });
    const small = gzipSync('{"x":1}');
    expect((await post(`${url}/flags`, small, { 'content-encoding': 'gzip' })).json).toMatchObject({
      text: '{"x":1}',
    });
    const code = async (sent: Promise<{ json: unknown }>) =>
      ((await sent).json as { error: { code: string } }).error.code;
    expect(await code(post(`${url}/flags`, 'x'.repeat(BODY_BYTES_MAX + 1)))).toBe('body_too_large');
    const bomb = gzipSync('x'.repeat(100_000));
    expect(await code(post(`${url}/flags`, bomb, { 'content-encoding': 'gzip' }))).toBe('body_too_large');
    expect(await code(post(`${url}/flags`, 'x', { 'content-encoding': 'zoo' }))).toBe(
      'unsupported_media_type',
    );
    expect(await code(post(`${url}/flags/%ff`))).toBe('validation_failed');
    expect(await slowBody(port)).toBe(408);
  });

  it('says what it refuses in its own words, and the door logs and counts it', async () => {
    const refused = apiError('rate_limited', 'slowly', { retryAfterMs: 1_500 });
    const broken = apiError('internal', 'broken', { cause: new Error('secret') });
    const door = await open({
      '/refused': { verbs: ['POST'], serve: () => ({ body: '{"mine":1}', error: refused }) },
      '/broken': { verbs: ['POST'], serve: () => ({ body: '{"mine":2}', error: broken }) },
      '/thrown': {
        verbs: ['POST'],
        serve: ({ responseHeaders }) => {
          responseHeaders.set('x-said', 'always');
          throw new Error('secret');
        },
      },
    });
    const limited = await post(`${door.url}/refused`);
    expect([limited.status, limited.json, limited.headers.get('retry-after')]).toEqual([
      429,
      { mine: 1 },
      '2',
    ]);
    expect((await post(`${door.url}/broken`)).json).toEqual({ mine: 2 });
    const thrown = await post(`${door.url}/thrown`);
    expect([thrown.status, thrown.headers.get('x-said')]).toEqual([500, 'always']);
    expect(JSON.stringify(thrown.json)).not.toContain('secret');
    expect(door.records.map(({ status, code }) => [status, code])).toEqual([
      [429, 'rate_limited'],
      [500, 'internal'],
      [500, 'internal'],
    ]);
    expect(door.logged).toHaveLength(2);
  });

  it('is told when the client leaves', async () => {
    let asked: EndpointRequest | undefined;
    const { port } = await open({
      '/held': {
        verbs: ['POST'],
        serve: async (request) => {
          asked = request;
          await new Promise((resolve) => {
            request.signal().addEventListener('abort', resolve, { once: true });
          });
          return {};
        },
      },
    });
    const request = httpRequest({ port, path: '/held', method: 'POST' });
    request.on('error', () => undefined);
    request.end();
    await waitFor(
      () => 'no request',
      () => asked !== undefined,
    );
    request.destroy();
    await waitFor(
      () => asked?.signal().reason as unknown,
      () => asked?.signal().aborted === true,
    );
    expect(asked?.signal().reason).toMatchObject({ code: 'client_closed' });
  });
});

/** Announces ten bytes and sends one. Resolves with the status. */
async function slowBody(port: number): Promise<number | undefined> {
  return await new Promise((resolve, reject) => {
    const request = httpRequest(
      { port, path: '/flags', method: 'POST', headers: { 'content-length': '10' } },
      (response) => {
        resolve(response.statusCode);
        request.destroy();
      },
    );
    request.on('error', reject);
    request.write('x');
  });
}
