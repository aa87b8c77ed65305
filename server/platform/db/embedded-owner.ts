/** One server process for one data folder: a file names it by pid and start time, since pid numbers are used again. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

export function takeOwner(path: string): void {
  const me = nameOf(process.pid);
  for (let tries = 0; tries < 3; tries += 1) {
    try {
      writeFileSync(path, me ?? String(process.pid), { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const owner = read(path);
    const pid = Number(owner.split(' ')[0]);
    if (pid !== process.pid && isAlive(pid) && nameOf(pid) === owner) {
      throw new Error(
        `the data folder is used by process ${pid} (${path}): stop it, or set DATA_DIR or DATABASE_URL`,
      );
    }
    rmSync(path, { force: true }); // left behind by a process that was killed
  }
  throw new Error(`cannot take ${path}: another server starts at the same time`);
}

export function releaseOwner(path: string): void {
  if (Number(read(path).split(' ')[0]) === process.pid) rmSync(path, { force: true });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // gone in the meantime
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** `<pid> <start time>`; without /proc the pid alone. */
function nameOf(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // Field 22, counted after the command's name, which may hold spaces.
  const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return started === undefined || started === '' ? String(pid) : `${pid} ${started}`;
}
