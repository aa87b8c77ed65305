/**
 * Spaces in the database. A space is found through its membership alone: every read takes the caller, whom only authentication makes, and
 * every read of what is in a space takes the caller's TeamScope beside it.
 */
import type { Caller, Role, TeamScope } from '../../platform/context.ts';
import { isForeignKeyViolation } from '../../platform/db/index.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import { notFound } from '../../platform/not-found.ts';

export type SpaceKind = 'personal' | 'organization';

export interface Space {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly avatarUrl: string | null;
  readonly kind: SpaceKind;
  /** Of the caller. */
  readonly role: Role;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface SpaceMember {
  readonly userId: string;
  readonly username: string;
  /** The address of the account is known to be the person's. */
  readonly emailVerified: boolean;
  readonly role: Role;
  readonly joinedAt: Date;
}

/** Project as far as a space is concerned. */
export interface ProjectRef {
  readonly id: string;
  readonly teamId: string;
}

const LIST_MAX = 500;

const columns = (sql: SqlTag) => sql`
  s.id, s.name, s.description, s.avatar_url as "avatarUrl", s.kind, m.role, s.created_at as "createdAt", s.updated_at as "updatedAt"`;

/** Spaces that the caller reaches; a key that is narrowed to a team reaches those that hold a project of it. */
const reached = (sql: SqlTag, { userId, onlyTeamId }: Caller) => {
  const narrowed =
    onlyTeamId === undefined
      ? sql``
      : sql`and exists (select 1 from space_projects p where p.space_id = s.id and p.team_id = ${onlyTeamId})`;
  return sql`spaces s join space_members m on m.space_id = s.id and m.user_id = ${userId} ${narrowed}`;
};

export async function listSpaces({ sql }: Database, caller: Caller): Promise<readonly Space[]> {
  return await sql<Space[]>`
    select ${columns(sql)} from ${reached(sql, caller)} order by s.name, s.id limit ${LIST_MAX}`;
}

export async function findSpace({ sql }: Database, caller: Caller, id: string): Promise<Space | undefined> {
  const [row] = await sql<Space[]>`select ${columns(sql)} from ${reached(sql, caller)} where s.id = ${id}`;
  return row;
}

/** Counts under a lock on the account, so that two creations take turns. */
export async function countOwnedSpaces({ sql }: Database, userId: string): Promise<number> {
  await sql`select 1 from users where id = ${userId} for update`;
  const [row] = await sql<Array<{ n: number }>>`
    select count(*)::int as n from space_members where user_id = ${userId} and role = 'owner'`;
  return row?.n ?? 0;
}

/** Of these accounts those that are in one of the scope's teams. */
export async function teammatesAmong(
  { sql }: Database,
  scope: TeamScope,
  userIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql<Array<{ userId: string }>>`
    select distinct user_id as "userId" from team_members
    where team_id = any(${[...scope.teamIds]}) and user_id = any(${[...userIds]})`;
  return new Set(rows.map(({ userId }) => userId));
}

export async function insertSpace(
  { sql }: Database,
  space: Omit<Space, 'role'>,
  members: ReadonlyMap<string, Role>,
): Promise<void> {
  const { id, name, description, avatarUrl, kind, createdAt, updatedAt } = space;
  await sql`
    insert into spaces (id, name, description, avatar_url, kind, created_at, updated_at)
    values (${id}, ${name}, ${description}, ${avatarUrl}, ${kind}, ${createdAt}, ${updatedAt})`;
  await sql`
    insert into space_members (space_id, user_id, role, joined_at)
    select ${id}, user_id, role, ${createdAt}
    from unnest(${[...members.keys()]}::text[], ${[...members.values()]}::text[]) as given (user_id, role)`;
}

export interface SpaceChanges {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly avatarUrl?: string | undefined;
  readonly kind?: SpaceKind | undefined;
}

export async function updateSpace(
  { sql }: Database,
  spaceId: string,
  changes: SpaceChanges,
  now: Date,
): Promise<void> {
  await sql`
    update spaces set
      name = coalesce(${changes.name ?? null}, name), description = coalesce(${changes.description ?? null}, description),
      avatar_url = coalesce(${changes.avatarUrl ?? null}, avatar_url), kind = coalesce(${changes.kind ?? null}, kind),
      updated_at = ${now}
    where id = ${spaceId}`;
}

export async function deleteSpace({ sql }: Database, spaceId: string): Promise<boolean> {
  const { count } = await sql`delete from spaces where id = ${spaceId}`;
  return count === 1;
}

/** Makes changes to one space's members take turns, so that what was counted still holds when it is written. */
export async function lockSpace({ sql }: Database, spaceId: string): Promise<boolean> {
  const rows = await sql`select 1 from spaces where id = ${spaceId} for update`;
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

export async function countSpaceMembers(
  { sql }: Database,
  spaceId: string,
): Promise<{ readonly all: number; readonly owners: number }> {
  const [row] = await sql<Array<{ all: number; owners: number }>>`
    select count(*)::int as "all", (count(*) filter (where role = 'owner'))::int as owners
    from space_members where space_id = ${spaceId}`;
  return row ?? { all: 0, owners: 0 };
}

export async function putSpaceMember(
  { sql }: Database,
  spaceId: string,
  { userId, role, joinedAt }: Pick<SpaceMember, 'userId' | 'role' | 'joinedAt'>,
): Promise<void> {
  await sql`
    insert into space_members (space_id, user_id, role, joined_at) values (${spaceId}, ${userId}, ${role}, ${joinedAt})
    on conflict (space_id, user_id) do update set role = excluded.role`;
}

export async function deleteSpaceMember({ sql }: Database, spaceId: string, userId: string): Promise<void> {
  await sql`delete from space_members where space_id = ${spaceId} and user_id = ${userId}`;
}

/** Under `lockSpace`. All projects count, also those that the caller does not see. */
export async function countSpaceProjects({ sql }: Database, spaceId: string): Promise<number> {
  const [row] = await sql<Array<{ n: number }>>`
    select count(*)::int as n from space_projects where space_id = ${spaceId}`;
  return row?.n ?? 0;
}

export async function hasProject(
  { sql }: Database,
  spaceId: string,
  { id, teamId }: ProjectRef,
): Promise<boolean> {
  const rows = await sql`
    select 1 from space_projects where space_id = ${spaceId} and project_id = ${id} and team_id = ${teamId}`;
  return rows.length === 1;
}

export async function insertSpaceProject(
  { sql }: Database,
  spaceId: string,
  { id, teamId }: ProjectRef,
  addedAt: Date,
): Promise<void> {
  try {
    await sql`
      insert into space_projects (space_id, team_id, project_id, added_at)
      values (${spaceId}, ${teamId}, ${id}, ${addedAt})`;
  } catch (error) {
    if (isForeignKeyViolation(error, 'space_projects_project_fk')) throw notFound('project'); // deleted at this very moment
    throw error;
  }
}

/** False when it was not in there. */
export async function deleteSpaceProject(
  { sql }: Database,
  spaceId: string,
  { id, teamId }: ProjectRef,
): Promise<boolean> {
  const { count } = await sql`
    delete from space_projects where space_id = ${spaceId} and project_id = ${id} and team_id = ${teamId}`;
  return count === 1;
}

/** Those that the scope's teams have in the space. */
export async function projectIdsInSpace(
  { sql }: Database,
  scope: TeamScope,
  spaceId: string,
): Promise<readonly string[]> {
  const rows = await sql<Array<{ projectId: string }>>`
    select project_id as "projectId" from space_projects
    where space_id = ${spaceId} and team_id = any(${[...scope.teamIds]})`;
  return rows.map(({ projectId }) => projectId);
}
