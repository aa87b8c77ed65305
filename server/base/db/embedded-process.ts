/** Processes that others left behind: whether they live, and whether they are who they were. */
import { readFileSync } from 'node:fs';

interface Stat {
  /** `Z`: dead and not reaped, which a container's first process may never do. */
  readonly state: string;
  /** In ticks since the machine started: with it a number that was used again is told apart. */
  readonly startedAt: string;
}

function stat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Counted after the command's name, which may hold spaces: state is field 3, start time field 22.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startedAt: fields[19] ?? '' };
  } catch {
    return undefined; // no such process, or no /proc here
  }
}

export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const state = stat(pid)?.state;
  return state !== 'Z' && state !== 'X';
}

/** Returns `<pid> <start time>`, or the pid alone where there is no /proc. */
export function nameOf(pid: number): string {
  const startedAt = stat(pid)?.startedAt;
  return startedAt === undefined ? String(pid) : `${pid} ${startedAt}`;
}

/** False only when it is known to be another program. */
export function isPostgres(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('postgres');
  } catch {
    return true; // no /proc here
  }
}
