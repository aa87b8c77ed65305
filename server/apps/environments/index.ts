/** An environment says where a project's branch is built and deployed. */
import { eq } from 'drizzle-orm';
import { wrongField } from '../../kit/wrong-field.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  CreateRequestSchema,
  DeployMethod,
  EnvironmentSchema,
  EnvironmentsService,
  UpdateRequestSchema,
  WorkSelectorSchema,
  type CreateRequest,
  type Deploy as DeployMessage,
  type Environment as EnvironmentMessage,
  type NginxLogsRequest,
  type NginxLogsResponse,
  type NginxMinutesRequest,
  type NginxMinutesResponse,
  type UpdateRequest,
  type WorkSelector,
} from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { declareFeature, fill, filledOnce, port } from '../../kit/feature.ts';
import { described, findsByName } from '../../kit/search.ts';
import type { Ctx } from '../../kit/context.ts';
import { newId } from '../../base/ids.ts';
import { change, given, shown, unlessTaken } from '../../kit/resource/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import {
  contentsOfProject,
  projectRows,
  projectsFeature,
  type ContentsOfProject,
} from '../projects/index.ts';
import { settings } from './environments.settings.ts';
import { gitCredentials, refuseOtherHost, sealGitCredentials } from './git-credentials.ts';
import { createGuards, type Guards, type GuardsOf } from './guards.ts';
import { refuseGuardedPort, refuseOpenBuilds, refuseTakenApp, type OpenBuilds } from './target.ts';
import { changedFields, recorded, recordedFields } from './recorded.ts';
import { environmentRows, type Environment } from './rows.ts';
import { environments, type Deploy } from './schema.ts';

export { openGitCredentials } from './git-credentials.ts';
export type { GitCredentials } from './git-credentials.ts';
export { createGuards } from './guards.ts';
export type { OpenBuilds } from './target.ts';
export type { Guards, GuardsOf } from './guards.ts';
export { environmentRows, findPlaces } from './rows.ts';
export type { Environment, Place } from './rows.ts';
export type { Deploy } from './schema.ts';

/** Returns why images of a team's builds have nowhere to go, or undefined when they have. */
export type MissingRegistry = (teamId: string) => Promise<string | undefined>;

export const environmentGuards = port<GuardsOf>('guards of an environment');
export const missingRegistryOfTeam = port<MissingRegistry>('missing registry of a team');
export const openBuildsOf = port<OpenBuilds>('open builds of environments');

/** Answers what the reverse proxy of an environment has logged. The environment is one of the call's. */
export interface NginxLogs {
  lines(ctx: Ctx, request: NginxLogsRequest): Promise<NginxLogsResponse>;
  minutes(ctx: Ctx, request: NginxMinutesRequest): Promise<NginxMinutesResponse>;
}
export const nginxLogsOf = port<NginxLogs>('logs of the reverse proxy of an environment');

const DEFAULT_PORT = 8_080;
/** Fields that decide nothing of what is built, or of where it goes. */
const NEVER_GUARDED: ReadonlySet<string> = new Set(['buildTimeoutSeconds']);

export interface EnvironmentsDeps {
  readonly guards: Guards;
  readonly missingRegistry: MissingRegistry;
  readonly openBuilds: OpenBuilds;
  readonly nginxLogs: () => NginxLogs;
  readonly environmentsPerProjectMax: number;
  readonly secrets: Pick<Secrets, 'seal'>;
}

export function createEnvironments(deps: EnvironmentsDeps): Handlers<Ctx> {
  const answer = async (environment: Environment) =>
    shownEnvironment(environment, await deps.missingRegistry(environment.teamId));
  return implement(EnvironmentsService, {
    list: async ({ projectId }, ctx: Ctx) => {
      const { id } = await projectRows.find(ctx, projectId);
      const where = eq(environments.projectId, id);
      const rows = await environmentRows.list(ctx, { where, by: environments.name });
      return { environments: rows.map((row) => shownEnvironment(row)) };
    },
    get: async ({ environmentId }, ctx: Ctx) => await answer(await environmentRows.find(ctx, environmentId)),
    create: async (request, ctx: Ctx) => await answer(await create(deps, ctx, { request })),
    update: async (request, ctx: Ctx) => await answer(await update(deps, ctx, request)),
    delete: async ({ environmentId }, ctx: Ctx) => {
      await environmentRows.find(ctx, environmentId);
      await remove(deps, ctx, environmentId);
      return {};
    },
    nginxLogs: async (request, ctx: Ctx) => {
      await environmentRows.find(ctx, request.environmentId);
      return await deps.nginxLogs().lines(ctx, request);
    },
    nginxMinutes: async (request, ctx: Ctx) => {
      await environmentRows.find(ctx, request.environmentId);
      return await deps.nginxLogs().minutes(ctx, request);
    },
  });
}

