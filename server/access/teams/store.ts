/** Teams in the database. The only file that knows the columns of `teams` and `team_members`. */
import type { Role } from '../../platform/context.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import type { Operator } from '../../platform/resource/schema.ts';

export interface Team {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly avatarUrl: string | null;
  readonly kind: 'personal' | 'organization';
  readonly regionId: string;
  readonly operator: Operator;
  readonly servicePool: boolean;
  readonly createdAt: Date;
}

export interface Member {
  readonly userId: string;
  readonly email: string;
  readonly username: string;
  /** The address is known to be the person's. */
  readonly emailVerified: boolean;
  readonly role: Role;
  readonly joinedAt: Date;
}

const LIST_MAX = 500;

const columns = (sql: SqlTag) => sql`
  t.id, t.name, t.description, t.avatar_url as "avatarUrl", t.kind, t.region_id as "regionId", r.operator,
  t.service_pool as "servicePool", t.created_at as "createdAt"`;

export async function listTeams({ sql }: Database, teamIds: readonly string[]): Promise<readonly Team[]> {
  return await sql<Team[]>`
    select ${columns(sql)} from teams t join regions r on r.id = t.region_id
    where t.id = any(${[...teamIds]}) order by t.name, t.id limit ${LIST_MAX}`;
}

export async function findTeam({ sql }: Database, teamId: string): Promise<Team | undefined> {
  const [row] = await sql<Team[]>`
    select ${columns(sql)} from teams t join regions r on r.id = t.region_id where t.id = ${teamId}`;
  return row;
}

/** Makes changes to one team's members take turns, so that what was counted still holds when it is written. */
export async function lockTeam({ sql }: Database, teamId: string): Promise<boolean> {
  const rows = await sql`select 1 from teams where id = ${teamId} for update`;
  return rows.length === 1;
}

/** Where a new team begins: the first region that the service operates. */
export async function defaultRegion({ sql }: Database): Promise<{ readonly id: string }> {
  const [row] = await sql<Array<{ id: string }>>`
    select id from regions where operator = 'service' order by id limit 1`;
  if (row === undefined)
    throw new Error('no region is operated by the service: the first start did not finish');
  return row;
}

export interface NewTeam {
  readonly id: string;
  readonly name: string;
  readonly kind: 'personal' | 'organization';
  readonly regionId: string;
  readonly servicePool: boolean;
  readonly createdAt: Date;
}

export async function insertTeam({ sql }: Database, team: NewTeam): Promise<void> {
  await sql`
    insert into teams (id, name, kind, region_id, service_pool, created_at)
    values (${team.id}, ${team.name}, ${team.kind}, ${team.regionId}, ${team.servicePool}, ${team.createdAt})`;
}

export interface TeamChanges {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly avatarUrl?: string | undefined;
  readonly kind?: 'personal' | 'organization' | undefined;
}

export async function updateTeam({ sql }: Database, teamId: string, changes: TeamChanges): Promise<void> {
  await sql`
    update teams set
      name = coalesce(${changes.name ?? null}, name), description = coalesce(${changes.description ?? null}, description),
      avatar_url = coalesce(${changes.avatarUrl ?? null}, avatar_url), kind = coalesce(${changes.kind ?? null}, kind)
    where id = ${teamId}`;
}

export async function setTeamRegion({ sql }: Database, teamId: string, regionId: string): Promise<void> {
  await sql`update teams set region_id = ${regionId} where id = ${teamId}`;
}

export async function deleteTeam({ sql }: Database, teamId: string): Promise<void> {
  await sql`delete from teams where id = ${teamId}`;
}

const memberColumns = (sql: SqlTag) =>
  sql`m.user_id as "userId", u.email, u.username, u.email_verified_at is not null as "emailVerified", m.role, m.joined_at as "joinedAt"`;

export async function listMembers({ sql }: Database, teamId: string): Promise<readonly Member[]> {
  return await sql<Member[]>`
    select ${memberColumns(sql)} from team_members m join users u on u.id = m.user_id
    where m.team_id = ${teamId} order by u.username limit ${LIST_MAX}`;
}

/** Of one account; in the order of team ids, so that two that lock them do not wait for each other. */
export async function listMemberships(
  { sql }: Database,
  userId: string,
): Promise<ReadonlyArray<{ readonly teamId: string; readonly role: Role }>> {
  return await sql<Array<{ teamId: string; role: Role }>>`
    select team_id as "teamId", role from team_members where user_id = ${userId} order by team_id`;
}

export async function findMember(
  { sql }: Database,
  teamId: string,
  userId: string,
): Promise<Member | undefined> {
  const [row] = await sql<Member[]>`
    select ${memberColumns(sql)} from team_members m join users u on u.id = m.user_id
    where m.team_id = ${teamId} and m.user_id = ${userId}`;
  return row;
}

export async function findMemberByEmail(
  { sql }: Database,
  teamId: string,
  email: string,
): Promise<Member | undefined> {
  const [row] = await sql<Member[]>`
    select ${memberColumns(sql)} from team_members m join users u on u.id = m.user_id
    where m.team_id = ${teamId} and u.email = ${email}`;
  return row;
}

/** Joining again keeps the role that is there. */
export async function insertMember(
  { sql }: Database,
  teamId: string,
  member: { userId: string; role: Role; joinedAt: Date },
): Promise<void> {
  await sql`
    insert into team_members (team_id, user_id, role, joined_at)
    values (${teamId}, ${member.userId}, ${member.role}, ${member.joinedAt}) on conflict do nothing`;
}

export async function setMemberRole(
  { sql }: Database,
  teamId: string,
  userId: string,
  role: Role,
): Promise<void> {
  await sql`update team_members set role = ${role} where team_id = ${teamId} and user_id = ${userId}`;
}

export async function deleteMember({ sql }: Database, teamId: string, userId: string): Promise<void> {
  await sql`delete from team_members where team_id = ${teamId} and user_id = ${userId}`;
}

export async function countOwners({ sql }: Database, teamId: string): Promise<number> {
  const [row] = await sql<Array<{ n: number }>>`
    select count(*)::int as n from team_members where team_id = ${teamId} and role = 'owner'`;
  return row?.n ?? 0;
}

/** Counts under a lock on the account, so that two creations take turns. */
export async function countOwnedTeams({ sql }: Database, userId: string): Promise<number> {
  await sql`select 1 from users where id = ${userId} for update`;
  const [row] = await sql<Array<{ n: number }>>`
    select count(*)::int as n from team_members where user_id = ${userId} and role = 'owner'`;
  return row?.n ?? 0;
}
