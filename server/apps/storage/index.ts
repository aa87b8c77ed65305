/**
 * Environments have storage: volumes and paths of their deployed containers. The runner says what became of
 * them; what is here is what it should do.
 *
 * pending_deploy <──> refused    pending_deploy ──> mounted ──deleted──> detaching ──next deploy──> retained
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { and, eq, inArray, not, notInArray, sql } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { containerPathProblem, hostPathProblem, isWithin } from '@svc/proto/hosting/mount-paths.ts';
import { StorageMountSchema, StorageService } from '@svc/proto/gen/svc/storage/v1/storage_pb.ts';
import {
  chooseHostRunner,
  hostRunnerOf,
  runnersFeature,
  type HostRunner,
} from '../../engine/runners/index.ts';
import { workFeature, type WorkSettings } from '../../engine/work/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { notFound } from '../../kit/not-found.ts';
import {
  change,
  lockTeam,
  rowsOf,
  shown,
  unlessTaken,
  type RowOf,
  type Who,
} from '../../kit/resource/index.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import {
  environmentRows,
  environmentsFeature,
  type Environment,
  type Guards,
} from '../environments/index.ts';
import { hostChanged, hostingFeature, hostParts } from '../hosting/index.ts';
import { mountsPart, purgeStorage } from './host-part.ts';
import { storageMounts } from './schema.ts';

const MOUNTS_MAX = 20;

const rows = rowsOf(storageMounts);
type Mount = RowOf<typeof storageMounts>;

interface StorageDeps {
  readonly guards: Guards;
  readonly settings: WorkSettings;
}

interface Paths {
  readonly hostPath: string;
  readonly containerPath: string;
}

const details = ({ environmentId, hostPath, containerPath }: Mount) => ({
  environmentId,
  hostPath,
  containerPath,
});

export function createStorage({ guards, settings }: StorageDeps): Handlers<Ctx> {
  const begin = async (tx: Ctx, environmentId: string): Promise<Environment> => {
    const locked = await environmentRows.lock(tx, environmentId);
    await guards.refuse(tx, locked, { act: 'changing storage', about: 'content' });
    return locked;
  };
  return implement(StorageService, {
    list: async ({ environmentId }, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, environmentId);
      const where = eq(storageMounts.environmentId, id);
      const all = await rows.list(ctx, { where, by: storageMounts.containerPath });
      return { mounts: all.map((row) => shown(StorageMountSchema, row)) };
    },
    create: async ({ environmentId, hostPath, containerPath }, ctx: Ctx) => {
      const paths = { hostPath, containerPath };
      checkPaths(paths);
      await environmentRows.find(ctx, environmentId);
      const mount = await ctx.db.transact(async (db) => {
        const tx = { ...ctx, db };
        const environment = await begin(tx, environmentId);
        const there = await mountAt(tx, environmentId, hostPath);
        if (there !== undefined && isSame(there, paths)) return there;
        return await change(tx, { action: 'storage.mounted', details }, async (inner) =>
          putMount(inner, settings, { environment, paths, there }),
        );
      });
      return shown(StorageMountSchema, mount);
    },
    delete: async ({ environmentId, storageMountId }, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, environmentId);
      const found = await rows.find(ctx, storageMountId);
      if (found.environmentId !== id) throw notFound(rows.kind);
      await ctx.db.transact(async (db) => {
        const tx = { ...ctx, db };
        const environment = await begin(tx, id);
        await change(tx, { action: 'storage.unmounted', details }, async (inner) => {
          await hostChanged(inner, id);
          return await takeAway(inner, environment, storageMountId);
        });
      });
      return {};
    },
  });
}

/** Wanted already: the same call again answers it. */
const isSame = ({ state, containerPath }: Mount, paths: Paths): boolean =>
  state !== 'detaching' && state !== 'retained' && containerPath === paths.containerPath;

function checkPaths(paths: Paths): void {
  const problems = {
    hostPath: hostPathProblem(paths.hostPath),
    containerPath: containerPathProblem(paths.containerPath),
  };
  for (const field of ['hostPath', 'containerPath'] as const)
    if (problems[field] !== undefined)
      throw wrongField(`${field} is ${JSON.stringify(paths[field])}, ${problems[field]}`, {
        field,
        rule: 'path',
      });
}

/** Returns what the next deploy brings, by the path in the container. */
export async function wantedMounts(who: Who, environmentId: string): Promise<readonly Mount[]> {
  const where = and(
    eq(storageMounts.environmentId, environmentId),
    notInArray(storageMounts.state, ['detaching', 'retained']),
  );
  return await rows.list(who, { where, by: storageMounts.containerPath });
}

async function mountAt(tx: Ctx, environmentId: string, hostPath: string): Promise<Mount | undefined> {
  const where = and(eq(storageMounts.environmentId, environmentId), eq(storageMounts.hostPath, hostPath));
  const [found] = await rows.list(tx, { where });
  return found;
}

interface Putting {
  readonly environment: Environment;
  readonly paths: Paths;
  /** It has the same host path, and was deleted or is wanted elsewhere in the container. */
  readonly there?: Mount | undefined;
}

