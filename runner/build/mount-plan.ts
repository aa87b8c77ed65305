/** Storage of an app as the control plane says it, checked: a hostile server must not reach further by it. */
import { containerPathProblem, hostPathProblem, isWithin } from '@svc/proto/hosting/mount-paths.ts';
import type { WireHostMount } from '../control-plane/wire.ts';

const ID = /^[A-Za-z0-9_-]{1,40}$/;

export interface Mount {
  readonly id: string;
  readonly kind: 'volume' | 'path';
  readonly hostPath: string;
  readonly containerPath: string;
}

/** Returns what was said, or what is wrong with it. */
export function readMounts(
  said: readonly WireHostMount[] = [],
): readonly Mount[] | { readonly problem: string } {
  const mounts: Mount[] = [];
  for (const { id, kind, hostPath = '', containerPath = '' } of said) {
    const isPath = hostPath.startsWith('/');
    const problem =
      hostPathProblem(hostPath) ??
      containerPathProblem(containerPath) ??
      (ID.test(id) && kind === (isPath ? 'path' : 'volume') ? undefined : 'it is of no known kind') ??
      (mounts.some((each) => each.containerPath === containerPath)
        ? 'it is mounted twice there'
        : undefined) ??
      (isPath && mounts.some((each) => isWithin(each.hostPath, hostPath) || isWithin(hostPath, each.hostPath))
        ? 'it holds, or lies in, other storage'
        : undefined);
    if (problem !== undefined)
      return {
        problem: `storage ${JSON.stringify(hostPath)} at ${JSON.stringify(containerPath)}: ${problem}`,
      };
    mounts.push({ id, kind: isPath ? 'path' : 'volume', hostPath, containerPath });
  }
  return mounts;
}
