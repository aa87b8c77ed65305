/**
 * The scripts of ops/compose.yaml, run as the image runs them: a primary, two standbys that copy it, and
 * commits that one of them must have.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { has } from '../setup/needs.ts';
import { freePort } from '../setup/registry.ts';
import { waitFor } from '../setup/wait-for.ts';

const root = new URL('../..', import.meta.url).pathname;
/** PostgreSQL refuses to run as root. */
const ACCOUNT = 'postgres';
const isRoot = process.getuid?.() === 0;
const idOf = (flag: string): number => Number(execFileSync('id', [flag, ACCOUNT], { encoding: 'utf8' }));
const BIN = execFileSync('sh', ['-c', 'ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1'], {
  encoding: 'utf8',
}).trim();
const LIMIT_MS = 60_000;

describe.skipIf(!(await has('postgres')) || BIN === '')('ops/compose.yaml', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-ops-'));
  const running: ChildProcess[] = [];
  const ports: Record<string, number> = {};
  const printed: string[] = [];

  const environment = (name: string) => ({
    PATH: `${BIN}:${process.env['PATH']}`,
    PGDATA: join(folder, name),
    // The password is asked for, as in the image.
    POSTGRES_USER: 'svc',
    POSTGRES_DB: 'svc',
    REPLICATION_PASSWORD: "it's a secret",
    PGHOST: folder,
    PGUSER: 'svc',
    PGPORT: String(ports[name]),
  });
  const as = (command: readonly string[]): readonly string[] =>
    isRoot ? ['setpriv', `--reuid=${ACCOUNT}`, `--regid=${ACCOUNT}`, '--clear-groups', ...command] : command;
  const run = (name: string, ...command: string[]): void => {
    const [program, ...args] = as(command);
    execFileSync(program!, args, {
      env: environment(name),
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: LIMIT_MS,
    });
  };
  const start = (name: string, more: Readonly<Record<string, string>>, ...command: string[]): void => {
    const [program, ...args] = as(command);
    const child = spawn(program!, args, {
      env: { ...environment(name), ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => printed.push(String(data)));
    running.push(child);
  };
  const settings = (name: string): string[] =>
    [
      `port=${ports[name]}`,
      `unix_socket_directories=${folder}`,
      'listen_addresses=127.0.0.1',
      'fsync=off',
      'shared_buffers=16MB',
    ].flatMap((each) => ['-c', each]);
  const sqlOf = (name: string) =>
    postgres({
      host: folder,
      port: ports[name]!,
      user: 'svc',
      database: 'svc',
      max: 1,
      onnotice: () => undefined,
    });

  beforeAll(async () => {
    if (isRoot) {
      chmodSync(folder, 0o755);
      chownSync(folder, idOf('-u'), idOf('-g'));
    }
    for (const name of ['postgres', 'postgres-2', 'postgres-3']) {
      ports[name] = await freePort();
      mkdirSync(join(folder, name));
      if (isRoot) chownSync(join(folder, name), idOf('-u'), idOf('-g'));
    }
    // As the image makes its folder: a server for the scripts alone, then the real one.
    run('postgres', 'initdb', '-U', 'svc', '-A', 'trust', '--no-sync', '-D', join(folder, 'postgres'));
    const options = settings('postgres')
      .map((each) => `'${each}'`)
      .join(' ');
    run('postgres', 'pg_ctl', '-w', '-l', join(folder, 'init.log'), '-o', options, 'start');
    run('postgres', 'createdb', 'svc');
    run('postgres', 'sh', `${root}ops/postgres/primary.sh`);
    run('postgres', 'pg_ctl', '-m', 'fast', '-w', 'stop');
    start('postgres', {}, 'postgres', '-c', 'cluster_name=postgres', ...settings('postgres'));
    for (const name of ['postgres-2', 'postgres-3']) {
      const more = { PRIMARY_HOST: '127.0.0.1', PRIMARY_PORT: String(ports['postgres']), STANDBY_NAME: name };
      start(name, more, 'sh', `${root}ops/postgres/standby.sh`, ...settings(name));
    }
  }, LIMIT_MS);
  afterAll(() => {
    for (const child of running) child.kill('SIGQUIT');
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  it('names in synchronous_standby_names who its standbys are', () => {
    const compose = parse(readFileSync(`${root}ops/compose.yaml`, 'utf8'), { merge: true }) as {
      services: Record<string, { environment?: Record<string, string> }>;
    };
    const standbys = Object.values(compose.services).flatMap(
      ({ environment: own }) => own?.['STANDBY_NAME'] ?? [],
    );
    expect(standbys).toEqual(['postgres-2', 'postgres-3']);
    const script = readFileSync(`${root}ops/postgres/primary.sh`, 'utf8');
    for (const name of standbys) expect(script).toContain(`"${name}"`);
    expect(compose.services['server-1']?.environment?.['DATABASE_URL']).toContain(
      '@postgres:5432,postgres-2:5432,postgres-3:5432/svc',
    );
  });

  it(
    'has a primary whose commits a standby must have, and standbys that hold them',
    { timeout: 2 * LIMIT_MS },
    async () => {
      const primary = sqlOf('postgres');
      try {
        const states = await waitFor(
          () => printed.join('').slice(-2_000),
          async () =>
            await primary<Array<{ name: string; state: string }>>`
            select application_name as name, sync_state as state from pg_stat_replication where sync_state = 'quorum' order by 1`,
          { holds: (rows) => rows.length === 2, withinMs: LIMIT_MS / 2 },
        );
        expect(states.map(({ name, state }) => [name, state])).toEqual([
          ['postgres-2', 'quorum'],
          ['postgres-3', 'quorum'],
        ]);
        await primary`create table kept (id int)`;
        await primary`insert into kept values (1)`;
        // One standby may be away; without any a commit waits.
        running[1]!.kill('SIGQUIT');
        await primary`insert into kept values (2)`;
        const standby = sqlOf('postgres-3');
        const held = await waitFor(
          'the rows at the standby',
          async () => await standby<Array<{ id: number }>>`select id from kept order by id`,
          { holds: (rows) => rows.length === 2, withinMs: LIMIT_MS / 2 },
        );
        expect(held.map(({ id }) => id)).toEqual([1, 2]);
        await standby.end();
        const gone = once(running[2]!, 'exit');
        running[2]!.kill('SIGQUIT');
        await gone; // until then it may still say that it has a commit
        const other = sqlOf('postgres');
        primary`insert into kept values (3)`.catch(() => undefined); // it is cut at the end
        await waitFor(
          'a commit that waits for a standby',
          async () =>
            await other<Array<{ pid: number }>>`
            select pid from pg_stat_activity where wait_event = 'SyncRep' and query like 'insert into kept%'`,
          { holds: (rows) => rows.length === 1, withinMs: LIMIT_MS / 2 },
        );
        await other.end();
      } finally {
        running[0]!.kill('SIGQUIT'); // a commit that waits would hold the connection
        await primary.end({ timeout: 0 });
      }
    },
  );
});
