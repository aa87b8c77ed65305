/** Environments: where a project's branch is built and deployed. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import {
  BuildType as BuildTypeNumber,
  EnvironmentsService,
} from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import type { CreateRequest } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { recordAct } from '../audit/index.ts';
import type { Limits } from '../config.ts';
import type { Clock } from '../platform/clock.ts';
import type { Ctx } from '../platform/context.ts';
import { newId } from '../platform/ids.ts';
import { notFound } from '../platform/not-found.ts';
import { findProject } from '../projects/index.ts';
import type { Project } from '../projects/index.ts';
import {
  countEnvironments,
  deleteEnvironment,
  findEnvironment,
  insertEnvironment,
  listEnvironments,
  updateEnvironment,
} from './store.ts';
import type { BuildType, Environment } from './store.ts';

export { findEnvironment } from './store.ts';
export type { Environment } from './store.ts';

const TYPES: Readonly<Record<BuildType, BuildTypeNumber>> = {
  auto: BuildTypeNumber.AUTO,
  dockerfile: BuildTypeNumber.DOCKERFILE,
  buildpack: BuildTypeNumber.BUILDPACK,
};

export function createEnvironments(deps: { readonly clock: Clock; readonly limits: Limits }): Handlers<Ctx> {
  const { clock, limits } = deps;
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
        await insertEnvironment(db, environment);
        await recordAct(db, ctx, act('environment.created', environment));
      });
      return present(environment);
    },
    update: async ({ environmentId, name, repository, branch, buildPath, buildType }, ctx: Ctx) => {
      const before = await environmentOf(ctx, environmentId);
      const after: Environment = {
        ...before,
        name: name ?? before.name,
        repository: repository ?? before.repository,
        branch: branch ?? before.branch,
        buildPath: buildPath === undefined ? before.buildPath : checkedPath(buildPath),
        buildType: buildType === undefined ? before.buildType : typeName(buildType),
        updatedAt: clock.now(),
      };
      await ctx.db.transact(async (db) => {
        await updateEnvironment(db, after);
        const fields = FIELDS.filter((field) => before[field] !== after[field]);
        if (fields.length > 0) await recordAct(db, ctx, act('environment.updated', after, { fields }));
      });
      return present(after);
    },
    delete: async ({ environmentId }, ctx: Ctx) => {
      const environment = await environmentOf(ctx, environmentId);
      await ctx.db.transact(async (db) => {
        if (await deleteEnvironment(db, environment))
          await recordAct(db, ctx, act('environment.deleted', environment));
      });
      return {};
    },
  });
}

/** What may be changed. */
const FIELDS = ['name', 'repository', 'branch', 'buildPath', 'buildType'] as const;

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

async function environmentOf(ctx: Ctx, id: string): Promise<Environment> {
  const environment = await findEnvironment(ctx.db, ctx.teams, id);
  if (environment === undefined) throw notFound('environment');
  ctx.teams.require(environment.teamId);
  return environment;
}

function newEnvironment(request: CreateRequest, project: Project, now: Date): Environment {
  return {
    id: newId('env', now.getTime()),
    teamId: project.teamId,
    projectId: project.id,
    name: request.name,
    repository: request.repository ?? null,
    branch: request.branch ?? 'main',
    buildPath: checkedPath(request.buildPath ?? '.'),
    buildType: request.buildType === undefined ? 'auto' : typeName(request.buildType),
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

function present(environment: Environment) {
  const { createdAt, updatedAt, repository, buildType, ...rest } = environment;
  return {
    ...rest,
    ...(repository === null ? {} : { repository }),
    buildType: TYPES[buildType],
    createdAt: timestampFromDate(createdAt),
    updatedAt: timestampFromDate(updatedAt),
  };
}