/** Adds to an environment what it has from the beginning. */
export type Furnish = (tx: Ctx, environment: Environment) => Promise<void>;

interface Creating {
  readonly request: CreateRequest;
  readonly furnish?: Furnish;
}

async function create(
  deps: EnvironmentsDeps,
  ctx: Ctx,
  { request, furnish }: Creating,
): Promise<Environment> {
  const { guards, environmentsPerProjectMax } = deps;
  const { id: projectId, teamId } = await projectRows.find(ctx, request.projectId);
  const now = ctx.clock.now();
  const id = newId('env', now.getTime());
  const { name } = request;
  const set = {
    ...environmentRows.changes(CreateRequestSchema, request),
    ...convertedColumns(deps, id, request),
  };
  const row = { ...set, id, teamId, projectId, name, updatedAt: now };
  const created = (made: Environment) => ({ ...details(made), after: recorded(made) });
  return await change(ctx, { action: 'environment.created', details: created }, async (tx) => {
    await projectRows.lock(tx, projectId);
    const where = eq(environments.projectId, projectId);
    const limit = { teamId, max: environmentsPerProjectMax, of: 'project', where };
    await environmentRows.atMost(tx, limit);
    await refuseTakenApp(tx, row);
    await refuseGuardedPort(tx, guards, row);
    const made = await unlessNameTaken(name, environmentRows.insert(tx, row));
    await furnish?.(tx, made);
    return made;
  });
}

/** Returns the columns whose fields are not stored as they are given. */
function convertedColumns(
  { secrets }: Pick<EnvironmentsDeps, 'secrets'>,
  id: string,
  request: CreateRequest | UpdateRequest,
) {
  const { deploy, runner, branch, gitCredentials: git } = request;
  for (const field of ['buildPath', 'dockerfile', 'context'] as const) checkPath(field, request[field]);
  return {
    ...(branch === undefined ? {} : { branch: branch.replace(/^refs\/heads\//, '') }),
    ...unset(request),
    ...(deploy === undefined ? {} : { deploy: deployOf(deploy, id) }),
    ...(runner === undefined ? {} : { runner: selectorOf(runner) }),
    ...(git === undefined ? {} : { gitSealed: sealGitCredentials(secrets, id, gitCredentials(git)) }),
  };
}

async function update(deps: EnvironmentsDeps, ctx: Ctx, request: UpdateRequest): Promise<Environment> {
  const { guards } = deps;
  const { id } = await environmentRows.find(ctx, request.environmentId);
  const set = {
    ...environmentRows.changes(UpdateRequestSchema, request),
    ...convertedColumns(deps, id, request),
  };
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    // Read under the lock: another change may bring credentials, or take the repository elsewhere, between
    // reading and writing.
    const before = await environmentRows.lock(tx, id);
    const fields = changedFields(before, set);
    if (fields.length === 0) return before;
    const guarded = fields.filter((field) => !NEVER_GUARDED.has(field));
    if (guarded.length > 0) await guards.refuse(tx, before, { act: `changing ${guarded.join(', ')}` });
    if (request.repository !== undefined && request.gitCredentials === undefined)
      refuseOtherHost(before, request.repository);
    await refuseTakenApp(tx, { ...before, ...set });
    if (fields.includes('deploy') || fields.includes('runner'))
      await refuseGuardedPort(tx, guards, { ...before, ...set });
    const entry = {
      action: 'environment.updated',
      details: (row: Environment) => ({
        ...details(row),
        fields,
        before: recordedFields(before, fields),
        after: recordedFields(row, fields),
      }),
    };
    const changes = { ...set, updatedAt: ctx.clock.now() };
    const after = await change(tx, entry, async () =>
      unlessNameTaken(request.name ?? before.name, environmentRows.update(tx, id, { set: changes })),
    );
    return after ?? before;
  });
}

/** The ledger keeps what guarded it: a policy or budget of its own is about nothing from then on. */
async function remove({ guards, openBuilds }: EnvironmentsDeps, ctx: Ctx, id: string): Promise<void> {
  await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const before = await environmentRows.lock(tx, id);
    await guards.refuse(tx, before, { act: 'deleting the environment' });
    const names = (await guards.of(tx, before)).map(({ name }) => name);
    const deleted = (row: Environment) => ({ ...details(row), before: recorded(row), guards: names });
    await change(tx, { action: 'environment.deleted', details: deleted }, async () => {
      await refuseOpenBuilds(openBuilds, tx, { environmentId: id });
      return await environmentRows.remove(tx, id);
    });
  });
}

