/** This file tests the server as a whole: first start, several at once, stop, limits, pages. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../test/setup/database.ts';
import { has } from '../test/setup/needs.ts';
import { newKey } from '../test/setup/people.ts';
import { FIGURES, request, startAllInOne } from '../test/setup/server.ts';
import { useServer, withServer } from '../test/setup/use-server.ts';
import type { Bootstrap } from './bootstrap.ts';

const postgresHere = await has('postgres');
const root = new URL('..', import.meta.url).pathname;

describe.skipIf(!postgresHere)('the server', () => {
  const { server, call, statusOf } = useServer({
    env: { LIMIT_REQUESTS_PER_MINUTE: '40', LIMIT_LOGINS_PER_MINUTE: '5' },
  });

  it('makes both regions, the pool, a staff account, a team and keys at its first start', async () => {
    const path = joinPath(server.dataDir, 'bootstrap.json');
    const file = JSON.parse(readFileSync(path, 'utf8')) as Bootstrap;
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(file).toEqual(server.first);
    expect(file.baseUrl).toBe(server.baseUrl);
    const { body } = await call(file.apiKey, 'GET /regions');
    expect((body['regions'] as Array<{ operator: string }>).map((region) => region.operator).sort()).toEqual([
      'customer',
      'service',
    ]);
    const me = await server.call('POST /auth/login', {
      body: { email: file.staffEmail, password: file.staffPassword },
    });
    expect(me.status).toBe(200);
    expect((await call(file.staffApiKey, 'GET /account')).body).toMatchObject({ staff: true });
  });

  it('answers health, readiness and figures', async () => {
    const text = async (path: string): Promise<readonly [number, string]> => {
      const response = await fetch(`${server.baseUrl}${path}`, { headers: FIGURES });
      return [response.status, await response.text()];
    };
    expect(await text('/healthz')).toEqual([200, 'ok\n']);
    expect(await text('/readyz')).toEqual([200, 'ready\n']);
    const [status, figures] = await text('/metrics');
    expect(status).toBe(200);
    expect(figures).toContain('svc_queue_up 1');
    expect(figures).toContain('svc_rpc_duration_seconds_count');
  });

  it('shows figures to who has the token, wherever from, and to nobody else', async () => {
    const status = async (base: string, headers: Record<string, string> = {}): Promise<number> =>
      (await fetch(`${base}/metrics`, { headers })).status;
    for (const headers of [
      {},
      { authorization: 'Bearer x' },
      { authorization: `Bearer ${server.first.staffApiKey}` },
    ])
      expect(await status(server.baseUrl, headers)).toBe(404);
    expect(await status(server.baseUrl, FIGURES)).toBe(200);
    // Without one of the operator's, what lies in the data folder.
    const { databaseUrl, dataDir } = server;
    await withServer({ databaseUrl, dataDir, env: { METRICS_TOKEN: '' } }, async (other) => {
      const path = joinPath(dataDir, 'metrics.token');
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const token = readFileSync(path, 'utf8').trim();
      expect(token).toMatch(/^[\w-]{43}$/);
      expect(await status(other.baseUrl)).toBe(404);
      expect(await status(other.baseUrl, FIGURES)).toBe(404);
      expect(await status(other.baseUrl, { authorization: `Bearer ${token}` })).toBe(200);
    });
  });

  it('says what is left of the rate, and refuses with a time to wait when nothing is', async () => {
    const { secret } = await newKey(server, server.first.apiKey, { name: 'busy' });
    const first = await call(secret, 'GET /regions');
    expect(first.headers.get('ratelimit-policy')).toBe('"default";q=40;w=60');
    expect(first.headers.get('ratelimit')).toMatch(/^"default";r=39;t=\d+$/);
    let last = first;
    for (let n = 0; n < 45 && last.status === 200; n += 1) last = await call(secret, 'GET /regions');
    expect([last.status, last.code]).toEqual([429, 'rate_limited']);
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await statusOf(server.first.staffApiKey, 'GET /regions')).toBe(200);
  });

  it('refuses sign-ins beyond the rate of an address before it hashes anything', async () => {
    const login = async () =>
      await server.call('POST /auth/login', { body: { email: 'a@b.c', password: 'x' } });
    const answers = await Promise.all(Array.from({ length: 12 }, login));
    expect(answers.filter((answer) => answer.status === 429).length).toBeGreaterThanOrEqual(7);
  });

  it('is set up once when three start on an empty database at the same time', async () => {
    const database = await createEmptyDatabase();
    const dataDir = mkdtempSync(joinPath(tmpdir(), 'svc-race-'));
    const start = async () => await startAllInOne({ DATA_DIR: dataDir, DATABASE_URL: database.url });
    const servers = await Promise.all([start(), start(), start()]);
    try {
      expect(servers.filter((each) => each.firstStart !== undefined)).toHaveLength(1);
      const [{ db }] = servers;
      const [row] = await db.sql<Array<{ users: number; regions: number; teams: number }>>`
        select (select count(*)::int from users) as users, (select count(*)::int from regions) as regions,
          (select count(*)::int from teams) as teams`;
      expect(row).toEqual({ users: 1, regions: 2, teams: 2 });
      const key = servers.find((each) => each.firstStart !== undefined)?.firstStart?.apiKey;
      for (const each of servers)
        expect((await request(each.baseUrl, 'GET /account', { as: key })).status).toBe(200);
    } finally {
      await Promise.all(servers.map(async (each) => await each.stop()));
      rmSync(dataDir, { recursive: true, force: true });
      await database.drop();
    }
  });

  it('refuses a database that was set up with another key', async () => {
    const dataDir = mkdtempSync(joinPath(tmpdir(), 'svc-other-'));
    await expect(startAllInOne({ DATA_DIR: dataDir, DATABASE_URL: server.databaseUrl })).rejects.toThrow(
      'set SECRETS_KEY to the key of the installation',
    );
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('hides the routes of runners when RUNNERS_ENABLED is off, like routes that do not exist', async () => {
    await withServer({ env: { RUNNERS_ENABLED: 'false' } }, async (off) => {
      const hidden = await off.call(`GET /teams/${off.first.teamId}/runners`);
      const unknown = await off.call(`GET /teams/${off.first.teamId}/rubbish`);
      expect([hidden.status, hidden.code]).toEqual([404, 'not_found']);
      const plain = (text: string): string =>
        text.replace(/req_[0-9a-z]+/, 'req').replace(/runners|rubbish/, 'x');
      expect(plain(hidden.text)).toBe(plain(unknown.text));
      expect((await off.call('POST /runners/enroll', { body: {} })).code).toBe('not_found');
    });
  });
});

describe('npm start', () => {
  const folder = mkdtempSync(joinPath(tmpdir(), 'svc-start-'));
  const running: ChildProcess[] = [];
  afterAll(() => {
    for (const child of running) if (child.exitCode === null) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  function start(env: Record<string, string>): {
    child: ChildProcess;
    until(text: RegExp): Promise<string>;
    ended: Promise<number | null>;
  } {
    const child = spawn(process.execPath, ['server/dist/main.js'], {
      cwd: root,
      env: { PATH: process.env['PATH'] ?? '', PORT: '0', DATA_DIR: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.push(child);
    let output = '';
    const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
    const until = async (text: RegExp): Promise<string> =>
      await new Promise((resolve, reject) => {
        const look = (): void => {
          if (text.test(output)) resolve(output);
        };
        const take = (chunk: Buffer): void => {
          output += chunk.toString();
          look();
        };
        child.stdout?.on('data', take);
        child.stderr?.on('data', take);
        void ended.then(() => reject(new Error(`ended before ${String(text)}: ${output}`)));
        look();
      });
    return { child, until, ended };
  }

  it('runs on nothing but an empty folder, on this machine alone, tells its secrets to no pipe, and stops cleanly', async () => {
    const first = start({});
    const text = await first.until(/contract/);
    const bootstrap = JSON.parse(readFileSync(joinPath(folder, 'bootstrap.json'), 'utf8')) as Bootstrap;
    for (const secret of [bootstrap.apiKey, bootstrap.staffApiKey, bootstrap.staffPassword])
      expect(text).not.toContain(secret);
    expect(text).toContain(`${folder}/bootstrap.json, which only its owner can read`);
    const { port } = new URL(bootstrap.baseUrl);
    expect(text).toContain(`bound to  127.0.0.1:${port}, this machine alone`);
    await expect(fetch(`http://127.0.0.2:${port}/healthz`)).rejects.toThrow();
    expect((await request(bootstrap.baseUrl, 'GET /account', { as: bootstrap.apiKey })).status).toBe(200);
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe(0);

    const second = start({ HOST: '0.0.0.0' });
    const again = await second.until(/contract/);
    expect(again).toMatch(/bound to  0\.0\.0\.0:\d+, every address of this machine/);
    expect(again).not.toContain('cpk_live_');
    const moved = JSON.parse(readFileSync(joinPath(folder, 'bootstrap.json'), 'utf8')) as Bootstrap;
    expect((await request(moved.baseUrl, 'GET /account', { as: bootstrap.apiKey })).status).toBe(200);
    expect((await fetch(`http://127.0.0.2:${new URL(moved.baseUrl).port}/healthz`)).status).toBe(200);
    const rival = start({});
    expect(await rival.ended).toBe(1);
    second.child.kill('SIGTERM');
    expect(await second.ended).toBe(0);
  }, 120_000); // three starts, on a machine that may be busy

  it('explains a wrong setting and ends with 2', async () => {
    const wrong = start({ PORT: 'eighty' });
    await wrong.until(/PORT is "eighty", expected a whole number from 0 to 65535/);
    expect(await wrong.ended).toBe(2);
  });
});
