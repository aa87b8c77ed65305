/**
 * As whom and from where the embedded PostgreSQL runs. It refuses to run as root: then the account `postgres`
 * is used, made if it is not there, or else `nobody`. That account may not be able to walk to the data folder
 * (below /root, say). So the cluster's folder is handed over as the working directory, which is entered
 * before the account is changed, and PostgreSQL is told that its data is at `/proc/self/cwd`. Programs cannot
 * be handed over like that: unreachable ones are copied to /var/lib once.
 */
import { execFileSync } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { binariesIn, type Binaries } from './embedded-binaries.ts';

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
  /** Holds the cluster's folder; belongs to the identity. */
  readonly home: string;
  readonly programs: Binaries;
}

export function clusterHome(dataDir: string, binaries: Binaries, { uid, gid }: Identity): Home {
  const home = join(resolve(dataDir), 'postgres');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  if (uid === undefined || gid === undefined) return { home, programs: binaries };
  chownSync(home, uid, gid);
  return { home, programs: reachable(join(binaries.root, 'bin'), uid) ? binaries : copied(binaries) };
}

/**
 * Makes one copy for all data folders of this version. It is made beside and then moved at once, so that
 * nobody meets half of it.
 */
function copied({ root, version }: Binaries): Binaries {
  const copy = join('/var/lib', `svc-postgres-programs-${version}`);
  if (!existsSync(copy)) {
    const beside = `${copy}.${process.pid}`;
    cpSync(root, beside, { recursive: true, verbatimSymlinks: true });
    try {
      renameSync(beside, copy);
    } catch (error) {
      rmSync(beside, { recursive: true, force: true });
      if (!existsSync(copy)) throw error; // else another server was faster
    }
  }
  return binariesIn(copy, version);
}

/**
 * This is the name by which PostgreSQL finds the folder that it is started in. Other systems than Linux have
 * no such name: there the path must be reachable.
 */
export function dataArgument(folder: string, { uid }: Identity): string {
  return uid !== undefined && process.platform === 'linux' ? '/proc/self/cwd' : folder;
}

/** Says whether an account without special rights may walk into the folder. */
function reachable(path: string, uid: number): boolean {
  for (let at = path; ; at = dirname(at)) {
    const stat = statSync(at, { throwIfNoEntry: false });
    if (stat !== undefined && (stat.mode & 0o001) === 0 && !(stat.uid === uid && (stat.mode & 0o100) !== 0))
      return false;
    if (at === dirname(at)) return true;
  }
}
