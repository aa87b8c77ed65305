/** Tests how the server hands out the console. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildConsole } from '../../server/console/build.mjs';
import { has } from '../setup/needs.ts';
import { startTestServer, type TestServer } from '../setup/server.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

describe.skipIf(!(await has('postgres')))('the console is served', () => {
  let server: TestServer;
  beforeAll(async () => {
    await buildConsole({ outDir: new URL('../../server/dist/console', import.meta.url).pathname });
    server = await startTestServer();
  });
  afterAll(async () => await server.stop());

  /** `fetch` unpacks and follows redirects; here the very answer counts. */
  const get = async (
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
  ): Promise<{ status: number; headers: IncomingHttpHeaders; body: string; bytes: number }> =>
    await new Promise((resolve, reject) => {
      httpRequest(`${server.baseUrl}${path}`, { headers, method }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', () => {
          const all = Buffer.concat(pieces);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: all.toString(),
            bytes: all.length,
          });
        });
      })
        .on('error', reject)
        .end();
    });
  const assets = async (): Promise<string[]> =>
    [...(await get('/console/')).body.matchAll(/"(\/console\/assets\/[^"]+)"/g)].map(
      (match) => match[1] ?? '',
    );

  it('leads browsers, and nobody else, from the root to it', async () => {
    const browser = await get('/', { accept: 'text/html,application/xhtml+xml' });
    expect([browser.status, browser.headers.location]).toEqual([307, '/console']);
    const program = await get('/', { accept: 'application/json' });
    const unknown = await get('/rubbish', { accept: 'application/json' });
    const plain = (text: string): string => text.replace(/req_[0-9a-z]+/, 'req');
    expect([program.status, plain(program.body)]).toEqual([404, plain(unknown.body)]);
  });

  it('at real addresses, under a strict policy, asked for again each time', async () => {
    for (const path of [
      '/console',
      '/console/',
      '/console/features?history=host.ci',
      '/console/projects/web/production/builds/1',
    ]) {
      const { status, headers, body } = await get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': POLICY,
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
      expect(body).toContain('<title>svc console</title>');
    }
    // Which pages there are the document knows; a file that is not there is none.
    const unknown = await get('/console/assets/rubbish.js');
    expect(unknown.status).toBe(404);
  });

  it('with files that never change under their names', async () => {
    const names = await assets();
    expect(names.length).toBeGreaterThan(3);
    for (const name of names) {
      const { status, headers } = await get(name);
      expect([name, status, headers['cache-control']]).toEqual([
        name,
        200,
        'public, max-age=31536000, immutable',
      ]);
    }
  });

  it('not again to whoever has it, and packed to whoever unpacks', async () => {
    const first = await get('/console/');
    const { etag = '' } = first.headers;
    const again = await get('/console/', { 'if-none-match': `"other", W/${etag}` });
    expect([again.status, again.bytes, again.headers.etag]).toEqual([304, 0, etag]);
    const [script = ''] = (await assets()).filter((name) => name.includes('/main-'));
    const plain = await get(script);
    const packed = await get(script, { 'accept-encoding': 'br, gzip' });
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
    expect(packed.bytes).toBeLessThan(plain.bytes / 2);
    expect(packed.headers.etag).not.toBe(plain.headers.etag);
    expect(
      (await get(script, { 'accept-encoding': 'gzip;q=0' })).headers['content-encoding'],
    ).toBeUndefined();
    const head = await get('/console/', {}, 'HEAD');
    expect([head.status, head.bytes, head.headers['content-length']]).toEqual([
      200,
      0,
      first.headers['content-length'],
    ]);
  });

  it('without source maps', async () => {
    for (const name of await assets()) {
      expect((await get(`${name}.map`)).status).toBe(404);
      expect((await get(name)).body).not.toContain('sourceMappingURL');
    }
  });
});
