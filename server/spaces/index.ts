/**
 * Spaces: people and projects of one purpose, across teams. A space gives nobody a right. Who is not a member is told that it does not exist;
 * who is one sees in it the projects of the own teams alone, because everything in it is read through the caller's TeamScope.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { SpacesService } from '@svc/proto/gen/svc/spaces/v1/spaces_pb.ts';
import type { CreateRequest } from '@svc/proto/gen/svc/spaces/v1/spaces_pb.ts';
import type { Clock } from '../platform/clock.ts';
import type { Caller, Ctx, Role } from '../platform/context.ts';
import type { FeatureGate } from '../platform/feature-gate.ts';
import { newId } from '../platform/ids.ts';
import { notFound } from '../platform/not-found.ts';
import { roleAtLeast, roleName } from '../platform/scopes.ts';
import { findProject } from '../projects/index.ts';
import type { Project } from '../projects/index.ts';
import { countContents, searchSpace } from './contents.ts';
import { foundKinds, presentFound, presentMember, presentSpace, spaceKindWord } from './present.ts';
import {
  countOwnedSpaces,
  countSpaceProjects,
  deleteSpaceProject,
  findSpace,
  hasProject,
  insertSpace,
  insertSpaceProject,
  listSpaceMembers,
  listSpaces,
  projectIdsInSpace,
  teammatesAmong,
  updateSpace,
} from './store.ts';
import type { Space } from './store.ts';

/** Spaces that one account may own. */
export const OWNED_SPACES_MAX = 100;
/** Bounds the list of ids that `projects.list` is filtered with, and what a search reads. */
export const PROJECTS_PER_SPACE_MAX = 500;

export function createSpaces({ clock }: { readonly clock: Clock }): Handlers<Ctx> {
  return implement(SpacesService, {
    list: async (_request, ctx: Ctx) => ({
      spaces: (await listSpaces(ctx.db, ctx.caller)).map(presentSpace),
    }),
    create: async (request, ctx: Ctx) => presentSpace(await create(clock, ctx, request)),
    update: async ({ spaceId, name, description, avatarUrl, kind }, ctx: Ctx) => {
      const space = await spaceOf(ctx, spaceId, 'admin');
      refuseNarrowed(ctx.caller);
      const changes = {
        name,
        description,
        avatarUrl,
        kind: kind === undefined ? undefined : spaceKindWord(kind),
      };
      await updateSpace(ctx.db, space.id, changes, clock.now());
      return presentSpace(await spaceOf(ctx, spaceId));
    },
    addProject: async ({ spaceId, projectId }, ctx: Ctx) => {
      const space = await spaceOf(ctx, spaceId, 'developer');
      await add(ctx, space, await projectOf(ctx, projectId), clock.now());
      return {};
    },
    removeProject: async ({ spaceId, projectId }, ctx: Ctx) => {
      const space = await spaceOf(ctx, spaceId, 'developer');
      const project = await projectOf(ctx, projectId);
      if (!(await deleteSpaceProject(ctx.db, space.id, project))) throw notFound('project');
      return {};
    },
    search: async ({ spaceId, query, kinds }, ctx: Ctx) => {
      const space = await spaceOf(ctx, spaceId);
      const search = { spaceId: space.id, query: query.trim(), kinds: foundKinds(kinds) };
      return { results: (await searchSpace(ctx.db, ctx.teams, search)).map(presentFound) };
    },
    overview: async ({ spaceId }, ctx: Ctx) => {
      const space = await spaceOf(ctx, spaceId);
      const members = await listSpaceMembers(ctx.db, space.id);
      const counts = await countContents(ctx.db, ctx.teams, space.id);
      return {
        space: presentSpace(space),
        members: members.map(presentMember),
        projectCount: counts.projects,
        environmentCount: counts.environments,
        teamCount: counts.teams,
      };
    },
    ai: async ({ spaceId }, ctx: Ctx) => {
      await spaceOf(ctx, spaceId);
      // Not retryable: it is the same until an operator changes the installation.
      throw apiError('unavailable', 'AI is not configured on this installation', { retryable: false });
    },
  });
}

