/**
 * Limits by control groups, where this process may make them: version 2, version 1, or the hybrid of both.
 *
 * Every sandbox gets a group of its own below `svc-runner`, in the daemon's own group when that is possible
 * (then a limit on the daemon's service holds for its tasks too), otherwise at the top. In version 2 a group
 * that holds processes cannot have limited children, so a daemon that is alone in its group (a service with
 * Delegate=yes) moves into a leaf first.
 */
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxLimits } from './executor.ts';
import { listMounts, readText, type Mount } from './procfs.ts';

const GROUP = 'svc-runner';
const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;
export type Controller = (typeof CONTROLLERS)[number];
const CPU_PERIOD_US = 100_000;
/** The sandbox's own init counts besides the task. */
const PIDS_OVERHEAD = 1;
const REMOVE_TRIES = 600;
const REMOVE_WAIT_MS = 5;

export interface SandboxCgroup {
  add(pid: number): Promise<void>;
  /** Returns how many processes the kernel killed in it because the memory limit was reached. */
  oomKills(): Promise<number>;
  /** Retries while the kernel still counts dying processes. */
  remove(): Promise<void>;
}

export interface CgroupHost {
  readonly version: 'v1' | 'v2';
  readonly covers: ReadonlySet<Controller>;
  create(name: string, limits: SandboxLimits): Promise<SandboxCgroup>;
  /** Removes the leftovers of an earlier daemon under this name. */
  removeLeftover(name: string): Promise<void>;
}

export interface CgroupSources {
  mounts: readonly Mount[];
  /** Text of /proc/self/cgroup. */
  self: string;
  pid: number;
}

/** Returns undefined when no controller can be used. */
export async function detectCgroups(given: Partial<CgroupSources> = {}): Promise<CgroupHost | undefined> {
  const sources = {
    mounts: given.mounts ?? (await listMounts()),
    self: given.self ?? (await readText('/proc/self/cgroup')) ?? '',
    pid: given.pid ?? process.pid,
  };
  return (await detectUnified(sources)) ?? (await detectLegacy(sources));
}

async function detectUnified(sources: CgroupSources): Promise<CgroupHost | undefined> {
  const mount = sources.mounts.find((candidate) => candidate.type === 'cgroup2');
  const own = /^0::(.*)$/m.exec(sources.self)?.[1];
  if (mount === undefined || own === undefined) return undefined;
  const available = words(await readText(join(mount.point, 'cgroup.controllers')));
  if (!available.includes('memory')) return undefined;
  for (const parent of new Set([join(mount.point, relative(own, mount.root)), mount.point])) {
    const base = join(parent, GROUP);
    const covers = await openUnified(parent, base, sources.pid);
    if (covers.has('memory')) return host({ version: 'v2', covers, bases: [base], limit: limitUnified });
  }
  return undefined;
}

async function openUnified(parent: string, base: string, pid: number): Promise<Set<Controller>> {
  try {
    await stepDown(parent, pid);
    await enable(parent);
    await proveWritable(base);
    await enable(base);
    return new Set(await enabled(base));
  } catch {
    return new Set(); // This process may not use it: the next parent is tried, or there are no control groups, and describe() says so.
  }
}

async function stepDown(parent: string, pid: number): Promise<void> {
  const members = words(await readText(join(parent, 'cgroup.procs')));
  if (members.length !== 1 || members[0] !== String(pid)) return;
  const leaf = join(parent, 'svc-daemon');
  await mkdir(leaf, { recursive: true });
  await writeFile(join(leaf, 'cgroup.procs'), String(pid));
}

/**
 * Enables only controllers that the group itself has: a delegated tree often has memory and pids but no cpu.
 */
async function enable(group: string): Promise<void> {
  const available = words(await readText(join(group, 'cgroup.controllers')));
  const already = await enabled(group);
  const wanted = CONTROLLERS.filter((name) => available.includes(name) && !already.includes(name));
  for (const name of wanted) await writeFile(join(group, 'cgroup.subtree_control'), `+${name}`);
}

async function enabled(group: string): Promise<Controller[]> {
  const list = words(await readText(join(group, 'cgroup.subtree_control')));
  return CONTROLLERS.filter((name) => list.includes(name));
}

async function limitUnified(
  group: string,
  limits: SandboxLimits,
  covers: ReadonlySet<Controller>,
): Promise<void> {
  await writeFile(join(group, 'memory.max'), String(memoryBytes(limits)));
  await writeIfThere(join(group, 'memory.swap.max'), '0');
  if (covers.has('pids')) await writeFile(join(group, 'pids.max'), String(limits.pids + PIDS_OVERHEAD));
  if (covers.has('cpu')) await writeFile(join(group, 'cpu.max'), `${quotaUs(limits)} ${CPU_PERIOD_US}`);
}

