/**
 * As whom and where the embedded PostgreSQL runs. It refuses to run as root: then the account `postgres` is used, made if it is
 * not there, or else `nobody`. That account must be able to reach the folder; when it cannot (a data folder below /root, say),
 * cluster and programs live below /var/lib instead, in a folder that the data folder names.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Binaries } from './embedded-binaries.ts';

/** Both undefined: as the server itself. */
export interface Identity {
  readonly uid: number | undefined;
  readonly gid: number | undefined;
}

export function runAs(): Identity {
  if (process.getuid?.() !== 0) return { uid: undefined, gid: undefined };
  const found = lookUp('postgres') ?? (createAccount() ? lookUp('postgres') : undefined) ?? lookUp('nobody');
  if (found === undefined) {
    throw new Error(
      'PostgreSQL does not run as root, and there is no account "postgres" or "nobody": set DATABASE_URL, or start the server as another user',
    );
  }
  return found;
}

function lookUp(name: string): Identity | undefined {
  try {
    const id = (flag: string): number =>
      Number(
        execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim(),
      );
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined; // no such account
  }
}

function createAccount(): boolean {
  try {
    execFileSync(
      'useradd',
      ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres'],
      { stdio: 'ignore' },
    );
    return true;
  } catch {
    return false; // no useradd, or a read-only /etc
  }
}

export interface Home {
  /** Belongs to the identity. */
  readonly home: string;
  readonly programs: Binaries;
}

/** `copy`: node's cpSync; a parameter so that the caller decides how to write. */
export function clusterHome(
  dataDir: string,
  binaries: Binaries,
  identity: Identity,
  copy: (from: string, to: string, options: { recursive: true; verbatimSymlinks: true }) => void,
): Home {
  const { uid, gid } = identity;
  const inside = join(resolve(dataDir), 'postgres');
  if (uid === undefined || gid === undefined) {
    mkdirSync(inside, { recursive: true, mode: 0o700 });
    return { home: inside, programs: binaries };
  }
  const own = statSync(dataDir);
  // The data folder is ours: its files are 0600, and walking through it is all that this allows.
  if ((own.mode & 0o001) === 0) chmodSync(dataDir, (own.mode & 0o7777) | 0o001);
  const home = reachable(dirname(inside), uid) ? inside : outsideHome(dataDir);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  chownSync(home, uid, gid);
  if (reachable(join(binaries.root, 'bin'), uid)) return { home, programs: binaries };
  const root = join(home, 'programs');
  if (!existsSync(join(root, 'complete'))) {
    copy(binaries.root, root, { recursive: true, verbatimSymlinks: true });
    mkdirSync(join(root, 'complete'));
  }
  return {
    home,
    programs: { root, initdb: join(root, 'bin', 'initdb'), postgres: join(root, 'bin', 'postgres') },
  };
}

/** Named at random and written down in the data folder, so that a data folder made anew never meets an old cluster. */
function outsideHome(dataDir: string): string {
  const note = join(dataDir, 'postgres.home');
  if (!existsSync(note))
    writeFileSync(note, join('/var/lib', `svc-postgres-${randomBytes(6).toString('hex')}`), { mode: 0o600 });
  return readFileSync(note, 'utf8').trim();
}

/** Whether an account without special rights may walk into the folder. */
function reachable(path: string, uid: number): boolean {
  for (let at = path; ; at = dirname(at)) {
    const stat = statSync(at, { throwIfNoEntry: false });
    if (stat !== undefined && (stat.mode & 0o001) === 0 && !(stat.uid === uid && (stat.mode & 0o100) !== 0))
      return false;
    if (at === dirname(at)) return true;
  }
}
