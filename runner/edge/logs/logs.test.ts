import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { has } from '../../../test/setup/needs.ts';
import { edgePlace, siteOf, startApp } from '../../../test/setup/edge/edge.ts';
import { tempDir } from '../../../test/setup/runner/temp-dir.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { openEdgeLogs, type LogBatch, type LogShipment } from './edge-logs.ts';
import { readError } from './line.ts';
import { networkOf, printable, redactedError, withoutQuery } from './redact.ts';
import { tail, type Position } from './tail.ts';

describe('what leaves the machine', () => {
  it.each([
    ['203.0.113.77', '203.0.113.0'],
    ['2001:db8:abcd:12::1', '2001:db8:abcd::'],
    ['2001:0db8:00cd:12:1:2:3:4', '2001:db8:cd::'],
    ['::1', '::'],
    ['fe80::1:2', 'fe80::'],
    ['::ffff:203.0.113.77', '203.0.113.0'],
    ['unix:', ''],
  ])('is the network of %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it('has no query, and nothing that moves a cursor', () => {
    expect(withoutQuery('/a/b?token=secret&x')).toBe('/a/b?…');
    expect(withoutQuery('/a#x')).toBe('/a?…');
    expect(withoutQuery('/plain')).toBe('/plain');
    expect(withoutQuery(`/${'x'.repeat(5_000)}`)).toHaveLength(1_024);
    expect(printable('a\u001b[31m\u202eb\u009b', 99)).toBe('a\ufffd[31m\ufffdb\ufffd');
  });

  it('is of errors without the query and the visitor', () => {
    const text =
      '*1 connect() failed, client: 203.0.113.7, server: a.example.com, request: "GET /x?secret=1 HTTP/1.1", upstream: "http://127.0.0.1:80/x?secret=1"';
    expect(redactedError(text, 999)).toBe(
      '*1 connect() failed, client: 203.0.113.0, server: a.example.com, request: "GET /x?… HTTP/1.1", upstream: "http://127.0.0.1:80/x?…"',
    );
  });

  it('is of no site when a visitor pretends that an error is of another one', () => {
    const owner = (name: string) => (name.startsWith('a.') ? 'env_a' : 'env_b');
    const line = (request: string) =>
      Buffer.from(
        `2026/01/02 03:04:05 [error] 7#7: *1 failed, client: 203.0.113.7, server: a.example.com, request: "${request}"`,
      );
    expect(readError(line('GET / HTTP/1.1'), owner)).toMatchObject({
      environmentId: 'env_a',
      line: { at: '2026-01-02T03:04:05.000Z', level: 'error' },
    });
    expect(readError(line('GET /, client: 1.2.3.4, server: b.example.com, '), owner)).toBeUndefined();
  });
});

const rig = () => {
  const root = tempDir();
  const dir = join(root, 'nginx');
  mkdirSync(join(dir, 'logs'), { recursive: true });
  const log = join(dir, 'logs/access.log');
  const clock = createFakeClock();
  let reopened = 0;
  const site = siteOf('a', undefined, 'a.example.com');
  const open = async () =>
    await openEdgeLogs({
      dir,
      sites: () => [site],
      clock,
      fileBytesMax: 2_000_000,
      reopen: () => void (reopened += 1),
    });
  return { dir, log, clock, open, reopened: () => reopened };
};
interface Line {
  env?: string;
  at?: number;
  path?: string;
  status?: number;
  seconds?: number;
}
const START = Date.UTC(2026, 0, 1) / 1_000;
const lineOf = ({ env = 'env_a', at = 0, path = '/', status = 200, seconds = 0.01 }: Line = {}) =>
  `${JSON.stringify({ env, t: String(START + at), a: '203.0.113.7', m: 'GET', h: 'a.example.com', s: String(status), b: '10', d: String(seconds), u: 'agent', p: path })}\n`;
