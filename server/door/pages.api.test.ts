/** What anybody may read, asked for more often than it is read. */
import { connect, type Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { request as httpRequest } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { useServer } from '../../test/setup/use-server.ts';
import { diskFull } from '../base/db/index.ts';
import { createFakeClock } from '../../test/setup/clock.ts';

const postgresHere = await has('postgres');
const PAGES_MAX = 1_000;
const CONNECTIONS = 60;
const MEBIBYTE = 1_048_576;

describe.skipIf(!postgresHere)('the contract page', () => {
  const env = { LIMIT_PAGES_PER_MINUTE: String(PAGES_MAX), TRUSTED_PROXIES: '127.0.0.1' };
  // Nothing comes back while it is counted.
  const { server } = useServer({ env, clock: createFakeClock(new Date()) });
  const sockets: Socket[] = [];

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** `fetch` unpacks; here the very bytes count. */
  const get = async (
    headers: Record<string, string>,
  ): Promise<{ status: number; etag: string; body: Buffer }> =>
    await new Promise((resolve, reject) => {
      httpRequest(`${server.baseUrl}/openapi.json`, { headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            etag: String(response.headers.etag),
            body: Buffer.concat(pieces),
          }),
        );
      })
        .on('error', reject)
        .end();
    });

  /**
   * CPU of this process in milliseconds, for connections that ask so many times at once and do not read. Ends
   * when nothing more happens.
   */
  async function unread(asks: number): Promise<number> {
    const before = process.cpuUsage();
    const requests = 'GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(asks);
    const own = Array.from({ length: CONNECTIONS }, () => connect(server.port, '127.0.0.1'));
    sockets.push(...own);
    for (const socket of own)
      socket
        .on('error', () => undefined)
        .pause()
        .write(requests);
    await Promise.all(
      own.map(async (socket) => await new Promise((resolve) => socket.once('connect', resolve))),
    );
    for (let n = 0; n < 30; n += 1) await (await fetch(`${server.baseUrl}/healthz`)).text();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  }

  it('is kept compressed, and told to be unchanged', async () => {
    const plain = await get({});
    const packed = await get({ 'accept-encoding': 'br, gzip' });
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
    expect(packed.body.length).toBeLessThan(plain.body.length / 4);
    expect(packed.etag).not.toBe(plain.etag);
    for (const [etag, encoding] of [
      [plain.etag, 'identity'],
      [packed.etag, 'gzip'],
    ] as const) {
      const again = await get({ 'if-none-match': etag, 'accept-encoding': encoding });
      expect([again.status, again.body.length]).toEqual([304, 0]);
    }
  });

  it('costs a client who asks twenty times and does not read little more than one who asks once', async () => {
    await unread(1); // whatever the first costs more
    const memoryBefore = process.memoryUsage().rss;
    await unread(20);
    const grown = (process.memoryUsage().rss - memoryBefore) / MEBIBYTE;
    // Up to five times, because others in this process have work of their own.
    let ratio = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 5 && ratio >= 8; tries += 1) {
      const once = await unread(1);
      ratio = Math.min(ratio, (await unread(20)) / once);
    }
    // Without the bound it is twenty times as much. A kernel keeps a few answers for each reader, which are
    // served.
    expect(ratio).toBeLessThan(8);
    // 60 connections × 20 answers × 0.7 MiB would be 840.
    expect(grown).toBeLessThan(150);
  });

  it('counts by network, and keeps nobody from seeing whether the server is well', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': address, 'if-none-match': '*' });
    for (let n = 0; n < PAGES_MAX; n += 50)
      await Promise.all(
        Array.from({ length: 50 }, async (_, k) => await get(from(`[2001:db8::${k}:${n}]:${1_000 + k}`))),
      );
    expect((await get(from('2001:db8::ffff'))).status).toBe(429);
    expect((await get(from('2001:db8:0:1::1'))).status).toBe(304);
    for (const path of ['/healthz', '/readyz'])
      expect(
        (await fetch(server.baseUrl + path, { headers: { 'x-forwarded-for': '2001:db8::1' } })).status,
      ).toBe(200);
  });

  it('says that a disk is full to who asks whether it is ready', async () => {
    const ready = async () => await (await fetch(`${server.baseUrl}/readyz`)).text();
    expect(await ready()).toMatch(/^ready/);
    const now = vi.spyOn(performance, 'now').mockReturnValue(-1_000_000);
    const full = server.db
      .sql`do $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`;
    diskFull(await full.catch((error: unknown) => error));
    const said = await ready();
    now.mockRestore();
    expect(said).toBe('the disk of the database is full; whoever operates it must make room\n');
    expect(await ready()).toMatch(/^ready/);
  });
});