async function detectLegacy(sources: CgroupSources): Promise<CgroupHost | undefined> {
  const bases = new Map<Controller, string>();
  for (const controller of CONTROLLERS) {
    const mount = sources.mounts.find(
      (candidate) => candidate.type === 'cgroup' && candidate.superOptions.includes(controller),
    );
    const own = new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`, 'm').exec(sources.self)?.[1];
    if (mount === undefined || own === undefined) continue;
    const base = join(mount.point, relative(own, mount.root), GROUP);
    try {
      await proveWritable(base);
      bases.set(controller, base);
    } catch {
      continue; // This controller is not writable and not covered, and describe() says so.
    }
  }
  if (bases.size === 0) return undefined;
  // Controllers mounted together share a folder.
  return host({
    version: 'v1',
    covers: new Set(bases.keys()),
    bases: [...new Set(bases.values())],
    limit: limitLegacy,
  });
}

async function limitLegacy(group: string, limits: SandboxLimits): Promise<void> {
  const memory = String(memoryBytes(limits));
  await writeIfThere(join(group, 'memory.limit_in_bytes'), memory);
  await writeIfThere(join(group, 'memory.memsw.limit_in_bytes'), memory);
  await writeIfThere(join(group, 'pids.max'), String(limits.pids + PIDS_OVERHEAD));
  await writeIfThere(join(group, 'cpu.cfs_period_us'), String(CPU_PERIOD_US));
  await writeIfThere(join(group, 'cpu.cfs_quota_us'), String(quotaUs(limits)));
}

/** The folder may be there already, made by a daemon of another user. */
async function proveWritable(base: string): Promise<void> {
  await mkdir(base, { recursive: true });
  const proof = join(base, `probe-${process.pid}`);
  await mkdir(proof);
  await rmdir(proof);
}

type Limit = (group: string, limits: SandboxLimits, covers: ReadonlySet<Controller>) => Promise<void>;

interface HostOptions extends Pick<CgroupHost, 'version' | 'covers'> {
  /** Folders that hold the groups of all sandboxes. */
  bases: readonly string[];
  limit: Limit;
}

function host({ version, covers, bases, limit }: HostOptions): CgroupHost {
  const groupsOf = (name: string) => bases.map((base) => join(base, name));
  const removeAll = async (name: string) => {
    for (const group of groupsOf(name)) await removeGroup(group);
  };
  return {
    version,
    covers,
    removeLeftover: removeAll,
    async create(name, limits) {
      const groups = groupsOf(name);
      try {
        for (const group of groups) {
          await mkdir(group);
          await limit(group, limits, covers);
        }
      } catch (error) {
        await removeAll(name);
        throw error;
      }
      return {
        async add(pid) {
          for (const group of groups) await writeFile(join(group, 'cgroup.procs'), String(pid));
        },
        async oomKills() {
          const counts = await Promise.all(groups.map(oomKillsOf));
          return counts.reduce((sum, count) => sum + count, 0);
        },
        remove: () => removeAll(name),
      };
    },
  };
}

export async function oomKillsOf(group: string): Promise<number> {
  const text =
    (await readText(join(group, 'memory.events'))) ??
    (await readText(join(group, 'memory.oom_control'))) ??
    '';
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
}

export async function removeGroup(group: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await rmdir(group);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOENT') return;
      if (code !== 'EBUSY' || attempt === REMOVE_TRIES) throw error;
      await sleep(REMOVE_WAIT_MS);
    }
  }
}

/**
 * Some kernels are built without swap accounting or CPU bandwidth: a missing file is a limit that cannot be
 * set.
 */
async function writeIfThere(path: string, value: string): Promise<void> {
  try {
    await readFile(path);
  } catch {
    return;
  }
  await writeFile(path, value);
}

function memoryBytes(limits: SandboxLimits): number {
  return limits.memoryMb * 1_048_576;
}

function quotaUs(limits: SandboxLimits): number {
  return Math.max(1000, Math.round(limits.cpus * CPU_PERIOD_US));
}

function words(text: string | undefined): string[] {
  return (text ?? '').split(/\s+/).filter((word) => word !== '');
}

/**
 * The result is the path relative to the mounted part of the tree: in a container the mount may show only a
 * part.
 */
function relative(own: string, mountRoot: string): string {
  if (mountRoot === '/' || mountRoot === '') return own;
  return own === mountRoot || own.startsWith(`${mountRoot}/`) ? own.slice(mountRoot.length) : '/';
}