const paths = (shipment: LogShipment | undefined): string[] =>
  (shipment?.batches ?? []).flatMap(({ lines }) =>
    lines.map((line) => ('path' in line ? line.path : line.text)),
  );
const only = (shipment: LogShipment | undefined): LogBatch => {
  expect(shipment?.batches).toHaveLength(1);
  return shipment!.batches[0]!;
};

describe('access logs', () => {
  it('are taken once: again until they are confirmed, then never, over restarts of the daemon too', async () => {
    const { log, open } = rig();
    writeFileSync(log, lineOf({ path: '/1' }) + lineOf({ path: '/2' }));
    const first = await open();
    const taken = await first.take();
    expect(paths(taken)).toEqual(['/1', '/2']);
    expect(await first.take()).toEqual(taken);
    // The daemon was killed after it had sent them; more came meanwhile.
    appendFileSync(log, lineOf({ path: '/3' }));
    const second = await open();
    const again = await second.take();
    expect(again).toEqual(taken);
    await second.confirm(taken!.seq + 1);
    expect(await second.take()).toEqual(taken);
    await second.confirm(taken!.seq);
    const next = await second.take();
    expect(paths(next)).toEqual(['/3']);
    expect(next!.seq).toBe(taken!.seq + 1);
    await second.confirm(next!.seq);
    expect(await second.take()).toBeUndefined();
    expect(await (await open()).take()).toBeUndefined();
  });

  it('count the minutes over shipments, each time all of a minute', async () => {
    const { log, open } = rig();
    const logs = await open();
    writeFileSync(log, [200, 201, 302, 404, 500].map((status) => lineOf({ at: 5, status })).join(''));
    const first = await logs.take();
    expect(only(first).minutes).toEqual([
      {
        minute: '2026-01-01T00:00:00.000Z',
        requests: 5,
        s2xx: 2,
        s3xx: 1,
        s4xx: 1,
        s5xx: 1,
        p50Ms: 10,
        p95Ms: 10,
        bytes: 50,
      },
    ]);
    await logs.confirm(first!.seq);
    appendFileSync(log, Array.from({ length: 95 }, () => lineOf({ at: 20, seconds: 0.9 })).join(''));
    appendFileSync(log, lineOf({ at: 61, status: 101 }));
    const later = await (await open()).take();
    expect(only(later).minutes).toMatchObject([
      { minute: '2026-01-01T00:00:00.000Z', requests: 100, s2xx: 97, p50Ms: 1_000, p95Ms: 1_000 },
      { minute: '2026-01-01T00:01:00.000Z', requests: 1, s2xx: 0 },
    ]);
  });

  it('are of one app no more than 200 lines in ten seconds, and of others all', async () => {
    const { log, open, clock } = rig();
    const logs = await open();
    const flood = (count: number) => Array.from({ length: count }, () => lineOf()).join('');
    writeFileSync(log, flood(5_000) + lineOf({ env: 'env_b' }));
    const first = await logs.take();
    expect(first?.batches).toMatchObject([
      { environmentId: 'env_a', dropped: 4_800, minutes: [{ requests: 5_000 }] },
      { environmentId: 'env_b', dropped: 0, minutes: [{ requests: 1 }] },
    ]);
    expect(first?.batches[0]?.lines).toHaveLength(200);
    await logs.confirm(first!.seq);
    appendFileSync(log, flood(3));
    const second = await logs.take();
    expect(only(second)).toMatchObject({ lines: [], dropped: 3 });
    await logs.confirm(second!.seq);
    clock.advance(10_000);
    appendFileSync(log, flood(3));
    expect(only(await logs.take())).toMatchObject({ dropped: 0 });
  });

  it('are read although lines are no UTF-8, no JSON, cut, or of a megabyte', async () => {
    const { log, open } = rig();
    const logs = await open();
    const [head = '', rest = ''] = lineOf({ path: '/bytes' }).split('/bytes');
    writeFileSync(
      log,
      Buffer.concat([Buffer.from(head), Buffer.from([0x2f, 0xff, 0xc3]), Buffer.from(rest)]),
    );
    appendFileSync(log, '{"env":"env_a", broken\n');
    appendFileSync(log, lineOf({ path: `/${'x'.repeat(1_000_000)}` }));
    appendFileSync(log, lineOf({ env: '' }) + 'noise\n\n');
    appendFileSync(log, lineOf({ path: '/after' }) + lineOf({ path: '/half' }).slice(0, -20));
    const taken = await logs.take();
    expect(paths(taken)).toEqual(['/\ufffd\ufffd', '/after']);
    expect(only(taken).dropped).toBe(2);
    await logs.confirm(taken!.seq);
    appendFileSync(log, lineOf({ path: '/half' }).slice(-20));
    expect(paths(await logs.take())).toEqual(['/half']);
  });

  it('are rotated while nobody takes them', async () => {
    const { log, open, reopened } = rig();
    const logs = await open();
    writeFileSync(
      log,
      lineOf({ env: '', path: `/${'x'.repeat(50_000)}` }).repeat(41) + lineOf({ path: '/1' }),
    );
    await logs.rotate();
    expect([reopened(), existsSync(log), existsSync(`${log}.1`)]).toEqual([1, false, true]);
    writeFileSync(log, lineOf({ path: '/2' }));
    await logs.rotate();
    expect(reopened()).toBe(1);
    // Lines that nobody asked for stay on the machine.
    expect(paths(await logs.take())).toEqual(['/2']);
  });

  it('are given up, and rotated, where nobody answers while they grow', async () => {
    const { log, open, reopened } = rig();
    const logs = await open();
    const large = lineOf({ env: '', path: `/${'x'.repeat(50_000)}` }).repeat(41);
    writeFileSync(log, lineOf({ path: '/1' }));
    const taken = await logs.take();
    appendFileSync(log, large);
    await logs.rotate();
    expect([reopened(), (await logs.take())?.seq]).toEqual([0, taken!.seq]);
    appendFileSync(log, large + lineOf({ path: '/2' }));
    await logs.rotate();
    expect(reopened()).toBe(1);
    const next = await logs.take();
    expect([next!.seq, paths(next)]).toEqual([taken!.seq + 1, ['/2']]);
  });

  it('are rotated, and no line is lost that nginx writes before it has new files', async () => {
    const { dir, log, open, reopened } = rig();
    const logs = await open();
    const take = async () => {
      const taken = await logs.take();
      if (taken !== undefined) await logs.confirm(taken.seq);
      return paths(taken);
    };
    const large = lineOf({ env: '', path: `/${'x'.repeat(50_000)}` }).repeat(41);
    writeFileSync(log, large + lineOf({ path: '/1' }));
    expect(await take()).toEqual(['/1']);
    expect(reopened()).toBe(1);
    expect(existsSync(log)).toBe(false);
    appendFileSync(`${log}.1`, lineOf({ path: '/2' }));
    writeFileSync(log, lineOf({ path: '/3' }));
    expect(await take()).toEqual(['/2']);
    expect(await take()).toEqual(['/3']);
    for (let n = 0; n < 9; n += 1) {
      appendFileSync(log, large);
      appendFileSync(log, lineOf({ path: `/r${n}` }));
      await take();
      writeFileSync(log, '');
      await take();
    }
    const names = readdirSync(join(dir, 'logs')).toSorted();
    expect(names).toEqual(['access.log', ...[1, 2, 3, 4, 5, 6].map((n) => `access.log.${n}`)]);
  });

  it('are read from their beginning after they were emptied or replaced', async () => {
    const { log, open } = rig();
    const logs = await open();
    writeFileSync(log, lineOf({ path: '/1' }).repeat(3));
    await logs.confirm((await logs.take())!.seq);
    truncateSync(log);
    appendFileSync(log, lineOf({ path: '/2' }));
    const second = await logs.take();
    expect(paths(second)).toEqual(['/2']);
    await logs.confirm(second!.seq);
    writeFileSync(`${log}.new`, lineOf({ path: '/3' }));
    renameSync(`${log}.new`, log);
    expect(paths(await logs.take())).toEqual(['/3']);
  });

  it('are read in parts that have a bound, whatever the size of a line', async () => {
    const { dir, log } = rig();
    const lines: string[] = [];
    writeFileSync(log, `${'x'.repeat(300_000)}\nshort\n`);
    let from: Position | undefined;
    for (let hasMore = true; hasMore;) {
      const onLine = (line: Buffer) => void lines.push(line.toString().slice(0, 5));
      const tailed = await tail({
        dir: join(dir, 'logs'),
        base: 'access.log',
        from,
        bytesMax: 100_000,
        onLine,
      });
      ({ hasMore, position: from } = tailed);
    }
    expect(lines.at(-1)).toBe('short');
    expect(from?.offset).toBe(statSync(log).size);
  });
});

