/** This file reads and writes teams and their members in the database. */
// No TeamScope: memberships and invitations, which a TeamScope is made of.
import { and, asc, eq, getTableColumns, sql, type SQL } from 'drizzle-orm';
import type { Role, TeamScope } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { inTeams, shown } from '../../kit/resource/index.ts';
import { regions, teams, type Operator } from '../../kit/resource/schema.ts';
import { teamMembers, teamPayers } from './schema.ts';
import { MemberSchema, TeamSchema, type Team as TeamMessage } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { Region } from '../../engine/regions/index.ts';

/** A team with the operator of its region. */
export type Team = Readonly<typeof teams.$inferSelect> & { readonly operator: Operator };
export type NewTeam = typeof teams.$inferInsert;
type Changeable = 'name' | 'description' | 'avatarUrl' | 'kind' | 'regionId' | 'shareFailures';
export type TeamChanges = { readonly [Column in Changeable]?: NewTeam[Column] | undefined };

export interface Membership {
  readonly teamId: string;
  readonly userId: string;
}

/** A member with what is shown of the account. */
export interface Member extends Readonly<typeof teamMembers.$inferSelect> {
  readonly email: string;
  readonly username: string;
  /** The address is known to be the person's. */
  readonly emailVerified: boolean;
}

const LIST_MAX = 500;

const selectTeams = ({ orm }: Database) =>
  orm
    .select({ ...getTableColumns(teams), operator: regions.operator })
    .from(teams)
    .innerJoin(regions, eq(regions.id, teams.regionId));

/** Ordered by name. */
export async function listTeams(db: Database, scope: TeamScope): Promise<Team[]> {
  return await selectTeams(db)
    .where(inTeams({ teamId: teams.id }, scope))
    .orderBy(asc(teams.name), asc(teams.id))
    .limit(LIST_MAX);
}

/** Teams whose names begin with the text, by name; `after` is the last one of the page before. */
export async function pageOfTeams(
  db: Database,
  {
    name,
    take,
    after,
  }: {
    readonly name: string | undefined;
    readonly take: number;
    readonly after: Pick<Team, 'name' | 'id'> | undefined;
  },
): Promise<Team[]> {
  const key = sql`lower(${teams.name}) collate "C"`;
  const first = sql`lower(${name})`;
  // The greatest character there is bounds what begins so.
  const begins =
    name === undefined ? undefined : sql`${key} >= ${first} and ${key} < ${first} || chr(1114111)`;
  const behind = after && sql`(${key}, ${teams.id}) > (lower(${after.name}), ${after.id})`;
  return await selectTeams(db).where(and(begins, behind)).orderBy(key, asc(teams.id)).limit(take);
}

export async function findTeam(db: Database, teamId: string): Promise<Team | undefined> {
  const [row] = await selectTeams(db).where(eq(teams.id, teamId));
  return row;
}

/**
 * Makes changes to one team's members take turns, so that what was counted still holds when it is written.
 * False: there is no such team.
 */
export async function lockTeam({ orm }: Database, teamId: string): Promise<boolean> {
  const rows = await orm.select({ id: teams.id }).from(teams).where(eq(teams.id, teamId)).for('update');
  return rows.length === 1;
}

/** The region of a new team is the first one that the service operates. */
export async function defaultRegion({ sql }: Database): Promise<string> {
  const [row] = await sql<Array<{ id: string }>>`
    select id from regions where operator = 'service' order by id limit 1`;
  if (row === undefined)
    throw new Error('no region is operated by the service: the first start did not finish');
  return row.id;
}

/** Whoever makes a team pays for it. */
export async function insertTeam(
  { orm }: Database,
  { payerId, ...team }: NewTeam & { readonly payerId: string },
): Promise<void> {
  await orm.insert(teams).values(team);
  await orm.insert(teamPayers).values({ teamId: team.id, fromAt: team.createdAt, payerId });
}

export async function updateTeam({ orm }: Database, teamId: string, set: TeamChanges): Promise<void> {
  await orm.update(teams).set(set).where(eq(teams.id, teamId));
}

