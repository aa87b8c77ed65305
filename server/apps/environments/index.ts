/** Environments: where a project's branch is built and deployed. */
import type { Feature, System } from '../../platform/feature.ts';
import { isDeepStrictEqual } from 'node:util';
import { and, eq, ne, sql } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import {
  CreateRequestSchema,
  DeployMethod,
  EnvironmentSchema,
  EnvironmentsService,
  UpdateRequestSchema,
} from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import type {
  CreateRequest,
  Deploy as DeployMessage,
  Environment as EnvironmentMessage,
  UpdateRequest,
} from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { WorkSelectorSchema } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import type { WorkSelector } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import type { Limits } from '../../config.ts';
import { requireRole } from '../../platform/authorise.ts';
import type { Ctx } from '../../platform/context.ts';
import { newId } from '../../platform/ids.ts';
import { change, given, rowsOf, shown, unlessTaken } from '../../platform/resource/index.ts';
import type { Changes, RowOf } from '../../platform/resource/index.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { projectRows, refuseOpenBuilds } from '../projects/index.ts';
import { gitCredentials, refuseOtherHost, sealGitCredentials } from './git-credentials.ts';
import { environments } from './schema.ts';
import type { Deploy } from './schema.ts';

export { openGitCredentials } from './git-credentials.ts';
export type { GitCredentials } from './git-credentials.ts';
export type { Deploy } from './schema.ts';

export const environmentRows = rowsOf(environments);
export type Environment = RowOf<typeof environments>;

const DEFAULT_PORT = 8_080;

export interface EnvironmentsDeps {
  readonly limits: Limits;
  readonly secrets: Pick<Secrets, 'seal'>;
}

export function createEnvironments({ limits, secrets }: EnvironmentsDeps): Handlers<Ctx> {
  /** What is given otherwise than it is stored. */
  const special = (id: string, request: CreateRequest | UpdateRequest) => {
    const { deploy, runner, buildPath, gitCredentials: git } = request;
    if (buildPath !== undefined) checkPath(buildPath);
    return {
      ...(deploy === undefined ? {} : { deploy: deployOf(deploy, id) }),
      ...(runner === undefined ? {} : { runner: selectorOf(runner) }),
      ...(git === undefined ? {} : { gitSealed: sealGitCredentials(secrets, id, gitCredentials(git)) }),
    };
  };
  return implement(EnvironmentsService, {
    list: async ({ projectId }, ctx: Ctx) => {
      const { id } = await projectRows.find(ctx, projectId);
      const rows = await environmentRows.list(ctx, {
        where: eq(environments.projectId, id),
        by: environments.name,
      });
      return { environments: rows.map(show) };
    },
    get: async ({ environmentId }, ctx: Ctx) => show(await environmentRows.find(ctx, environmentId)),
    create: async (request, ctx: Ctx) => {
      const { id: projectId, teamId } = await projectRows.find(ctx, request.projectId);
      const now = ctx.clock.now();
      const id = newId('env', now.getTime());
      const { name } = request;
      const set = { ...environmentRows.changes(CreateRequestSchema, request), ...special(id, request) };
      const row = { ...set, id, teamId, projectId, name, updatedAt: now };
      const made = await change(ctx, { action: 'environment.created', details }, async (tx) => {
        await projectRows.lock(tx, projectId);
        const where = eq(environments.projectId, projectId);
        await environmentRows.atMost(tx, {
          teamId,
          max: limits.environmentsPerProjectMax,
          of: 'project',
          where,
        });
        await refuseTakenApp(tx, row);
        return await unlessNameTaken(name, environmentRows.insert(tx, row));
      });
      return show(made);
    },
    update: async (request, ctx: Ctx) => show(await update(ctx, request, special)),
    delete: async ({ environmentId }, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, environmentId);
      await change(ctx, { action: 'environment.deleted', details }, async (tx) => {
        await refuseOpenBuilds(tx, { environmentId: id });
        return await environmentRows.remove(tx, id);
      });
      return {};
    },
  });
}

type Special = (
  id: string,
  request: UpdateRequest,
) => Pick<Changes<typeof environments>, 'deploy' | 'runner' | 'gitSealed'>;

