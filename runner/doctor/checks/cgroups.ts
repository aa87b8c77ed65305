/** Checks whether the kernel can limit memory, processors and processes. */
import { detectCgroups } from '../../executor/cgroup.ts';
import { listMounts } from '../../executor/procfs.ts';
import { type CheckGroup, type Finding, ok, skip, warn } from '../check.ts';

const WANTED = ['memory', 'cpu', 'pids'] as const;

export const cgroups: CheckGroup = async (_context, check) => await check('cgroups', look);

async function look(): Promise<Finding> {
  if (process.platform !== 'linux') return skip(`none on ${process.platform}`);
  const mounts = await listMounts();
  const kinds = new Set(mounts.filter(({ type }) => type.startsWith('cgroup')).map(({ type }) => type));
  const layout =
    kinds.size === 2 ? 'hybrid of version 1 and 2' : kinds.has('cgroup2') ? 'version 2' : 'version 1';
  if (kinds.size === 0)
    return warn(
      'no control groups are mounted',
      'memory is limited by looking at it and processors are not limited; mount cgroup2 at /sys/fs/cgroup',
    );
  const host = await detectCgroups({ mounts });
  const missing = WANTED.filter((controller) => host?.covers.has(controller) !== true);
  if (missing.length === 0) return ok(`${layout}, with ${WANTED.join(', ')} for this process's children`);
  return warn(
    `${layout}, without ${missing.join(', ')} for this process's children`,
    'sandboxes of the executor "namespaces" are limited by looking at them; start the daemon by systemd with Delegate=yes (svc-runner service print), or as root',
  );
}
