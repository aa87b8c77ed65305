/**
 * Only one server process uses a data folder: a file names it by pid and start time, since pids are used
 * again.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isAlive, nameOf } from './embedded-process.ts';

export function takeOwner(path: string): void {
  const me = nameOf(process.pid);
  for (let tries = 0; tries < 3; tries += 1) {
    try {
      writeFileSync(path, me, { flag: 'wx', mode: 0o600 });
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