export async function deleteTeam({ orm }: Database, teamId: string): Promise<void> {
  await orm.delete(teams).where(eq(teams.id, teamId));
}

const selectMembers = (sql: SqlTag) => sql`
  select m.team_id as "teamId", m.user_id as "userId", u.email, u.username, u.email_verified_at is not null as "emailVerified",
    m.role, m.joined_at as "joinedAt"
  from team_members m join users u on u.id = m.user_id`;

/** Ordered by user name. */
export async function listMembers({ sql }: Database, teamId: string): Promise<Member[]> {
  return await sql<Member[]>`
    ${selectMembers(sql)} where m.team_id = ${teamId} order by u.username limit ${LIST_MAX}`;
}

export async function findMember(
  { sql }: Database,
  { teamId, userId }: Membership,
): Promise<Member | undefined> {
  const [row] = await sql<Member[]>`
    ${selectMembers(sql)} where m.team_id = ${teamId} and m.user_id = ${userId}`;
  return row;
}

export async function findMemberByEmail(
  { sql }: Database,
  { teamId, email }: { readonly teamId: string; readonly email: string },
): Promise<Member | undefined> {
  const [row] = await sql<Member[]>`
    ${selectMembers(sql)} where m.team_id = ${teamId} and u.email = ${email}`;
  return row;
}

/**
 * The teams of one account in the order of their ids, so that two that lock them do not wait for each other.
 */
export async function listMemberships(
  { orm }: Database,
  userId: string,
): Promise<Array<typeof teamMembers.$inferSelect>> {
  return await orm
    .select()
    .from(teamMembers)
    .where(eq(teamMembers.userId, userId))
    .orderBy(asc(teamMembers.teamId));
}

/** Joining again keeps the role that is there. */
export async function insertMember(
  { orm }: Database,
  member: typeof teamMembers.$inferInsert,
): Promise<void> {
  await orm.insert(teamMembers).values(member).onConflictDoNothing();
}

export async function setMemberRole({ orm }: Database, which: Membership, role: Role): Promise<void> {
  await orm.update(teamMembers).set({ role }).where(isMember(which));
}

export async function deleteMember({ orm }: Database, which: Membership): Promise<void> {
  await orm.delete(teamMembers).where(isMember(which));
}

export async function countOwners({ orm }: Database, teamId: string): Promise<number> {
  return await orm.$count(teamMembers, and(eq(teamMembers.teamId, teamId), eq(teamMembers.role, 'owner')));
}

/** The owner who joined first. */
export async function firstOwner({ orm }: Database, teamId: string): Promise<string | undefined> {
  const [row] = await orm
    .select({ userId: teamMembers.userId })
    .from(teamMembers)
    .where(and(eq(teamMembers.teamId, teamId), eq(teamMembers.role, 'owner')))
    .orderBy(asc(teamMembers.joinedAt), asc(teamMembers.userId))
    .limit(1);
  return row?.userId;
}

/** Counts under a lock on the account, so that two creations take turns. */
export async function countOwnedTeams({ orm, sql }: Database, userId: string): Promise<number> {
  await sql`select 1 from users where id = ${userId} for update`;
  return await orm.$count(teamMembers, and(eq(teamMembers.userId, userId), eq(teamMembers.role, 'owner')));
}

function isMember({ teamId, userId }: Membership): SQL | undefined {
  return and(eq(teamMembers.teamId, teamId), eq(teamMembers.userId, userId));
}

/** The team as somebody with this role in it sees it. */
export function showTeam(team: Team, role: Role | undefined): TeamMessage {
  return shown(TeamSchema, { ...team, role, servicePool: team.servicePool || undefined });
}

export const showMember = (member: Member) => shown(MemberSchema, member);

export async function regionOfTeam({ sql }: Database, teamId: string): Promise<Region> {
  const [row] = await sql<Region[]>`
    select r.id, r.name, r.operator from teams t join regions r on r.id = t.region_id where t.id = ${teamId}`;
  if (row === undefined) throw new Error(`team ${teamId} is gone`);
  return row;
}