/** For `projects.list`: which projects of the caller's teams are in the space. */
export function createSpaceFilter(
  gate: FeatureGate,
): (ctx: Ctx, spaceId: string) => Promise<readonly string[]> {
  return async (ctx, spaceId) => {
    // The filter is a part of the feature although the list is not.
    if (gate.state('host.spaces') !== 'open') {
      throw apiError('feature_disabled', 'the platform feature host.spaces is disabled on this environment', {
        details: { feature: 'host.spaces' },
      });
    }
    const space = await spaceOf(ctx, spaceId);
    return await projectIdsInSpace(ctx.db, ctx.teams, space.id);
  };
}

async function spaceOf(ctx: Ctx, spaceId: string, needed: Role = 'viewer'): Promise<Space> {
  const space = await findSpace(ctx.db, ctx.caller, spaceId);
  if (space === undefined) throw notFound('space');
  if (roleAtLeast(space.role, needed)) return space;
  throw apiError('role_insufficient', `your role in the space is ${space.role}, this needs ${needed}`, {
    details: { role: space.role, needed },
  });
}

async function projectOf(ctx: Ctx, projectId: string): Promise<Project> {
  const project = await findProject(ctx.db, ctx.teams, projectId);
  if (project === undefined) throw notFound('project');
  ctx.teams.require(project.teamId);
  return project;
}

/** A space is wider than a team, so that a key of one team does not change it. */
function refuseNarrowed({ onlyTeamId }: Caller): void {
  if (onlyTeamId === undefined) return;
  throw apiError(
    'scope_missing',
    'the API key is narrowed to one team and can neither create nor change a space; use one that is not',
  );
}

async function create(clock: Clock, ctx: Ctx, request: CreateRequest): Promise<Space> {
  const { caller } = ctx;
  refuseNarrowed(caller);
  const members = membersOf(caller, request);
  const others = [...members.keys()].filter((userId) => userId !== caller.userId);
  const known = await teammatesAmong(ctx.db, ctx.teams, others);
  if (others.some((userId) => !known.has(userId))) throw notFound('account');
  const now = clock.now();
  const space: Space = {
    id: newId('spc', now.getTime()),
    name: request.name,
    description: '',
    avatarUrl: null,
    kind: others.length === 0 ? 'personal' : 'organization',
    role: 'owner',
    createdAt: now,
    updatedAt: now,
  };
  await ctx.db.transact(async (db) => {
    const n = await countOwnedSpaces(db, caller.userId);
    if (n >= OWNED_SPACES_MAX)
      throw full(
        `the account owns ${n} spaces, at most ${OWNED_SPACES_MAX} are allowed`,
        n,
        OWNED_SPACES_MAX,
      );
    await insertSpace(db, space, members);
  });
  return space;
}

/** The caller is the owner whatever the list says; of an account that is named twice the last role counts. */
function membersOf(caller: Caller, { members }: CreateRequest): ReadonlyMap<string, Role> {
  const named = members.map(
    ({ userId, role }) => [userId, role === undefined ? 'developer' : roleName(role)] as const,
  );
  return new Map([...named, [caller.userId, 'owner']]);
}

async function add(ctx: Ctx, space: Space, project: Project, now: Date): Promise<void> {
  await ctx.db.transact(async (db) => {
    const n = await countSpaceProjects(db, space.id);
    if (await hasProject(db, space.id, project)) return;
    if (n >= PROJECTS_PER_SPACE_MAX)
      throw full(
        `the space holds ${n} projects, at most ${PROJECTS_PER_SPACE_MAX} are allowed`,
        n,
        PROJECTS_PER_SPACE_MAX,
      );
    await insertSpaceProject(db, space.id, project, now);
  });
}

function full(message: string, current: number, limit: number): Error {
  return apiError('limit_reached', message, { details: { limit, current } });
}
