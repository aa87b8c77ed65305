/**
 * Changes a space, each act with its entry in the ledger. A space belongs to no team: its own acts stand in
 * the platform's chain, and what is done with a project in the chain of the project's team, whose admins it
 * concerns.
 */
import { eq } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import {
  UpdateRequestSchema,
  type CreateRequest,
  type UpdateRequest,
} from '@svc/proto/gen/svc/spaces/v1/spaces_pb.ts';
import type { Caller, Ctx, Role } from '../../kit/context.ts';
import { assertMayGrantRole } from '../../kit/grants.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, given } from '../../kit/resource/index.ts';
import { roleName } from '../../kit/scopes.ts';
import { spaceProjects, spaces } from './schema.ts';
import {
  countOwnedSpaces,
  inSpace,
  insertSpace,
  insertSpaceProject,
  lockSpace,
  teammatesAmong,
  type ProjectRef,
  type Space,
} from './store.ts';

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

/** A member of a space does with it what these scopes allow: a space itself grants nothing on a team. */
export function assertMayGrantSpaceRole(caller: Caller, role: Role): void {
  assertMayGrantRole(caller, role, SPACE_SCOPES);
}

interface Room {
  readonly resource: string;
  /** Holder of so many: `the account owns 7 spaces`. */
  readonly held: string;
  readonly current: number;
  readonly limit: number;
}

export function refuseFull({ resource, held, current, limit }: Room): void {
  if (current < limit) return;
  const details = { resource, limit, current };
  throw apiError('limit_reached', `${held}, at most ${limit} are allowed`, { details });
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
  const { name } = request;
  const id = newId('spc', now.getTime());
  const kind = others.length === 0 ? 'personal' : 'organization';
  const act = {
    action: 'space.created',
    on: { id },
    details: () => ({ name, members: Object.fromEntries(members) }),
  };
  const made = await change(ctx, act, async (tx) => {
    const current = await countOwnedSpaces(tx);
    const held = `the account owns ${current} spaces`;
    refuseFull({ resource: 'space', held, current, limit: OWNED_SPACES_MAX });
    return await insertSpace(tx.db, { id, name, kind, createdAt: now, updatedAt: now }, members);
  });
  return { ...made, role: 'owner' };
}

/** The caller is the owner whatever the list says; of an account that is named twice the last role counts. */
function membersOf(caller: Caller, { members }: CreateRequest): ReadonlyMap<string, Role> {
  const named = members.map(
    ({ userId, role }) => [userId, role === undefined ? 'developer' : roleName(role)] as const,
  );
  return new Map([...named, [caller.userId, 'owner']]);
}

export async function changeSpace(ctx: Ctx, { id }: Space, request: UpdateRequest): Promise<void> {
  const { spaceId: _, ...changes } = given(UpdateRequestSchema, request);
  const fields = Object.keys(changes);
  if (fields.length === 0) return;
  const set = { ...changes, updatedAt: ctx.clock.now() } as Partial<typeof spaces.$inferInsert>;
  const act = { action: 'space.updated', on: { id }, details: () => ({ fields }) };
  await change(ctx, act, async ({ db }) => db.orm.update(spaces).set(set).where(eq(spaces.id, id)));
}

export async function removeSpace(ctx: Ctx, { id, name }: Space): Promise<void> {
  const act = { action: 'space.deleted', on: { id }, details: () => ({ name }) };
  await change(ctx, act, async ({ db }) => {
    const { count } = await db.orm.delete(spaces).where(eq(spaces.id, id));
    if (count === 0) throw notFound('space'); // Somebody else was faster.
    return count;
  });
}

export async function addProject(ctx: Ctx, { id: spaceId }: Space, project: ProjectRef): Promise<void> {
  const act = { action: 'space.project_added', on: project, details: () => ({ spaceId }) };
  await change(ctx, act, async ({ db }) => {
    if (!(await lockSpace(db, spaceId))) throw notFound('space');
    if ((await db.orm.$count(spaceProjects, inSpace(spaceId, project))) > 0) return undefined;
    // All projects count, also those that the caller does not see.
    const current = await db.orm.$count(spaceProjects, eq(spaceProjects.spaceId, spaceId));
    const held = `the space holds ${current} projects`;
    refuseFull({ resource: 'project of a space', held, current, limit: PROJECTS_PER_SPACE_MAX });
    const { id: projectId, teamId } = project;
    await insertSpaceProject(db, { spaceId, teamId, projectId, addedAt: ctx.clock.now() });
    return project;
  });
}

export async function removeProject(ctx: Ctx, { id: spaceId }: Space, project: ProjectRef): Promise<void> {
  const act = { action: 'space.project_removed', on: project, details: () => ({ spaceId }) };
  await change(ctx, act, async ({ db }) => {
    const { count } = await db.orm.delete(spaceProjects).where(inSpace(spaceId, project));
    if (count === 0) throw notFound('project');
    return project;
  });
}
