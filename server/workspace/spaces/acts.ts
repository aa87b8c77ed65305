/**
 * What changes a space, each act with its entry in the ledger. A space belongs to no team: its own acts stand in the platform's chain, and what is
 * done with a project in the chain of the project's team, whose admins it concerns.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import type { CreateRequest } from '@svc/proto/gen/svc/spaces/v1/spaces_pb.ts';
import { PLATFORM_CHAIN, recordAct } from '../../platform/ledger/index.ts';
import type { Caller, Ctx, Role } from '../../platform/context.ts';
import { newId } from '../../platform/ids.ts';
import { assertMayGrantRole } from '../../platform/grants.ts';
import { notFound } from '../../platform/not-found.ts';
import { roleName } from '../../platform/scopes.ts';
import {
  countOwnedSpaces,
  countSpaceProjects,
  deleteSpace,
  deleteSpaceProject,
  hasProject,
  insertSpace,
  insertSpaceProject,
  lockSpace,
  teammatesAmong,
  updateSpace,
} from './store.ts';
import type { ProjectRef, Space, SpaceChanges } from './store.ts';

/** Spaces that one account may own. */
export const OWNED_SPACES_MAX = 100;
/** Bounds the list of ids that `projects.list` is filtered with, and what a search reads. */
export const PROJECTS_PER_SPACE_MAX = 500;

/** A space is wider than a team, so that a key of one team does not change it. */
export function refuseNarrowed({ onlyTeamId }: Caller): void {
  if (onlyTeamId === undefined) return;
  throw apiError(
    'scope_missing',
    'the API key is narrowed to one team and can neither create nor change a space; use one that is not',
  );
}

const SPACE_SCOPES: ReadonlySet<string> = new Set(['project:read', 'project:write']);

/** A space grants nothing on a team; a member does with it what these scopes allow. */
export function assertMayGrantSpaceRole(caller: Caller, role: Role): void {
  assertMayGrantRole(caller, role, SPACE_SCOPES);
}

export function full(message: string, current: number, limit: number): Error {
  return apiError('limit_reached', message, { details: { limit, current } });
}

export async function createSpace(ctx: Ctx, request: CreateRequest): Promise<Space> {
  const { caller } = ctx;
  refuseNarrowed(caller);
  const members = membersOf(caller, request);
  const others = [...members.keys()].filter((userId) => userId !== caller.userId);
  for (const userId of others) assertMayGrantSpaceRole(caller, members.get(userId) ?? 'owner');
  const known = await teammatesAmong(ctx.db, ctx.teams, others);
  if (others.some((userId) => !known.has(userId))) throw notFound('account');
  const now = ctx.clock.now();
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
    const details = { name: space.name, members: Object.fromEntries(members) };
    await recordAct(db, ctx, { chain: PLATFORM_CHAIN, action: 'space.created', target: space.id, details });
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

export async function changeSpace(ctx: Ctx, space: Space, changes: SpaceChanges): Promise<void> {
  const fields = Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (fields.length === 0) return;
  await ctx.db.transact(async (db) => {
    await updateSpace(db, space.id, changes, ctx.clock.now());
    const act = { chain: PLATFORM_CHAIN, action: 'space.updated', target: space.id, details: { fields } };
    await recordAct(db, ctx, act);
  });
}

export async function removeSpace(ctx: Ctx, { id, name }: Space): Promise<void> {
  await ctx.db.transact(async (db) => {
    if (!(await deleteSpace(db, id))) throw notFound('space'); // somebody else was faster
    const act = { chain: PLATFORM_CHAIN, action: 'space.deleted', target: id, details: { name } };
    await recordAct(db, ctx, act);
  });
}

export async function addProject(ctx: Ctx, space: Space, project: ProjectRef): Promise<void> {
  await ctx.db.transact(async (db) => {
    if (!(await lockSpace(db, space.id))) throw notFound('space');
    if (await hasProject(db, space.id, project)) return;
    const n = await countSpaceProjects(db, space.id);
    if (n >= PROJECTS_PER_SPACE_MAX)
      throw full(
        `the space holds ${n} projects, at most ${PROJECTS_PER_SPACE_MAX} are allowed`,
        n,
        PROJECTS_PER_SPACE_MAX,
      );
    await insertSpaceProject(db, space.id, project, ctx.clock.now());
    await recordAct(db, ctx, projectAct('space.project_added', space, project));
  });
}

export async function removeProject(ctx: Ctx, space: Space, project: ProjectRef): Promise<void> {
  await ctx.db.transact(async (db) => {
    if (!(await deleteSpaceProject(db, space.id, project))) throw notFound('project');
    await recordAct(db, ctx, projectAct('space.project_removed', space, project));
  });
}

function projectAct(action: string, space: Space, project: ProjectRef) {
  return { chain: project.teamId, action, target: project.id, details: { spaceId: space.id } };
}
