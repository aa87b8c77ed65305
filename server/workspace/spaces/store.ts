/**
 * Reads and writes spaces in the database. A space is found through its membership alone: every read takes
 * the caller, whom only authentication makes, and every read of what is in a space takes the caller's
 * TeamScope beside it.
 */
// No TeamScope: members of a space, whose membership is the right to it.
import { and, eq, getTableColumns, sql as fragment } from 'drizzle-orm';
import type { Ctx, Role, TeamScope } from '../../kit/context.ts';
import { isForeignKeyViolation, type Database, type SqlTag } from '../../base/db/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { inTeams } from '../../kit/resource/index.ts';
import { spaceMembers, spaceProjects, spaces } from './schema.ts';

/** A space comes with the role of the caller. */
export type Space = typeof spaces.$inferSelect & Pick<Membership, 'role'>;

type Membership = typeof spaceMembers.$inferSelect;

export interface SpaceMember extends Omit<Membership, 'spaceId'> {
  readonly username: string;
  /** The address of the account is known to be the person's. */
  readonly emailVerified: boolean;
}

/** Project as far as a space is concerned. */
export interface ProjectRef {
  readonly id: string;
  readonly teamId: string;
}

const LIST_MAX = 500;

/**
 * Finds spaces that the caller reaches; a key that is narrowed to a team reaches those that hold a project of
 * it.
 */
function reached({ db, caller }: Pick<Ctx, 'db' | 'caller'>, id?: string) {
  const { userId, onlyTeamId } = caller;
  const ofTeam =
    onlyTeamId === undefined
      ? undefined
      : fragment`exists (
          select from ${spaceProjects} where ${spaceProjects.spaceId} = ${spaces.id} and ${spaceProjects.teamId} = ${onlyTeamId})`;
  return db.orm
    .select({ ...getTableColumns(spaces), role: spaceMembers.role })
    .from(spaces)
    .innerJoin(spaceMembers, eq(spaceMembers.spaceId, spaces.id))
    .where(and(eq(spaceMembers.userId, userId), ofTeam, id === undefined ? undefined : eq(spaces.id, id)));
}

export async function listSpaces(ctx: Ctx): Promise<readonly Space[]> {
  return await reached(ctx).orderBy(spaces.name, spaces.id).limit(LIST_MAX);
}

export async function findSpace(ctx: Ctx, id: string): Promise<Space | undefined> {
  return (await reached(ctx, id))[0];
}

/** Counts under a lock on the account, so that two creations take turns. */
export async function countOwnedSpaces({ db, caller }: Ctx): Promise<number> {
  const { userId } = caller;
  await db.sql`select 1 from users where id = ${userId} for update`;
  return await db.orm.$count(
    spaceMembers,
    and(eq(spaceMembers.userId, userId), eq(spaceMembers.role, 'owner')),
  );
}

/** Answers which of these accounts are in one of the scope's teams. */
export async function teammatesAmong(
  { sql }: Database,
  scope: TeamScope,
  userIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql<Array<{ userId: string }>>`
    select distinct user_id as "userId" from team_members
    where team_id = any(${scope.teamIds}) and user_id = any(${[...userIds]})`;
  return new Set(rows.map(({ userId }) => userId));
}

export async function insertSpace(
  { orm, sql }: Database,
  space: typeof spaces.$inferInsert,
  members: ReadonlyMap<string, Role>,
): Promise<typeof spaces.$inferSelect> {
  const [made] = await orm.insert(spaces).values(space).returning();
  if (made === undefined) throw new Error('an insert returned no row');
  await sql`
    insert into space_members (space_id, user_id, role, joined_at)
    select ${made.id}, user_id, role, ${made.createdAt}
    from unnest(${[...members.keys()]}::text[], ${[...members.values()]}::text[]) as given (user_id, role)`;
  return made;
}

/**
 * Makes changes to one space's members take turns, so that what was counted still holds when it is written.
 */
export async function lockSpace({ orm }: Database, spaceId: string): Promise<boolean> {
  const rows = await orm.select({ id: spaces.id }).from(spaces).where(eq(spaces.id, spaceId)).for('update');
  return rows.length === 1;
}

const memberColumns = (sql: SqlTag) =>
  sql`m.user_id as "userId", u.username, u.email_verified_at is not null as "emailVerified", m.role, m.joined_at as "joinedAt"`;

export async function listSpaceMembers({ sql }: Database, spaceId: string): Promise<readonly SpaceMember[]> {
  return await sql<SpaceMember[]>`
    select ${memberColumns(sql)} from space_members m join users u on u.id = m.user_id
    where m.space_id = ${spaceId} order by u.username limit ${LIST_MAX}`;
}

export async function findSpaceMember(
  { sql }: Database,
  spaceId: string,
  userId: string,
): Promise<SpaceMember | undefined> {
  const [row] = await sql<SpaceMember[]>`
    select ${memberColumns(sql)} from space_members m join users u on u.id = m.user_id
    where m.space_id = ${spaceId} and m.user_id = ${userId}`;
  return row;
}

/** All of them are counted, or those of one role. */
export async function countSpaceMembers({ orm }: Database, spaceId: string, role?: Role): Promise<number> {
  const ofRole = role === undefined ? undefined : eq(spaceMembers.role, role);
  return await orm.$count(spaceMembers, and(eq(spaceMembers.spaceId, spaceId), ofRole));
}

/** The project is in the space. */
export const inSpace = (spaceId: string, { id, teamId }: ProjectRef) =>
  and(eq(spaceProjects.spaceId, spaceId), eq(spaceProjects.projectId, id), eq(spaceProjects.teamId, teamId));

export async function insertSpaceProject(
  { orm }: Database,
  row: typeof spaceProjects.$inferInsert,
): Promise<void> {
  try {
    await orm.insert(spaceProjects).values(row);
  } catch (error) {
    if (isForeignKeyViolation(error, 'space_projects_project_fk')) throw notFound('project'); // It was deleted at this very moment.
    throw error;
  }
}

/** They are the projects that the scope's teams have in the space. */
export async function projectIdsInSpace(
  { orm }: Database,
  scope: TeamScope,
  spaceId: string,
): Promise<readonly string[]> {
  const rows = await orm
    .select({ projectId: spaceProjects.projectId })
    .from(spaceProjects)
    .where(and(inTeams(spaceProjects, scope), eq(spaceProjects.spaceId, spaceId)));
  return rows.map(({ projectId }) => projectId);
}
