import { expect, it, describe } from 'vitest';
import { createFakeClock } from '../../test/setup/clock.ts';
import { behind, createDokkuLogs } from './dokku-logs.ts';

const MINUTE_MS = 60_000;
const lineOf = (path: string, more = '') =>
  `203.0.113.77 - - [28/Nov/2026:20:15:42 +0100] "GET ${path} HTTP/1.1" 200 612 "-" "curl/8${more}"`;

describe('logs of Dokku', () => {
  it.each([
    ['a b c', 'b c d', 'd'],
    ['a b c', 'a b c', ''],
    ['', 'a', 'a'],
    ['a', 'x y', 'x y'],
    ['a a', 'a a a', 'a'],
    ['a b', 'a b a b c', 'a b c'],
  ])('hold %j and then %j, of which %j is new', (before, after, fresh) => {
    const split = (text: string) => text.split(' ').filter((each) => each !== '');
    expect(behind(split(before), split(after))).toEqual(split(fresh));
  });

  it('are told from the second look on, redacted, until it is confirmed', async () => {
    let [access, error] = [`${lineOf('/before')}\n`, ''];
    let isThere = true;
    const clock = createFakeClock();
    const logs = createDokkuLogs(
      async () => await Promise.resolve(isThere ? { access, error } : undefined),
      () => [{ environmentId: 'env_1', app: 'web' }],
      clock,
    );
    const look = async () => {
      clock.advance(MINUTE_MS);
      return await logs.take();
    };
    expect(await look()).toBeUndefined();
    access += `${lineOf('/x?token=1', '\\x1B')}\nno line\n`;
    error =
      '2026/11/28 20:15:42 [error] 7#7: *1 failed, client: 203.0.113.7, request: "GET /x?a=1 HTTP/1.1"\n';
    expect(await logs.take()).toBeUndefined();
    const taken = await look();
    expect(taken?.batches).toEqual([
      {
        environmentId: 'env_1',
        kind: 'access',
        lines: [
          {
            at: '2026-11-28T19:15:42.000Z',
            remote: '203.0.113.0',
            method: 'GET',
            path: '/x?…',
            status: 200,
            bytes: 612,
            userAgent: 'curl/8\\x1B',
          },
        ],
        dropped: 1,
        minutes: [],
      },
      {
        environmentId: 'env_1',
        kind: 'error',
        lines: [
          {
            at: new Date(2026, 10, 28, 20, 15, 42).toISOString(),
            level: 'error',
            text: 'failed, client: 203.0.113.0, request: "GET /x?… HTTP/1.1"',
          },
        ],
        dropped: 0,
        minutes: [],
      },
    ]);
    access += lineOf('/more');
    expect(await look()).toEqual(taken);
    await logs.confirm(taken!.seq);
    const next = await look();
    expect(next!.seq).toBeGreaterThan(taken!.seq);
    expect(next!.batches).toMatchObject([{ kind: 'access', lines: [{ path: '/more' }] }]);
    await logs.confirm(next!.seq);
    // An app that cannot be asked for a while has nothing new by that.
    isThere = false;
    expect(await look()).toBeUndefined();
    isThere = true;
    expect(await look()).toBeUndefined();
  });

  it('are read in one pass, whatever a visitor has sent', async () => {
    const hostile = ' ['.repeat(8_000);
    const printed = ['/a', '/b', '/c', '/d', '/e'].map((path) => lineOf(path, hostile));
    let access = '';
    const clock = createFakeClock();
    const logs = createDokkuLogs(
      async () => await Promise.resolve({ access, error: '' }),
      () => [{ environmentId: 'env_1', app: 'web' }],
      clock,
    );
    await logs.take();
    access = [...printed, ...printed.map((line) => line.slice(0, -1))].join('\n');
    clock.advance(MINUTE_MS);
    const before = process.cpuUsage();
    const taken = await logs.take();
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(200);
    // A line that lacks its last quote is not of the format.
    expect(taken?.batches).toMatchObject([
      { dropped: 5, lines: [{ path: '/a' }, {}, {}, {}, { path: '/e' }] },
    ]);
  });
});