describe.runIf(await has('nginx'))('logs of a real nginx', () => {
  it('say whose they are, keep whole lines here, and go on in new files', async () => {
    const place = await edgePlace();
    const app = await startApp('one');
    const edge = await place.open();
    const gone = { ...siteOf('gone', app, 'gone.example.com'), upstream: { host: '127.0.0.1', port: 1 } };
    await edge.apply([siteOf('one', app, 'one.example.com'), gone]);
    await place.get('one.example.com', { path: '/a"b\\c?secret=1', headers: { 'user-agent': 'x\u00ff"' } });
    await place.get('other.example.com');
    await place.get('gone.example.com', { path: '/x?secret=2' });
    const socket = connect(place.httpPort, '127.0.0.1');
    socket.write(
      Buffer.from('GET /\xff\x80 HTTP/1.1\r\nHost: one.example.com\r\nConnection: close\r\n\r\n', 'latin1'),
    );
    socket.resume();
    await once(socket, 'close');
    const log = join(place.dir, 'logs/access.log');
    await waitFor('four lines', () => readFileSync(log, 'latin1').split('\n').length >= 5);
    const taken = await edge.logs.take();
    expect(taken?.batches).toMatchObject([
      {
        environmentId: 'env_one',
        kind: 'access',
        dropped: 0,
        lines: [
          {
            remote: '127.0.0.0',
            method: 'GET',
            host: 'one.example.com',
            path: '/a"b\\c?…',
            status: 200,
            bytes: 3,
          },
          { path: '/\ufffd\ufffd', status: 400 },
        ],
        minutes: [{ requests: 2, s2xx: 1, s4xx: 1 }],
      },
      { environmentId: 'env_gone', kind: 'access', lines: [{ status: 502 }] },
      {
        environmentId: 'env_gone',
        kind: 'error',
        lines: [{ level: 'error', text: expect.stringContaining('Connection refused') as string }],
        minutes: [],
      },
    ]);
    expect(JSON.stringify(taken)).not.toContain('secret');
    expect(readFileSync(log, 'latin1')).toContain('secret=1');
    const atMs = Date.parse(taken?.batches[2]?.lines[0]?.at ?? '');
    expect(Math.abs(Date.now() - atMs)).toBeLessThan(600_000);
    await edge.logs.confirm(taken!.seq);
    // The workers are another user, to whom the folder is closed: they must open new files nevertheless.
    appendFileSync(log, `${'x'.repeat(1_048_575)}\n`.repeat(50));
    await edge.logs.take();
    await edge.logs.take();
    await waitFor('a new file', () => existsSync(log));
    await waitFor('a line in it', async () => {
      await place.get('one.example.com', { path: '/new' });
      return readFileSync(log, 'utf8').includes('/new');
    });
    const next = await waitFor('the line', async () => await edge.logs.take());
    expect(new Set(paths(next))).toEqual(new Set(['/new']));
  });
});
