/** Reads the host's /proc. A process that ends meanwhile reads as absent. */
import { readFile, readdir } from 'node:fs/promises';

export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return undefined; // It is gone or hidden from this user: the caller treats both as absent.
  }
}

/** Finds the direct children of all threads of a process, oldest first. */
export async function childrenOf(pid: number): Promise<number[]> {
  let threads: string[];
  try {
    threads = await readdir(`/proc/${pid}/task`);
  } catch {
    return [];
  }
  const lists = await Promise.all(threads.map((thread) => readText(`/proc/${pid}/task/${thread}/children`)));
  if (lists.every((list) => list === undefined)) return await childrenByScan(pid);
  return lists.flatMap((list) =>
    (list ?? '')
      .trim()
      .split(' ')
      .filter((text) => text !== '')
      .map(Number),
  );
}

/** Needed for kernels without CONFIG_PROC_CHILDREN. */
async function childrenByScan(pid: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(pids.map(async (candidate) => (await statFields(candidate))?.[1]));
  return pids.filter((_, index) => parents[index] === String(pid));
}

/**
 * Finds the process and everything below it. Inside a pid namespace orphans go to its init, so init's tree is
 * the namespace.
 */
export async function treeOf(pid: number): Promise<number[]> {
  const found = [pid];
  for (const parent of found) found.push(...(await childrenOf(parent)));
  return found;
}

/** Clock ticks since boot: together with the pid and the boot id they identify a process for good. */
export async function startTimeOf(pid: number): Promise<string | undefined> {
  return (await statFields(pid))?.[19];
}

/**
 * Fields of /proc/pid/stat after the name, which may itself hold spaces and brackets; [0] is the state, [1]
 * the parent.
 */
async function statFields(pid: number): Promise<string[] | undefined> {
  const text = await readText(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

/**
 * Memory that is the process's own: anonymous and shared-memory pages. Mapped files are left out, because the
 * page cache gives them back under pressure; pages shared after a fork are counted in each process, so the
 * sum errs upwards.
 */
export async function ownMemoryBytes(pid: number): Promise<number> {
  const status = (await readText(`/proc/${pid}/status`)) ?? '';
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
  return (kib('RssAnon') + kib('RssShmem')) * 1024;
}

export async function bootId(): Promise<string> {
  return ((await readText('/proc/sys/kernel/random/boot_id')) ?? '').trim();
}

const O_CLOEXEC = 0o2_000_000;

/**
 * Descriptors that this process inherited and would pass on to every child. Node opens its own as
 * close-on-exec and marks inherited ones, but stops looking at the first gap after 15.
 */
export async function inheritedDescriptors(): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc/self/fd')) {
    const flags = /^flags:\s+([0-7]+)$/m.exec((await readText(`/proc/self/fdinfo/${name}`)) ?? '')?.[1];
    if (Number(name) > 2 && flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0)
      found.push(Number(name));
  }
  return found;
}

export interface Mount {
  /** Path inside the filesystem that is mounted here. */
  root: string;
  point: string;
  options: readonly string[];
  type: string;
  superOptions: readonly string[];
}

export async function listMounts(): Promise<Mount[]> {
  return parseMountinfo((await readText('/proc/self/mountinfo')) ?? '');
}

export function parseMountinfo(text: string): Mount[] {
  const unescape = (field: string) =>
    field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , , root = '', point = '', options = ''] = before.split(' ');
      const [type = '', , superOptions = ''] = after.split(' ');
      return {
        root: unescape(root),
        point: unescape(point),
        options: options.split(','),
        type,
        superOptions: superOptions.split(','),
      };
    });
}

/** Tells whether a map of users or groups has a range of ids. */
export function mapCovers(map: string, base: number, count: number): boolean {
  return map.split('\n').some((line) => {
    const [inside = NaN, , length = NaN] = line.trim().split(/\s+/).map(Number);
    return inside <= base && base + count <= inside + length;
  });
}