async function update(ctx: Ctx, request: UpdateRequest, special: Special): Promise<Environment> {
  const { id } = await environmentRows.find(ctx, request.environmentId);
  const set = { ...environmentRows.changes(UpdateRequestSchema, request), ...special(id, request) };
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    // Read under the lock: another change may bring credentials, or take the repository elsewhere, between reading and writing.
    const before = await environmentRows.lock(tx, id);
    if (request.repository !== undefined && request.gitCredentials === undefined)
      refuseOtherHost(before, request.repository);
    const act = weakening(before, request);
    if (act !== undefined) requireRole(ctx.teams.role(before.teamId), 'admin', { act });
    await refuseTakenApp(tx, { ...before, ...set });
    const fields = changedFields(before, set);
    if (fields.length === 0) return before;
    const entry = {
      action: 'environment.updated',
      details: (row: Environment) => ({ ...details(row), fields }),
    };
    const changes = { ...set, updatedAt: ctx.clock.now() };
    const after = await change(tx, entry, async () =>
      unlessNameTaken(request.name ?? before.name, environmentRows.update(tx, id, { set: changes })),
    );
    return after ?? before;
  });
}

/** What of the change takes the role of those who approve: whoever could not approve cannot make the approval needless. */
function weakening(before: Environment, request: UpdateRequest): string | undefined {
  const { deployApproval, promotionsOnly, allowSelfApproval, requiredApprovals } = request;
  if (before.deployApproval && deployApproval === false) return 'switching off the approval of builds';
  if (before.promotionsOnly && promotionsOnly === false) return 'letting builds deploy without a promotion';
  if (!before.allowSelfApproval && allowSelfApproval === true)
    return 'letting people approve what they ask for';
  if ((requiredApprovals ?? before.requiredApprovals) < before.requiredApprovals)
    return 'asking for fewer approvals';
  return undefined;
}

const details = ({ projectId, name }: Environment) => ({ projectId, name });

/** Names of what changes, for the ledger. A repository's address may hold a password: the ledger says that it was changed, not to what. */
function changedFields(before: Environment, { gitSealed, ...set }: Changes<typeof environments>): string[] {
  const columns = Object.keys(set) as Array<keyof typeof set & keyof Environment>;
  const fields: string[] = columns.filter((field) => !isDeepStrictEqual(before[field], set[field]));
  return gitSealed === undefined ? fields : [...fields, 'gitCredentials'];
}

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

/** Null: any runner may have its builds. */
function selectorOf(runner: WorkSelector): Environment['runner'] {
  const selector = given(WorkSelectorSchema, runner);
  return Object.keys(selector).length === 0 ? null : selector;
}

/** The contract's pattern keeps absolute paths out; a path that climbs is kept out here. */
function checkPath(path: string): void {
  if (!path.split(/[/\\]/).includes('..')) return;
  const message = 'build path holds "..", expected a folder inside of the repository';
  throw apiError('validation_failed', message, {
    details: { fields: [{ field: 'buildPath', rule: 'relative', message }] },
  });
}

/** Another environment of the team that deploys this app. A statement that is refused by the index cannot ask any more, so it is asked before. */
async function refuseTakenApp(
  tx: Ctx,
  {
    id,
    teamId,
    deploy,
  }: Pick<Environment, 'id' | 'teamId'> & { readonly deploy?: Deploy | null | undefined },
): Promise<void> {
  if (deploy === null || deploy === undefined) return;
  const { kind, app } = deploy;
  const [holder] = await environmentRows.list(tx, {
    where: and(
      eq(environments.teamId, teamId),
      sql`${environments.deploy} is not null`,
      sql`${environments.deploy} ->> 'kind' = ${kind}`,
      sql`${environments.deploy} ->> 'app' = ${app}`,
      ne(environments.id, id),
    ),
  });
  if (holder === undefined) return;
  throw apiError(
    'name_taken',
    `environment "${holder.name}", ${holder.id}, of the team deploys the ${kind} app "${app}" already, and each would replace the other's; choose another app name`,
    { details: { resource: 'app', environmentId: holder.id } },
  );
}

const unlessNameTaken = async <T>(name: string, work: Promise<T>): Promise<T> =>
  await unlessTaken(work, {
    index: 'environments_name',
    resource: 'environment',
    field: 'name',
    value: name,
  });

function show({ deploy, ...row }: Environment): EnvironmentMessage {
  return shown(EnvironmentSchema, {
    ...row,
    deploy: deploy && { ...deploy, hostPort: deploy.hostPort || undefined },
  });
}

export function environmentsFeature({ config, secrets }: System): Feature {
  return { services: [createEnvironments({ limits: config.limits, secrets })] };
}
