/**
 * PostgreSQL servers of our own, which may be killed, frozen and started again without anybody else noticing.
 * A commit is acknowledged when it is written (`synchronous_commit`), and not when the disk has it (`fsync`):
 * these faults end processes, and the machine stays up.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { manageProcess } from './managed-process.ts';

/** The programs of this machine, and the account that they run under. */
export type Installation = NonNullable<ReturnType<typeof findInstallation>>;

export type Node = ReturnType<typeof createNode>;

const PROGRAMS = [
  '/usr/local/bin',
  '/usr/bin',
  ...[18, 17, 16, 15].map((version) => `/usr/lib/postgresql/${version}/bin`),
];
const READY_MS = 60_000;
const CONNECTIONS = 200;
const STARTS_MAX = 50;
const STARTS_EVERY_MS = 100;
/** PostgreSQL refuses to run as root. */
const ACCOUNT = 'postgres';

/**
 * A shell that reads the leash: when that ends, or when the shell is killed with its group, the program ends
 * with it, and its children notice that at once. The shell ends with the program: after a kill it may not
 * start before the last of the old children has gone, and is tried again.
 */
export const LINE =
  'exec 3<&0; "$@" </dev/null 3<&- & main=$!; (read -r leash <&3; kill -KILL 0) & wait $main; kill -KILL 0';

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: String(CONNECTIONS),
  shared_buffers: '64MB',
  fsync: 'off',
  synchronous_commit: 'on',
  full_page_writes: 'off',
  // A standby that comes back takes what it missed from here.
  wal_keep_size: '256MB',
  // Without it a commit that began to wait after the standby's last word waits for 30 s.
  wal_receiver_status_interval: '1s',
  wal_retrieve_retry_interval: '100ms',
  logging_collector: 'off',
  log_min_messages: 'log',
};

/** Returns undefined where there is none, or nobody whom it would run for. */
export function findInstallation() {
  // A folder with `initdb` alone is a link to another one.
  const programs = PROGRAMS.find((path) =>
    ['initdb', 'pg_basebackup'].every((name) => existsSync(join(path, name))),
  );
  const asRoot = process.getuid?.() === 0;
  const account = asRoot ? idsOf(ACCOUNT) : undefined;
  if (programs === undefined || (asRoot && account === undefined)) {
    console.warn(`no initdb at ${PROGRAMS.join(', ')}, or no account ${ACCOUNT}`);
    return undefined;
  }
  const become =
    account === undefined
      ? []
      : ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  /** Returns the command line that runs a program. */
  const line = (program: string, args: readonly string[]): readonly string[] => [
    ...become,
    join(programs, program),
    ...args,
  ];
  return {
    line,
    /** Throws what the program printed. */
    run: (program: string, args: readonly string[]): void => {
      const [command = '', ...rest] = line(program, args);
      const env = { PATH: process.env['PATH'] ?? '' };
      execFileSync(command, rest, { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'], env });
    },
    /** Makes a folder that they may write to. */
    folder: (path: string): void => {
      mkdirSync(path, { recursive: true });
      if (account === undefined) return;
      chmodSync(join(path, '..'), 0o711); // That account walks through to its own folder.
      chownSync(path, account.uid, account.gid);
    },
  };
}

/** Makes a cluster with nothing in it. Throws with what initdb says. */
export function initialise(installation: Installation, data: string): void {
  const how = ['-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'];
  installation.run('initdb', ['-D', data, ...how]);
}

/** Its files need not be there yet. */
export function createNode(
  installation: Installation,
  { name, folder, data, port }: Record<'name' | 'folder' | 'data', string> & { readonly port: number },
) {
  const flags = Object.entries({ ...SETTINGS, port: String(port) }).flatMap(([key, value]) => [
    '-c',
    `${key}=${value}`,
  ]);
  const own = manageProcess({
    name,
    command: 'sh',
    args: ['-c', LINE, 'sh', ...installation.line('postgres', ['-D', data, ...flags])],
    env: { HOME: data },
    folder,
    readyPattern: /database system is ready to accept (?:read-only )?connections/,
    readyMs: READY_MS,
    leash: 'stdin',
  });
  return {
    name,
    port,
    /** It is the folder of its files. */
    data,
    process: own,
    /** Sends it to the postmaster and everything that it started. Each of them is a group of its own. */
    signal: (signal: NodeJS.Signals): void => {
      for (const pid of familyOf(postmasterOf(data))) sendTo(pid, signal);
    },
    /**
     * SIGKILL goes to the postmaster; what it started ends by itself. Resolves when it is dead and its shell
     * has buried it.
     */
    kill: async (): Promise<void> => {
      sendTo(postmasterOf(data), 'SIGKILL');
      await own.exited();
    },
    /** Connections end, what was written is sent to the standby. Resolves when it has ended. */
    shutDown: async (): Promise<void> => {
      sendTo(postmasterOf(data), 'SIGINT');
      await own.exited();
    },
    /** Starts also after a kill, as often as it takes: the last of the old children must have gone. */
    start: async (): Promise<void> => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await own.start();
        } catch (error) {
          await own.kill();
          if (tries >= STARTS_MAX) throw error;
          await pause(STARTS_EVERY_MS);
        }
      }
    },
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
