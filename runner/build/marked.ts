/**
 * Finds the processes of a build even when their parents are gone: a daemon that was killed leaves its
 * children behind. Each carries the build's name, which is unique on the machine: in its environment, or,
 * inside of an engine's build container, in a mount of a file of the build's folder.
 */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../platform/clock.ts';

/** The variable that every process of a build has on the host. */
export const MARK = 'SVC_BUILD';

const KILL_MS = 10_000;
const LOOK_AGAIN_MS = 100;

/** Kills until none is left; returns false when some are still there after ten seconds. */
export async function killMarked(name: string): Promise<boolean> {
  const deadline = monotonicMs() + KILL_MS;
  for (;;) {
    const pids = await markedProcesses(name);
    if (pids.length === 0) return true;
    if (monotonicMs() > deadline) return false;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended between the listing and the signal.
      }
    }
    await sleep(LOOK_AGAIN_MS);
  }
}

export async function markedProcesses(name: string): Promise<number[]> {
  const own = await mountNamespace('self');
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => pid !== process.pid && (await isMarked(pid, name, own))),
  );
  return pids.filter((_, at) => found[at]);
}

async function isMarked(pid: number, name: string, ownNamespace: string | undefined): Promise<boolean> {
  const [environment, status] = await Promise.all([text(`/proc/${pid}/environ`), text(`/proc/${pid}/stat`)]);
  // A zombie only waits for its parent.
  if (/\) [ZX] /.test(status)) return false;
  if (environment.split('\0').includes(`${MARK}=${name}`)) return true;
  // A mount in the host's own namespace would be in the table of every process of the machine.
  if ((await mountNamespace(pid)) === ownNamespace) return false;
  return mountsOf(await text(`/proc/${pid}/mountinfo`)).some(
    ({ root, point }) => root.split('/').includes(name) && !point.split('/').includes(name),
  );
}

/** Finds the mounts at or below a folder of the host, deepest first. */
export async function mountsBelow(folder: string): Promise<string[]> {
  return mountsOf(await text('/proc/self/mountinfo'))
    .map(({ point }) => point)
    .filter((point) => point === folder || point.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length);
}

function mountsOf(table: string): { root: string; point: string }[] {
  return table.split('\n').map((line) => {
    const [, , , root = '', point = ''] = line.split(' ');
    return { root, point };
  });
}

async function mountNamespace(pid: number | 'self'): Promise<string | undefined> {
  return await readlink(`/proc/${pid}/ns/mnt`).catch(() => undefined);
}

/** Returns an empty text for a process that has ended meanwhile or belongs to another user. */
async function text(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => '');
}
