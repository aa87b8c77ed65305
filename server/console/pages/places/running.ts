/** Reads what runs in environments, in few requests whatever their number. */
import type { Build, CiRun, RunningImage } from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import { builds, ci, promotions } from './calls.ts';

/** So many of the team's newest builds and CI runs are looked through for the last of each environment. */
const OF_TEAM = 100;
/** Environments of which none is among them are asked one by one, up to so many. */
const ASKED_ALONE_MAX = 4;

/** Returns what runs, by environment. An installation without promotions knows nothing of it. */
export async function readRunning(projectId: string): Promise<ReadonlyMap<string, RunningImage>> {
  const all = await ifMissing([], async () => await promotions.running(projectId));
  return new Map(all.map((each) => [each.environmentId, each]));
}

/** Returns the last build of each; null where it is not known whether there was one. */
export async function readLastBuilds(
  teamId: string,
  environmentIds: readonly string[],
): Promise<ReadonlyMap<string, Build | null | undefined>> {
  if (environmentIds.length === 0) return new Map();
  const page = await builds.listForTeamPage(teamId, { limit: OF_TEAM });
  const found = new Map<string, Build | null | undefined>();
  for (const build of page.builds) if (!found.has(build.environmentId)) found.set(build.environmentId, build);
  if (page.nextCursor === undefined) return found;
  const others = environmentIds.filter((id) => !found.has(id));
  for (const id of others.slice(ASKED_ALONE_MAX)) found.set(id, null);
  await Promise.all(
    others.slice(0, ASKED_ALONE_MAX).map(async (id) => {
      found.set(id, (await builds.listPage(id, { limit: 1 })).builds[0]);
    }),
  );
  return found;
}

/** Returns the last CI run of each that is among the newest of the team; undefined where it has none. */
export async function readLastCiRuns(teamId: string): Promise<ReadonlyMap<string, CiRun> | undefined> {
  const runs = await ifMissing(
    [],
    async () => (await ci.listRunsForTeamPage(teamId, { limit: OF_TEAM })).runs,
  );
  if (runs.length === 0) return undefined;
  const found = new Map<string, CiRun>();
  for (const run of runs)
    if (run.environmentId !== undefined && !found.has(run.environmentId)) found.set(run.environmentId, run);
  return found;
}