const details = ({ projectId, name }: Environment) => ({ projectId, name });

function deployOf(
  { kind, app, containerPort, hostPort }: DeployMessage,
  environmentId: string,
): Deploy | null {
  if (kind === DeployMethod.NONE) return null;
  return {
    kind: kind === DeployMethod.DOKKU ? 'dokku' : 'container',
    app: app ?? environmentId.replace('_', '-'),
    containerPort: containerPort ?? DEFAULT_PORT,
    hostPort: hostPort ?? 0,
  };
}

/** Returns null when any runner may have its builds. */
function selectorOf(runner: WorkSelector): Environment['runner'] {
  const selector = given(WorkSelectorSchema, runner);
  return Object.keys(selector).length === 0 ? null : selector;
}

/** The contract's pattern keeps absolute paths out; a path that climbs is kept out here. */
function checkPath(field: 'buildPath' | 'dockerfile' | 'context', path = ''): void {
  if (!path.split(/[/\\]/).includes('..')) return;
  const message = `${field} is ${JSON.stringify(path)}, which holds "..", expected a path inside of the repository`;
  throw wrongField(message, { field, rule: 'relative' });
}

/** An empty text takes back what was set. */
function unset(
  request: CreateRequest | UpdateRequest,
): Partial<Record<'dockerfile' | 'context' | 'target', null>> {
  const fields = ['dockerfile', 'context', 'target'] as const;
  return Object.fromEntries(fields.filter((field) => request[field] === '').map((field) => [field, null]));
}

const unlessNameTaken = async <T>(name: string, work: Promise<T>): Promise<T> =>
  await unlessTaken(work, {
    index: 'environments_name',
    resource: 'environment',
    field: 'name',
    value: name,
  });

/** @param notice Why its builds cannot succeed. */
export function shownEnvironment({ deploy, ...row }: Environment, notice?: string): EnvironmentMessage {
  return shown(EnvironmentSchema, {
    ...row,
    notice,
    deploy: deploy && { ...deploy, hostPort: deploy.hostPort || undefined },
  });
}

export const environmentsFeature = declareFeature({
  name: 'environments',
  on: { projects: projectsFeature },
  settings,
  reads: ['environments'],
  start: (system, _on, { environmentsPerProjectMax }) => {
    const { secrets } = system;
    const guards = createGuards(() => system.filled(environmentGuards));
    const missingRegistry: MissingRegistry = async (teamId) =>
      await filledOnce(system, missingRegistryOfTeam)(teamId);
    const openBuilds: OpenBuilds = async (...of) => await filledOnce(system, openBuildsOf)(...of);
    const nginxLogs = (): NginxLogs => filledOnce(system, nginxLogsOf);
    const deps = { guards, environmentsPerProjectMax, secrets, missingRegistry, openBuilds, nginxLogs };
    const contents: ContentsOfProject = async (tx, projectId) =>
      await refuseOpenBuilds(openBuilds, tx, { projectId });
    return {
      guards,
      missingRegistry,
      /**
       * Creates one with all that it has from the beginning, in one transaction. Its entry in the ledger
       * comes last: others wait for the ledger while they hold the locks that the rest takes.
       */
      create: async (ctx: Ctx, creating: Creating) => await create(deps, ctx, creating),
      services: [createEnvironments(deps)],
      fills: [
        findsByName(described(environments, 'project:read', environments.name)),
        fill(contentsOfProject, contents),
      ],
    };
  },
});
