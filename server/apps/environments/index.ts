/** Environments: where a project's branch is built and deployed. */
import { isDeepStrictEqual } from 'node:util';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import {
  BuildType as BuildTypeNumber,
  DeployMethod,
  EnvironmentsService,
} from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import type {
  CreateRequest,
  Deploy as DeployMessage,
  GitCredentials as GitMessage,
  UpdateRequest,
} from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import type { Limits } from '../../config.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Database } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { notFound } from '../../platform/not-found.ts';
import { roleAtLeast } from '../../platform/scopes.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { findProject, refuseOpenBuilds } from '../projects/index.ts';
import type { Project } from '../projects/index.ts';
import { gitCredentials, refuseOtherHost, storeGitCredentials } from './git-credentials.ts';
import {
  countEnvironments,
  deleteEnvironment,
  findEnvironment,
  insertEnvironment,
  listEnvironments,
  lockEnvironment,
  refuseTakenApp,
  updateEnvironment,
} from './store.ts';
import type { BuildType, Deploy, Environment } from './store.ts';

export { openGitCredentials } from './git-credentials.ts';
export type { GitCredentials } from './git-credentials.ts';
export { findEnvironment, lockEnvironment } from './store.ts';
export type { BuildType, Deploy, Environment } from './store.ts';

export const BUILD_TYPES: Readonly<Record<BuildType, BuildTypeNumber>> = {
  auto: BuildTypeNumber.AUTO,
  dockerfile: BuildTypeNumber.DOCKERFILE,
  buildpack: BuildTypeNumber.BUILDPACK,
};

const DEPLOYS: Readonly<Record<Deploy['kind'], DeployMethod>> = {
  container: DeployMethod.CONTAINER,
  dokku: DeployMethod.DOKKU,
};

const DEFAULT_PORT = 8_080;
const DEFAULT_TIMEOUT_SECONDS = 3_600;

export interface EnvironmentsDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly secrets: Pick<Secrets, 'seal'>;
}

export function createEnvironments({ clock, limits, secrets }: EnvironmentsDeps): Handlers<Ctx> {
  /** True: they were given, or taken away. */
  const storeGit = async (
    db: Database,
    environment: Environment,
    git: GitMessage | undefined,
  ): Promise<boolean> => {
    if (git === undefined) return false;
    await storeGitCredentials(db, secrets, environment, gitCredentials(git));
    return true;
  };
  return implement(EnvironmentsService, {
    list: async ({ projectId }, ctx: Ctx) => {
      const project = await projectOf(ctx, projectId);
      return { environments: (await listEnvironments(ctx.db, ctx.teams, project.id)).map(present) };
    },
    get: async ({ environmentId }, ctx: Ctx) => present(await environmentOf(ctx, environmentId)),
    create: async (request, ctx: Ctx) => {
      const project = await projectOf(ctx, request.projectId);
      const environment = newEnvironment(request, project, clock.now());
      await ctx.db.transact(async (db) => {
        const n = await countEnvironments(db, project.id);
        if (n >= limits.environmentsPerProjectMax) throw full(n, limits.environmentsPerProjectMax);
        await refuseTakenApp(db, environment);
        await insertEnvironment(db, environment);
        await storeGit(db, environment, request.gitCredentials);
        await recordAct(db, ctx, act('environment.created', environment));
      });
      return present(environment);
    },
    update: async (request, ctx: Ctx) => {
      const found = await environmentOf(ctx, request.environmentId);
      return await ctx.db.transact(async (db) => {
        // Read under the lock: another change may bring credentials, or take the repository elsewhere, between reading and writing.
        await lockEnvironment(db, found);
        const before = await findEnvironment(db, ctx.teams, found.id);
        if (before === undefined) throw notFound('environment');
        const after = changed(before, request, clock.now());
        if (before.deployApproval && !after.deployApproval) assertMayApprove(ctx, before);
        await refuseTakenApp(db, after);
        await updateEnvironment(db, after);
        const fields: string[] = FIELDS.filter((field) => !isDeepStrictEqual(before[field], after[field]));
        if (await storeGit(db, after, request.gitCredentials)) fields.push('gitCredentials');
        if (fields.length > 0) await recordAct(db, ctx, act('environment.updated', after, { fields }));
        return present(after);
      });
    },
    delete: async ({ environmentId }, ctx: Ctx) => {
      const environment = await environmentOf(ctx, environmentId);
      await ctx.db.transact(async (db) => {
        await refuseOpenBuilds(db, environment.teamId, [environment.id]);
        if (await deleteEnvironment(db, environment))
          await recordAct(db, ctx, act('environment.deleted', environment));
      });
      return {};
    },
  });
}

