/**
 * A PostgreSQL of our own, which may be killed, frozen and started again without anybody else noticing. A commit is acknowledged when it is written
 * (`synchronous_commit`), and not when the disk has it (`fsync`): these faults end processes, and the machine stays up. Where none can be started, the
 * machine's is used, and is left alone.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { DATABASE_URL } from '../setup/needs.ts';
import { freePorts } from './free-ports.ts';
import { manageProcess } from './managed-process.ts';
import type { ManagedProcess } from './managed-process.ts';

export interface Cluster {
  /** Of a database that is always there, for a superuser. */
  readonly adminUrl: string;
  /** Undefined for the machine's own: it may be neither killed nor frozen. */
  readonly process: ManagedProcess | undefined;
  /** To the postmaster and everything that it started; each of them is a group of its own. */
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL to the postmaster; what it started ends by itself. Resolves when it is dead and its shell has buried it. */
  kill(): Promise<void>;
  /** After a kill, as often as it takes: the last of the old children must have gone. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

const PROGRAMS = ['/usr/local/bin', '/usr/bin', '/usr/lib/postgresql/18/bin', '/usr/lib/postgresql/17/bin'];
const READY_MS = 60_000;
const CONNECTIONS = 200;
const STARTS_MAX = 50;
const STARTS_EVERY_MS = 100;
/** PostgreSQL refuses to run as root. */
const ACCOUNT = 'postgres';

/**
 * A shell that reads the leash: when that ends, or when the shell is killed with its group, the postmaster ends with it, and its children notice that at
 * once. The shell ends with the postmaster: after a kill it may not start before the last of the old children has gone, and is tried again.
 */
const LINE =
  'exec 3<&0; "$@" </dev/null 3<&- & main=$!; (read -r leash <&3; kill -KILL 0) & wait $main; kill -KILL 0';

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: String(CONNECTIONS),
  shared_buffers: '64MB',
  fsync: 'off',
  synchronous_commit: 'on',
  full_page_writes: 'off',
  log_min_messages: 'warning',
};

export async function startPostgres(folder: string): Promise<Cluster> {
  const programs = PROGRAMS.find((path) => existsSync(join(path, 'initdb')));
  const account = process.getuid?.() === 0 ? idsOf(ACCOUNT) : undefined;
  const asRoot = process.getuid?.() === 0;
  if (programs === undefined || (asRoot && account === undefined)) {
    console.warn(
      `no initdb at ${PROGRAMS.join(', ')}, or no account ${ACCOUNT}: using the machine's PostgreSQL, which is not killed`,
    );
    return machines();
  }
  const home = join(folder, 'postgres');
  const data = join(home, 'data');
  mkdirSync(home, { recursive: true });
  if (account !== undefined) {
    chmodSync(folder, 0o711); // That account walks through to its own folder.
    chownSync(home, account.uid, account.gid);
  }
  const become =
    account === undefined
      ? []
      : ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  try {
    const [program, ...args] = [
      ...become,
      join(programs, 'initdb'),
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '--no-sync',
      '-E',
      'UTF8',
      '--locale=C',
    ];
    execFileSync(program, args, {
      cwd: home,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '' },
    });
  } catch (error) {
    console.warn(
      `no PostgreSQL of our own: ${error instanceof Error ? error.message : String(error)}\nusing the machine's, which is not killed`,
    );
    return machines();
  }
  const [port] = await freePorts(1);
  const flags = Object.entries({ ...SETTINGS, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const node = manageProcess({
    name: 'postgres',
    command: 'sh',
    args: [
      '-c',
      LINE,
      'sh',
      ...become,
      join(programs, 'postgres'),
      '-D',
      data,
      ...flags,
      '-c',
      'logging_collector=off',
      '-c',
      'log_min_messages=log',
    ],
    env: { HOME: home },
    folder,
    readyPattern: /database system is ready to accept connections/,
    readyMs: READY_MS,
    leash: 'stdin',
  });
  await node.start();
  return {
    adminUrl: `postgres://postgres@127.0.0.1:${port}/postgres`,
    process: node,
    signal: (signal) => {
      for (const pid of familyOf(postmasterOf(data))) sendTo(pid, signal);
    },
    kill: async () => {
      sendTo(postmasterOf(data), 'SIGKILL');
      await node.exited();
    },
    start: async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await node.start();
        } catch (error) {
          await node.kill();
          if (tries >= STARTS_MAX) throw error;
          await pause(STARTS_EVERY_MS);
        }
      }
    },
    stop: async () => await node.kill(),
  };
}

/** A database of its own in the cluster. `drop` ends whoever is still connected. */
export async function createDatabase({
  adminUrl,
  process: own,
}: Cluster): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const name = `svc_test_${randomBytes(6).toString('hex')}`;
  const asAdmin = async (...statements: readonly string[]): Promise<void> => {
    const admin = postgres(adminUrl, { max: 1, onnotice: () => undefined });
    try {
      for (const statement of statements) await admin.unsafe(statement);
    } finally {
      await admin.end();
    }
  };
  await asAdmin(
    `create database ${name}`,
    // At the machine's nothing is killed, so nothing that was committed can be lost by this, and its disk is not what is tested.
    ...(own === undefined ? [`alter database ${name} set synchronous_commit = off`] : []),
  );
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: async () => await asAdmin(`drop database if exists ${name} with (force)`) };
}

function machines(): Cluster {
  const nothing = (): void => undefined;
  const later = async (): Promise<void> => await Promise.resolve();
  return {
    adminUrl: DATABASE_URL,
    process: undefined,
    signal: nothing,
    kill: later,
    start: later,
    stop: later,
  };
}

function idsOf(name: string): { readonly uid: number; readonly gid: number } | undefined {
  try {
    const id = (flag: string): number =>
      Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined; // No such account.
  }
}

function postmasterOf(data: string): number {
  try {
    return Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  } catch {
    return 0; // It is not running.
  }
}

function familyOf(pid: number): readonly number[] {
  if (pid <= 0) return [];
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .map(Number)
      .filter((child) => child > 0);
    return [pid, ...children];
  } catch {
    return []; // It has ended.
  }
}

function sendTo(pid: number, signal: NodeJS.Signals): void {
  if (!(pid > 0)) return;
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
