/** These tests play logs of machines: what a runner tells of them, and what people see. */
import type { Environment, NginxLogKind, SvcSDK } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FACTS } from '../../../test/e2e/independent-runner.ts';
import type { ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { REPOSITORY } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { purgeLogs } from './purge.ts';

const MINUTE_MS = 60_000;
const lineOf = (path: string, more: object = {}) => ({
  at: '2026-01-02T03:04:05.678Z',
  remote: '203.0.113.0',
  method: 'GET',
  host: 'a.acme.dev',
  path,
  status: 200,
  bytes: 5_000_000_000,
  durationMs: 12,
  userAgent: '',
  ...more,
});
const linesOf = (count: number, head = '/', more: object = {}) =>
  Array.from({ length: count }, (_, n) => lineOf(`${head}${n}`, more));
const minuteOf = (minute: string, requests: number, more: object = {}) => ({
  minute,
  requests,
  s2xx: requests,
  s3xx: 0,
  s4xx: 0,
  s5xx: 0,
  p50Ms: 10,
  p95Ms: 30,
  bytes: 9_000_000_000,
  ...more,
});

describe.skipIf(!(await has('postgres')))('logs of machines', () => {
  let w: World;
  let sdk: SvcSDK;
  let runner: ScriptedRunner;
  let environment: Environment;
  let count = 0;

  const fresh = async (deploy: object | undefined = { kind: 'container' }) => {
    count += 1;
    return await sdk.environments.create(w.projectId, {
      name: `e${count}`,
      repository: REPOSITORY,
      ...(deploy && { deploy: { kind: 'container', ...deploy, app: `app-${count}` } }),
    });
  };
  const edge = async (driver: string | undefined, of = runner) => {
    const facts = { ...FACTS, host: driver === undefined ? {} : { edge: { driver } } };
    expect((await of.call('heartbeat', { facts })).status).toBe(200);
  };
  const deploy = async (of = environment) => {
    await sdk.builds.create(of.id);
    await runner.finish(await runner.take());
  };
  const tell = async (log: object, by = runner, environmentId = environment.id) => {
    const logs = [{ environmentId, kind: 'access', lines: [], minutes: [], ...log }];
    return await by.call('host-logs', { logs });
  };
  const told = async (log: object, by = runner, of = environment.id) =>
    expect((await tell(log, by, of)).body).toEqual({ nextMs: 10_000 });
  const read = async (params: { lines?: number; after?: string } = {}, kind: NginxLogKind = 'access') => {
    const { lines, ...rest } = await sdk.environments.nginxLogs(environment.id, kind, params);
    return { ...rest, paths: lines.map(({ path, text }) => path ?? text) };
  };

  beforeAll(async () => {
    w = await world();
    ({ sdk } = w);
    runner = await w.runner();
    await edge('nginx');
  });
  beforeEach(async () => {
    environment = await fresh();
    await deploy();
  });

  it('are shown as they were told, each log by itself', async () => {
    expect(await sdk.environments.nginxLogs(environment.id, 'access')).toEqual({
      lines: [],
      dropped: 0,
      source: 'nginx',
      position: '0',
    });
    await told({ seq: 1, lines: [lineOf('/1'), lineOf('/2', { at: '2026-01-02T03:04:06Z' })] });
    const error = { at: '2026-01-02T03:04:05Z', level: 'error', text: 'no upstream' };
    await told({ seq: 1, kind: 'error', lines: [error], dropped: 2 });
    expect(await sdk.environments.nginxLogs(environment.id, 'access')).toEqual({
      lines: [lineOf('/1'), lineOf('/2', { at: '2026-01-02T03:04:06Z' })],
      dropped: 0,
      from: '2026-01-02T03:04:05.678Z',
      to: '2026-01-02T03:04:06Z',
      source: 'nginx',
      position: '2',
    });
    expect(await sdk.environments.nginxLogs(environment.id, 'error')).toMatchObject({
      lines: [error],
      dropped: 2,
    });
  });

  it('come once, however often they are told, and also from another runner of the environment', async () => {
    for (const seq of [1, 1, 2, 1]) await told({ seq, lines: [lineOf(`/${seq}`)] });
    const both = { environmentId: environment.id, kind: 'access' };
    await runner.call('host-logs', {
      logs: [3, 4].map((seq) => ({ ...both, seq, lines: [lineOf(`/${seq}`)] })),
    });
    expect((await read()).paths).toEqual(['/1', '/2', '/3']);
    const other = await w.runner();
    await w.server.db
      .sql`update host_apps set runner_id = ${other.runnerId} where environment_id = ${environment.id}`;
    await told({ seq: 1, lines: [lineOf('/other')] }, other);
    await told({ seq: 9, lines: [lineOf('/late')] });
    await edge('nginx', other);
    expect((await read()).paths).toEqual(['/1', '/2', '/3', '/other']);
  });

  it('are of the runner’s own environments alone', async () => {
    const other = await w.runner();
    await told({ seq: 1, lines: [lineOf('/1')], minutes: [minuteOf(new Date().toISOString(), 1)] }, other);
    await told({ seq: 1, lines: [lineOf('/1')] }, runner, 'env_unknown');
    expect(await read()).toMatchObject({ paths: [], position: '0' });
    expect(await sdk.environments.nginxMinutes(environment.id)).toEqual({ minutes: [] });
  });

  it('are followed from where one was, and say what is missing', async () => {
    await told({ seq: 1, lines: linesOf(3, '/a') });
    await told({ seq: 2, dropped: 7 });
    expect(await read({ lines: 2 })).toMatchObject({ paths: ['/a1', '/a2'], dropped: 0, position: '3' });
    expect(await read({ after: '3' })).toMatchObject({ paths: [], dropped: 0, position: '3' });
    await told({ seq: 3, lines: linesOf(3, '/b'), dropped: 1 });
    expect(await read({ after: '3', lines: 2 })).toMatchObject({
      paths: ['/b0', '/b1'],
      dropped: 8,
      position: '5',
    });
    expect(await read({ after: '5', lines: 2 })).toMatchObject({ paths: ['/b2'], dropped: 0, position: '6' });
    expect(await read({ after: '2' })).toMatchObject({ paths: ['/a2', '/b0', '/b1', '/b2'], dropped: 8 });
    // It is a position of an installation that was restored from an older dump.
    expect(await read({ after: '99' })).toMatchObject({ paths: [], position: '6' });
    await w.server.db
      .sql`delete from edge_log_segments where environment_id = ${environment.id} and position = 0`;
    expect(await read({ after: '1' })).toMatchObject({ paths: ['/b0', '/b1', '/b2'], dropped: 10 });
    await w.server.db.sql`delete from edge_log_segments where environment_id = ${environment.id}`;
    expect(await read({ after: '1' })).toMatchObject({ paths: [], dropped: 5, position: '6' });
  });

  it('are a ring of 5,000 lines, or of a mebibyte', async () => {
    const held = async () => {
      const [row] = await w.server.db.sql<Array<{ lines: number; bytes: number }>>`
        select coalesce(sum(count), 0)::int as lines, coalesce(sum(octet_length(lines::text)), 0)::int as bytes from edge_log_segments where environment_id = ${environment.id}`;
      return row ?? { lines: 0, bytes: 0 };
    };
    const short = Array.from({ length: 200 }, () => ({ at: '2026-01-02T03:04:05Z', path: '/s' }));
    for (let seq = 1; seq <= 27; seq += 1) await told({ seq, lines: short });
    expect((await held()).lines).toBe(5_000);
    expect(await read({ after: '1', lines: 1 })).toMatchObject({ dropped: 399, position: '401' });
    expect((await read({ lines: 1_000 })).paths).toHaveLength(1_000);
    const long = linesOf(40, '/', { userAgent: 'x'.repeat(256), text: 'y'.repeat(900) });
    for (let seq = 28; seq <= 60; seq += 1) await told({ seq, lines: long });
    expect((await held()).bytes).toBeLessThan(1_300_000);
    expect((await read({ lines: 1_000 })).position).toBe(String(27 * 200 + 33 * 40));
  });

  it('move no cursor, and are refused where they are longer than the contract lets them be', async () => {
    await told({ seq: 1, lines: [lineOf('/\u001b[31m\u202ea\u0007')] });
    expect((await read()).paths).toEqual(['/\ufffd[31m\ufffda\ufffd']);
    for (const more of [
      { path: 'x'.repeat(1_025) },
      { status: 1_000 },
      { bytes: -1 },
      { status: 'x' },
      { at: undefined },
    ])
      expect((await tell({ seq: 2, lines: [lineOf('/', more)] })).status).toBe(400);
    expect((await tell({ seq: 2, lines: linesOf(201) })).status).toBe(400);
    expect((await tell({ seq: 2, minutes: [{ requests: 1 }] })).status).toBe(400);
    expect((await read()).position).toBe('1');
  });

  it('count requests by minute, of which the greatest count stands', async () => {
    const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    const at = (minutes: number) => new Date(now + minutes * MINUTE_MS).toISOString().replace('.000', '');
    await told({ seq: 1, minutes: [minuteOf(at(-1), 5), minuteOf(at(-90), 1)] });
    // Counters come also beside lines that came before.
    await told({ seq: 1, minutes: [minuteOf(at(-1), 7), minuteOf(at(0), 2)] });
    await told({ seq: 2, minutes: [minuteOf(at(-1), 6), minuteOf(at(30), 1), minuteOf(at(-30_000), 1)] });
    expect(await sdk.environments.nginxMinutes(environment.id)).toEqual({
      minutes: [minuteOf(at(-1), 7), minuteOf(at(0), 2)],
    });
    const day = await sdk.environments.nginxMinutes(environment.id, { minutes: 1_440 });
    expect(day.minutes.map(({ requests }) => requests)).toEqual([1, 7, 2]);
  });

  it('are not there where nothing tells of them, and say why', async () => {
    const why = async (of: Environment): Promise<string> => {
      const call = sdk.environments.nginxLogs(of.id, 'error');
      expect(await refused(call)).toBe('409 edge_unavailable');
      expect(await refused(sdk.environments.nginxMinutes(of.id))).toBe('409 edge_unavailable');
      return await call.then(String, String);
    };
    expect(await why(await fresh({ kind: 'none' }))).toContain('no deploy target');
    expect(await why(await fresh())).toContain('nothing is deployed there yet');
    await edge(undefined);
    expect(await why(environment)).toContain('svc-runner with --edge nginx');
    await edge('nginx');
    await w.server.db.sql`update host_apps set kind = 'dokku' where environment_id = ${environment.id}`;
    expect(await why(environment)).toContain('Dokku');
    expect(await refused(sdk.environments.nginxLogs('env_unknown', 'access'))).toBe('404 not_found');
  });

  it('are kept for a week, and counters for two', async () => {
    const { sql } = w.server.db;
    await told({ seq: 1, lines: [lineOf('/old')], minutes: [minuteOf(new Date().toISOString(), 1)] });
    await told({ seq: 2, lines: [lineOf('/new')] });
    await sql`update edge_log_segments set at = now() - interval '8 days' where environment_id = ${environment.id} and position = 0`;
    await sql`
      insert into edge_minutes select environment_id, minute - interval '15 days', team_id, requests, s2xx, s3xx, s4xx, s5xx, p50_ms, p95_ms, bytes from edge_minutes`;
    await purgeLogs(sql);
    expect((await read()).paths).toEqual(['/new']);
    const [left] =
      await sql`select count(*)::int as old from edge_minutes where minute < now() - interval '1 day'`;
    expect(left).toEqual({ old: 0 });
    await sql`delete from builds where environment_id = ${environment.id}`;
    await sdk.environments.delete(environment.id);
    const [gone] =
      await sql`select count(*)::int as logs from edge_logs where environment_id = ${environment.id}`;
    expect(gone).toEqual({ logs: 0 });
  });
});
