/**
 * The embedded PostgreSQL for real: a new data folder, a second start, a kill -9, a second server. About ten
 * seconds.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startAllInOne } from '../../../test/setup/server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { useFolder } from '../../../test/setup/use-folder.ts';
import { startEmbeddedPostgres } from './embedded.ts';
import { takeOwner } from './embedded-owner.ts';

/**
 * Closed to every other account, as below /root: the database's own account cannot walk to the data folder.
 */
const parent = useFolder();
const folder = join(parent, '.svc');
const data = join(folder, 'postgres', 'data');

async function query<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

function postmasterPid(): number {
  return Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

async function gone(pid: number): Promise<void> {
  for (const endMs = performance.now() + 10_000; performance.now() < endMs;) {
    // A child of ours stays as a zombie until it is reaped: its command line is empty then.
    if (!existsSync(`/proc/${pid}`) || readFileSync(`/proc/${pid}/cmdline`, 'utf8') === '') return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`process ${pid} is still there`);
}

const PROGRAM = `
const { startEmbeddedPostgres } = await import(process.argv[1]);
console.log((await startEmbeddedPostgres(process.argv[2])).url);
setInterval(() => undefined, 60_000);
`;

/**
 * A server of its own that was killed right after its start, with nobody left who watches over its cluster.
 * Returns the address of the cluster, which still runs.
 */
async function startedByOneThatWasKilled(): Promise<string> {
  const module = join(import.meta.dirname, 'embedded.ts');
  const flags = ['--import', 'tsx', '--conditions=source', '--input-type=module', '-e', PROGRAM];
  const server = spawn(process.execPath, [...flags, module, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(server, 'exit');
  try {
    const said: unknown[] = await Promise.race([once(server.stdout, 'data'), ended]);
    expect(String(said[0])).toMatch(/^postgres:/);
    return String(said[0]).trim();
  } finally {
    server.kill('SIGKILL');
    await ended;
  }
}

describe('startEmbeddedPostgres()', () => {
  it('makes a cluster, keeps its data over a stop, and stops cleanly', async () => {
    const first = await startEmbeddedPostgres(folder);
    await query(first.url, async (sql) => await sql`create table kept (n int)`);
    await query(first.url, async (sql) => await sql`insert into kept values (1)`);
    const pid = postmasterPid();
    await first.stop();
    await gone(pid);
    expect(existsSync(join(data, 'postmaster.pid'))).toBe(false);

    const second = await startEmbeddedPostgres(folder);
    expect(await query(second.url, async (sql) => await sql`select n from kept`)).toMatchObject([{ n: 1 }]);
    await second.stop();
  });

  it('keeps its password for itself and lets nobody in without it', async () => {
    expect(statSync(join(folder, 'postgres.password')).mode & 0o077).toBe(0);
    const running = await startEmbeddedPostgres(folder);
    const url = new URL(running.url);
    url.password = 'wrong';
    await expect(query(url.href, async (sql) => await sql`select 1`)).rejects.toThrow(
      'password authentication failed',
    );
    await running.stop();
  });

  it('recovers acknowledged rows after kill -9 of both and a stale pid file', async () => {
    const url = await startedByOneThatWasKilled();
    await query(url, async (sql) => await sql`insert into kept values (2)`);
    const pid = postmasterPid();
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    // This is as after a reboot: the number belongs to somebody else now.
    const stale = join(data, 'postmaster.pid');
    writeFileSync(stale, readFileSync(stale, 'utf8').replace(/^\d+/, '1'));

    const second = await startEmbeddedPostgres(folder);
    expect(
      await query(second.url, async (sql) => await sql`select count(*)::int as n from kept`),
    ).toMatchObject([{ n: 2 }]);
    await second.stop();
  });

  it('takes over a cluster whose server was killed', async () => {
    const url = await startedByOneThatWasKilled();
    const pid = postmasterPid();
    const second = await startEmbeddedPostgres(folder);
    expect(second.url).toBe(url);
    expect(postmasterPid()).toBe(pid);
    await second.stop();
    await gone(pid);
  });
});

describe('an embedded PostgreSQL that ends by itself', () => {
  const killed = useFolder();

  it('comes back where it was, with what it acknowledged, as often as it is killed', async () => {
    const words: string[] = [];
    const running = await startEmbeddedPostgres(killed, (word) => void words.push(word));
    const pidFile = join(killed, 'postgres', 'data', 'postmaster.pid');
    await query(running.url, async (sql) => await sql`create table kept (n int)`);
    for (const n of [1, 2]) {
      await query(running.url, async (sql) => await sql`insert into kept values (${n})`);
      const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
      process.kill(pid, 'SIGKILL');
      await gone(pid);
      await waitFor('its return', () => words.filter((word) => word.endsWith('is back')).length === n);
      expect(await query(running.url, async (sql) => await sql`select n from kept`)).toHaveLength(n);
    }
    await running.stop();
    expect(existsSync(pidFile)).toBe(false);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'of a server whose disk was full is back when there is room, and /readyz says when',
    async () => {
      const disk = mkdtempSync(join(tmpdir(), 'svc-disk-'));
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=140m,mode=711', 'tmpfs', disk]);
      const server = await startAllInOne({ DATA_DIR: join(disk, '.svc') });
      const asked = async (path: string) => (await fetch(`${server.baseUrl}${path}`)).status;
      const ballast = join(disk, 'ballast');
      try {
        // What is logged needs a new segment, for which there is no room: the cluster ends, and so does its
        // recovery.
        await waitFor('the end of the database', async () => {
          fill(ballast);
          const write = server.db
            .sql`select pg_logical_emit_message(false, 'ballast', repeat(md5(random()::text), 100000))`;
          return await write.then(
            () => false,
            async () => (await asked('/readyz')) === 503,
          );
        });
        expect(await asked('/healthz')).toBe(200);
        rmSync(ballast);
        await waitFor('its return', async () => (await asked('/readyz')) === 200, { withinMs: 60_000 });
        expect(await server.db.sql`select from settings`).not.toHaveLength(0);
      } finally {
        rmSync(ballast, { force: true });
        await server.stop();
        execFileSync('umount', ['--lazy', disk]);
        rmSync(disk, { recursive: true, force: true });
      }
    },
  );
});

/** This fills it until nothing more fits. */
function fill(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (let size = 1 << 20; size >= 512;) {
      try {
        writeSync(file, Buffer.alloc(size, 1));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        size /= 2;
      }
    }
  } finally {
    closeSync(file);
  }
}

describe('takeOwner()', () => {
  it('refuses a folder that a living server uses and takes one that a dead one left', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-owner-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'owner');
    const parent = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    const started = parent.slice(parent.lastIndexOf(')') + 2).split(' ')[19];
    writeFileSync(path, `${process.ppid} ${started}`);
    expect(() => takeOwner(path)).toThrow(`used by process ${process.ppid}`);
    writeFileSync(path, `${process.ppid} 1`); // the same number, another process
    takeOwner(path);
    expect(readFileSync(path, 'utf8')).toContain(String(process.pid));
  });
});
