/** Says how the apps of the documents are on this machine. */
import type { DokkuHost } from '../deploy/dokku-host.ts';
import type { HostedApp } from '../deploy/hosted.ts';
import type { MachineDatabases } from '../database/databases.ts';
import type { AppMounts } from '../build/deployer.ts';
import type { HostSites } from './sites.ts';
import { readMounts } from '../build/mount-plan.ts';
import type { WireHostApp, WireHostMount, WireObservedApp } from '../control-plane/wire.ts';

/**
 * What a container is in is said in the engine's words, of which podman and docker have some more: whatever
 * neither runs nor is held has ended, and is started again.
 */
const stateOf = (state: string): NonNullable<WireObservedApp['state']> =>
  state === 'running' || state === 'paused' ? state : 'ended';

export async function observe(
  documents: Iterable<WireHostApp>,
  hosted: readonly HostedApp[],
  {
    mounts,
    sites,
    databases,
  }: {
    mounts: Pick<AppMounts, 'problemOf'>;
    sites: Pick<HostSites, 'observed'> | undefined;
    databases: Pick<MachineDatabases, 'observed'> | undefined;
  },
): Promise<WireObservedApp[]> {
  const serving = new Map(
    hosted.filter(({ role }) => role === 'serves').map((app) => [`${app.environment} ${app.app}`, app]),
  );
  const seen = [...documents]
    .filter(({ kind }) => kind === 'container')
    .map(async ({ environmentId, revision, app, mounts: wanted = [] }): Promise<WireObservedApp> => {
      const found = serving.get(`${environmentId} ${app}`);
      const domains = sites?.observed(environmentId) ?? [];
      const stored = databases?.observed(environmentId) ?? [];
      const parts = {
        ...(stored.length > 0 && { databases: stored }),
        ...(await observeMounts(wanted, found?.mounts ?? [], mounts)),
        ...(domains.length > 0 && { domains }),
      };
      if (found === undefined) return { environmentId, revision, state: 'absent', ...parts };
      const { address, build, startedAt } = found;
      const state = stateOf(found.state);
      return {
        environmentId,
        revision,
        state,
        // The label says `<build>-<epoch>`.
        ...(build !== undefined && { buildId: build.replace(/-\d+$/, '') }),
        ...(address !== undefined && { address }),
        ...(state === 'running' && startedAt !== undefined && { startedAt }),
        ...parts,
      };
    });
  return await Promise.all(seen);
}

/** Dokku says of its apps whether they run and what they have, and no more. */
export async function observeDokku(
  documents: readonly WireHostApp[],
  { look, serve }: Pick<DokkuHost, 'look' | 'serve'>,
): Promise<WireObservedApp[]> {
  const seen: WireObservedApp[] = [];
  for (const { environmentId, revision, kind, app, mounts: wanted = [], domains = [] } of documents) {
    if (kind !== 'dokku') continue;
    const read = readMounts(wanted);
    const found = await look(app, environmentId, 'problem' in read ? [] : read);
    const has = new Set(found?.has.map(({ containerPath }) => containerPath));
    const names = found && (await serve({ environmentId, app, isRunning: found.isRunning, domains }));
    seen.push({
      environmentId,
      revision,
      state: found === undefined ? 'absent' : found.isRunning ? 'running' : 'ended',
      ...(wanted.length > 0 && {
        mounts: wanted.map(({ id, containerPath = '' }) => ({ id, mounted: has.has(containerPath) })),
      }),
      ...(names !== undefined && names.length > 0 && { domains: names }),
    });
  }
  return seen;
}

/** Storage that is wanted, and what else the container has: that goes with the next deploy. */
async function observeMounts(
  wanted: readonly WireHostMount[],
  has: readonly string[],
  { problemOf }: Pick<AppMounts, 'problemOf'>,
): Promise<Pick<WireObservedApp, 'mounts'>> {
  const ids = new Set(wanted.map(({ id }) => id));
  const told = wanted.map(async (mount) => {
    const read = readMounts([mount]);
    const problem = 'problem' in read ? read.problem : read[0] && (await problemOf(read[0]));
    return { id: mount.id, mounted: has.includes(mount.id), ...(problem !== undefined && { problem }) };
  });
  const more = has.filter((id) => !ids.has(id)).map((id) => ({ id, mounted: true }));
  const mounts = [...(await Promise.all(told)), ...more];
  return mounts.length === 0 ? {} : { mounts };
}
