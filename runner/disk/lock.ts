/**
 * A data folder has one daemon: a lock file names its holder. Node has no flock(2), so the holder proves that
 * it lives by its process id together with that process's start time (ids are reused), and, where ids cannot
 * be compared because the folder is shared between containers, by touching the file every few seconds.
 *
 * Should two processes still end up with one identity, the control plane's boot id lets only the newer one go
 * on.
 *
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { link, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { monotonicMs, pause } from '../platform/clock.ts';
import { removeIfThere } from './durable-file.ts';
import { errorCode, isMissing } from '../platform/errors.ts';

const TOUCH_MS = 10_000;
/** Several processes may try at once to take the lock of a dead one; each gives up after this time. */
const CONTEST_MS = 20_000;
const CONTEST_PAUSE_MS = 20;
const GUARD_MS_MAX = 10_000;
/** A holder in another process namespace that has not touched its file for so long is taken for dead. */
const SILENT_MS_MAX = 30_000;

export interface LockHolder {
  pid: number;
  /** The kernel's start time of the process, where it can be read. */
  startTime?: string;
  /** The machine and process namespace in which the pid is valid. */
  space: string;
  /** Tells two locks of the same process apart. */
  token: string;
}

/** A process, of whichever machine. */
export interface ProcessMark extends Pick<LockHolder, 'pid' | 'startTime' | 'space'> {
  /**
   * The kernel's id of this start of the machine: it tells the machine from one to which the data folder was
   * copied.
   */
  machineBoot: string;
  /** The engine that it used, and as whom: another one does not see its containers. */
  engine: string;
}

/** Undefined where the system does not tell processes apart well enough. */
export function ownMark(of: Pick<ProcessMark, 'machineBoot' | 'engine'>): ProcessMark | undefined {
  const { startTime } = startTimeOf(process.pid);
  return startTime === undefined ? undefined : { ...of, space: processSpace(), pid: process.pid, startTime };
}

/**
 * True if the process was one of this start of the machine, with the same engine, and is proven to be dead.
 * Of any other one nobody here can know.
 */
export function isDeadHere(mark: ProcessMark | undefined, own: ProcessMark | undefined): boolean {
  if (mark?.startTime === undefined || own === undefined) return false;
  if (mark.machineBoot !== own.machineBoot || mark.space !== own.space || mark.engine !== own.engine)
    return false;
  return !processExists(mark.pid) || startTimeOf(mark.pid).startTime !== mark.startTime;
}

export interface Lock {
  release(): Promise<void>;
}

export class LockedError extends Error {
  override readonly name = 'LockedError';
}

/** `token` is random and safe in a file name: the boot id. */
export async function acquireLock(dataDir: string, token: string): Promise<Lock> {
  const path = join(dataDir, 'lock');
  const own: LockHolder = { pid: process.pid, ...startTimeOf(process.pid), space: processSpace(), token };
  const temporary = `${path}.${token}.tmp`;
  await writeFile(temporary, JSON.stringify(own), { mode: 0o600 });
  try {
    for (
      const deadline = monotonicMs() + CONTEST_MS;
      monotonicMs() < deadline;
      await pause(CONTEST_PAUSE_MS)
    ) {
      if (await tryLink(temporary, path)) return holdLock(path, own);
      await requireDead(path);
      await removeStale(temporary, path);
      if (await tryLink(temporary, path)) return holdLock(path, own);
    }
  } finally {
    await removeIfThere(temporary);
  }
  throw new LockedError(`${path} changes hands all the time, is something starting daemons in a loop`);
}

/** Returns the holder of a data folder's lock, if it lives. */
export async function lockHolder(dataDir: string): Promise<LockHolder | undefined> {
  const path = join(dataDir, 'lock');
  const holder = await readHolder(path);
  return holder !== undefined && (await isAlive(path, holder)) ? holder : undefined;
}

async function tryLink(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

async function requireDead(path: string): Promise<void> {
  const holder = await readHolder(path);
  if (holder === undefined || !(await isAlive(path, holder))) return;
  throw new LockedError(
    `another daemon (pid ${holder.pid}) uses this data folder; stop it, or give this one its own --data-dir and enroll it`,
  );
}

/**
 * A dead holder's file is deleted. Only the owner of the guard file may, and it checks once more under the
 * guard: otherwise a slow contender could delete the fresh lock of a fast one. Without the guard this does
 * nothing, and the caller tries again.
 */
async function removeStale(temporary: string, path: string): Promise<void> {
  const guard = `${path}.guard`;
  if (!(await tryLink(temporary, guard))) {
    const guarded = await stat(guard).catch(() => undefined);
    // The guard is held for milliseconds only, so its owner has died.
    if (guarded !== undefined && Date.now() - guarded.ctimeMs > GUARD_MS_MAX) await removeIfThere(guard);
    return;
  }
  try {
    await requireDead(path);
    await removeIfThere(path);
  } finally {
    await removeIfThere(guard);
  }
}

function holdLock(path: string, own: LockHolder): Lock {
  const touch = setInterval(() => {
    const now = new Date();
    // A lock file that somebody deleted is not a reason to stop: the boot id protects against a second
    // process.
    void utimes(path, now, now).catch(() => undefined);
  }, TOUCH_MS);
  touch.unref();
  return {
    async release() {
      clearInterval(touch);
      if ((await readHolder(path))?.token === own.token) await removeIfThere(path);
    },
  };
}

async function readHolder(path: string): Promise<LockHolder | undefined> {
  try {
    const holder = JSON.parse(await readFile(path, 'utf8')) as LockHolder;
    return typeof holder.pid === 'number' ? holder : undefined;
  } catch (error) {
    // Lock files are created by link, whole, so an unreadable file was made by something else: nobody holds
    // it.
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function isAlive(path: string, holder: LockHolder): Promise<boolean> {
  if (holder.space !== processSpace()) {
    const touched = await stat(path).catch(() => undefined);
    return touched !== undefined && Date.now() - touched.mtimeMs < SILENT_MS_MAX;
  }
  if (!processExists(holder.pid)) return false;
  return startTimeOf(holder.pid).startTime === holder.startTime;
}

export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that it lives and belongs to another user.
    return errorCode(error) === 'EPERM';
  }
}

/**
 * Reads /proc/<pid>/stat: field 22 is the start in clock ticks since the machine started; field 3 tells a
 * process that has ended and only waits for its parent. The name before them may hold spaces and brackets.
 */
function startTimeOf(pid: number): { startTime?: string } {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, startTime] = [fields[0], fields[19]];
    return startTime === undefined || state === 'Z' || state === 'X' ? {} : { startTime };
  } catch {
    // There is no /proc on this system, or no such process: the pid alone has to do.
    return {};
  }
}

function processSpace(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    // This system has no namespaces.
    return hostname();
  }
}
