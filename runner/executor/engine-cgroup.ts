/**
 * Evidence that a container was killed because its memory limit was reached, for engines that put containers
 * into control groups themselves (podman with the cgroupfs manager, as root).
 *
 * The engine's own `OOMKilled` is written by its monitor when it is notified of the event; on control groups
 * version 1 that races with the end of the container and is often missed. A container's own group is gone by
 * the time its end is known, but a parent group of the runner is not: version 2 counts the kills of children
 * in it, version 1 keeps the highest usage of the whole tree.
 */
import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { oomKillsOf, removeGroup } from './cgroup.ts';
import { listMounts, readText, type Mount } from './procfs.ts';

const SIGKILL_EXIT_CODE = 137;
/** The kernel charges in batches, so the limit is never reached to the byte. */
const NEAR_BYTES = 1_048_576;

/** Each runner has a parent of its own, so that none takes another's running containers for leftovers. */
export async function createEngineCgroups(runnerId: string) {
  const parent = `svc-engine-${runnerId}`;
  const mounts = (await listMounts()).filter(
    (mount) => (mount.type === 'cgroup' || mount.type === 'cgroup2') && mount.root === '/',
  );
  const points = [...new Set(mounts.map((mount) => mount.point))];
  return {
    parentOf: (name: string) => `/${parent}/${name}`,
    killedForMemory: (name: string, exitCode: number, limitBytes: number) =>
      killed(mounts, { group: join(parent, name), exitCode, limitBytes }),
    async remove(name: string) {
      for (const point of points) await removeTree(join(point, parent, name));
    },
    /** Names whose parent group still exists. */
    async leftovers() {
      const lists = await Promise.all(points.map((point) => subgroups(join(point, parent))));
      return [...new Set(lists.flat())];
    },
    /** Removes the runner's own parent when nothing is in it; the engine makes it again. */
    async tidy() {
      await Promise.allSettled(points.map((point) => rmdir(join(point, parent)))); // It is in use or does not exist: both are fine.
    },
  };
}

export type EngineCgroups = Awaited<ReturnType<typeof createEngineCgroups>>;

async function killed(
  mounts: readonly Mount[],
  run: { group: string; exitCode: number; limitBytes: number },
): Promise<boolean> {
  if (run.exitCode === 0) return false;
  const unified = mounts.find((mount) => mount.type === 'cgroup2');
  if (unified !== undefined && (await oomKillsOf(join(unified.point, run.group))) > 0) return true;
  const legacy = mounts.find((mount) => mount.superOptions.includes('memory'));
  if (legacy === undefined || run.exitCode !== SIGKILL_EXIT_CODE) return false;
  const peak = await readText(join(legacy.point, run.group, 'memory.max_usage_in_bytes'));
  return peak !== undefined && Number(peak) >= run.limitBytes - NEAR_BYTES;
}

async function removeTree(group: string): Promise<void> {
  for (const child of await subgroups(group)) await removeTree(join(group, child));
  await removeGroup(group);
}

async function subgroups(group: string): Promise<string[]> {
  try {
    const entries = await readdir(group, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch {
    return []; // This hierarchy has no such group.
  }
}