/** Adds it within the caller's transaction, which holds the environment's lock, or has made it. */
export async function putMount(
  tx: Ctx,
  settings: WorkSettings,
  { environment, paths, there }: Putting,
): Promise<Mount> {
  const { id: environmentId, teamId } = environment;
  const { hostPath, containerPath } = paths;
  const where = eq(storageMounts.environmentId, environmentId);
  // The team's lock comes before those of the machine, as where an environment is made with its storage.
  if (there === undefined) await rows.atMost(tx, { teamId, max: MOUNTS_MAX, of: 'environment', where });
  else await lockTeam(tx, teamId);
  const choice = { environment, ability: 'volumes', what: 'storage' } as const;
  const runner = await chooseHostRunner(tx.db.sql, settings, choice);
  const kind = hostPath.startsWith('/') ? 'path' : 'volume';
  if (kind === 'path') {
    refuseForeignPath(runner, hostPath);
    await refuseNestedPath(tx, runner, { environmentId, teamId, hostPath });
  }
  if (there !== undefined && there.state !== 'detaching' && there.state !== 'retained')
    throw taken('hostPath', hostPath);
  await hostChanged(tx, environmentId);
  const work =
    there === undefined
      ? rows.insert(tx, { teamId, environmentId, hostPath, containerPath, kind })
      : rows.update(tx, there.id, {
          set: { containerPath, state: 'pending_deploy', problem: null, retainedUntil: null },
        });
  const made = await unlessTaken(work, {
    index: 'storage_mounts_container_path',
    resource: rows.kind,
    field: 'containerPath',
    value: containerPath,
  });
  if (made === undefined) throw notFound(rows.kind);
  return made;
}

const taken = (field: keyof Paths, value: string): Error =>
  apiError(
    'name_taken',
    `the environment has other storage with the ${field} ${JSON.stringify(value)}; delete that first`,
    {
      details: { resource: rows.kind, field, value },
    },
  );

/** The machine looks again, at what the path is there. */
function refuseForeignPath({ name, shared, host }: HostRunner, hostPath: string): void {
  const refused = (why: string): Error =>
    apiError('host_path_refused', `hostPath is ${JSON.stringify(hostPath)}: ${why}`);
  if (shared)
    throw refused('machines of the service mount no paths of theirs; name the data, such as uploads');
  const roots = host?.mountRoots ?? [];
  if (roots.some((root) => hostPath !== root && isWithin(hostPath, root))) return;
  throw refused(
    roots.length === 0
      ? `the operator of the machine of runner ${name} lists no folder; start it with: svc-runner run --allow-mount <folder>`
      : `expected a path below ${roots.join(', ')}, which the operator of the machine of runner ${name} lists`,
  );
}

/**
 * Whoever writes to a folder can put a link in the place of one below it, which the next container would
 * follow to anywhere on the machine. Two calls at once are decided under the team's lock, which is held.
 */
async function refuseNestedPath(
  tx: Ctx,
  runner: HostRunner,
  { environmentId, teamId, hostPath }: Pick<Mount, 'environmentId' | 'teamId' | 'hostPath'>,
): Promise<void> {
  const { hostPath: path } = storageMounts;
  const own = and(eq(storageMounts.environmentId, environmentId), eq(path, hostPath));
  const [other] = await rows.list(tx, {
    where: and(
      eq(storageMounts.teamId, teamId),
      eq(storageMounts.kind, 'path'),
      own && not(own),
      sql`${storageMounts.environmentId} in (select h.environment_id from host_apps h where h.runner_id = ${runner.id})`,
      sql`(${path} = ${hostPath} or starts_with(${path}, ${`${hostPath}/`}) or starts_with(${hostPath}, ${path} || '/'))`,
    ),
    max: 1,
  });
  if (other === undefined) return;
  throw apiError(
    'host_path_refused',
    `hostPath is ${JSON.stringify(hostPath)}: it is, holds or lies in ${other.hostPath}, which is storage of environment ${other.environmentId} on the same machine; choose a folder of its own`,
  );
}

/** Returns undefined when it was deleted before. */
async function takeAway(tx: Ctx, environment: Environment, id: string): Promise<Mount | undefined> {
  const runner = await hostRunnerOf(tx.db.sql, environment);
  const mount = await rows.lock(tx, id);
  // Nobody can carry the data's end out there, or there is none.
  if (mount.mountedAt === null || runner === undefined || runner.gone) return await rows.remove(tx, id);
  return await rows.update(tx, id, {
    set: { state: 'detaching', problem: null },
    where: inArray(storageMounts.state, ['pending_deploy', 'mounted', 'refused']),
  });
}

export const storageFeature = declareFeature({
  name: 'storage',
  on: {
    environments: environmentsFeature,
    hosting: hostingFeature,
    work: workFeature,
    runners: runnersFeature,
  },
  start: ({ db }, { environments: { guards }, work: { engine } }) => ({
    services: [createStorage({ guards, settings: engine.settings })],
    purges: [async () => await purgeStorage(db.sql)],
    fills: [fill(hostParts, mountsPart)],
  }),
});