/** What may be changed, and is compared. */
const FIELDS = [
  'name',
  'repository',
  'branch',
  'buildPath',
  'buildType',
  'submodules',
  'deployApproval',
  'deploy',
  'buildTimeoutSeconds',
] as const;

function changed(before: Environment, request: UpdateRequest, now: Date): Environment {
  const { repository, buildPath, buildType, deploy, gitCredentials: git } = request;
  if (repository !== undefined && git === undefined) refuseOtherHost(before, repository);
  return {
    ...before,
    name: request.name ?? before.name,
    repository: repository ?? before.repository,
    branch: request.branch ?? before.branch,
    buildPath: buildPath === undefined ? before.buildPath : checkedPath(buildPath),
    buildType: buildType === undefined ? before.buildType : typeName(buildType),
    submodules: request.submodules ?? before.submodules,
    deployApproval: request.deployApproval ?? before.deployApproval,
    deploy: deploy === undefined ? before.deploy : deployOf(deploy, before.id),
    buildTimeoutSeconds: request.buildTimeoutSeconds ?? before.buildTimeoutSeconds,
    hasGitCredentials: git === undefined ? before.hasGitCredentials : gitCredentials(git) !== undefined,
    updatedAt: now,
  };
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

/** A repository's address may hold a password: the ledger says that it was changed, not to what. */
function act(action: string, { id, teamId, projectId, name }: Environment, more: object = {}) {
  return { chain: teamId, action, target: id, details: { projectId, name, ...more } };
}

async function projectOf(ctx: Ctx, projectId: string): Promise<Project> {
  const project = await findProject(ctx.db, ctx.teams, projectId);
  if (project === undefined) throw notFound('project');
  ctx.teams.require(project.teamId);
  return project;
}

/** Whoever could not approve a build cannot make the approval needless. */
function assertMayApprove(ctx: Ctx, { teamId }: Environment): void {
  const role = ctx.teams.role(teamId);
  if (role !== undefined && roleAtLeast(role, 'admin')) return;
  throw apiError(
    'role_insufficient',
    `your role in the team is ${role}, switching off the approval of builds needs admin`,
    { details: { role, needed: 'admin' } },
  );
}

/** The environment of a call, if the caller may do this there. */
export async function environmentOf(ctx: Ctx, id: string): Promise<Environment> {
  const environment = await findEnvironment(ctx.db, ctx.teams, id);
  if (environment === undefined) throw notFound('environment');
  ctx.teams.require(environment.teamId);
  return environment;
}

function newEnvironment(request: CreateRequest, project: Project, now: Date): Environment {
  const id = newId('env', now.getTime());
  const { deploy, gitCredentials: git } = request;
  return {
    id,
    teamId: project.teamId,
    projectId: project.id,
    name: request.name,
    repository: request.repository ?? null,
    branch: request.branch ?? 'main',
    buildPath: checkedPath(request.buildPath ?? '.'),
    buildType: request.buildType === undefined ? 'auto' : typeName(request.buildType),
    submodules: request.submodules ?? false,
    deployApproval: request.deployApproval ?? false,
    deploy: deploy === undefined ? null : deployOf(deploy, id),
    buildTimeoutSeconds: request.buildTimeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
    hasGitCredentials: git !== undefined && gitCredentials(git) !== undefined,
    createdAt: now,
    updatedAt: now,
  };
}

/** The contract's pattern keeps absolute paths out; a path that climbs is kept out here. */
function checkedPath(path: string): string {
  if (!path.split(/[/\\]/).includes('..')) return path;
  const message = 'build path holds "..", expected a folder inside of the repository';
  throw apiError('validation_failed', message, {
    details: { fields: [{ field: 'buildPath', rule: 'relative', message }] },
  });
}

function typeName(number: BuildTypeNumber): BuildType {
  return number === BuildTypeNumber.DOCKERFILE
    ? 'dockerfile'
    : number === BuildTypeNumber.BUILDPACK
      ? 'buildpack'
      : 'auto';
}

function full(n: number, limit: number): Error {
  return apiError('limit_reached', `the project has ${n} environments, at most ${limit} are allowed`, {
    details: { limit, current: n },
  });
}

function presentDeploy({ kind, app, containerPort, hostPort }: Deploy) {
  return { kind: DEPLOYS[kind], app, containerPort, ...(hostPort === 0 ? {} : { hostPort }) };
}

function present(environment: Environment) {
  const { createdAt, updatedAt, repository, buildType, deploy, ...rest } = environment;
  return {
    ...rest,
    ...(repository === null ? {} : { repository }),
    buildType: BUILD_TYPES[buildType],
    ...(deploy === null ? {} : { deploy: presentDeploy(deploy) }),
    createdAt: timestampFromDate(createdAt),
    updatedAt: timestampFromDate(updatedAt),
  };
}
