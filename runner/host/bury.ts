/**
 * Carries a tombstone out: the app of one environment leaves this machine, or the volume of its data does.
 * Whatever of another environment has come under the app's name stays.
 */
import type { WireTombstone } from '../control-plane/wire.ts';
import type { AppMounts } from '../build/deployer.ts';
import { appNames, containersOf, retire } from '../deploy/app-containers.ts';
import type { DokkuHost } from '../deploy/dokku-host.ts';
import type { Engine } from '../executor/engine.ts';

export async function bury(
  engine: Engine,
  { kind, app, environmentId, volume }: WireTombstone,
  { dokku, mounts }: { dokku: Pick<DokkuHost, 'stop'>; mounts: Pick<AppMounts, 'remove'> },
): Promise<void> {
  if (volume !== undefined) return await mounts.remove(environmentId, volume);
  if (kind === 'dokku') return await dokku.stop(app, environmentId);
  const there = await containersOf(engine, appNames(app));
  for (const [name, environment] of there) if (environment === environmentId) await retire(engine, name);
}
