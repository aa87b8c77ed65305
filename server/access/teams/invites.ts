/**
 * An invitation is a token for 7 days, stored hashed and used once. A team has one open invitation for each
 * address. It is its maker's and holds no longer than the maker could make it: it is deleted when the maker
 * leaves the team or falls below it, and every look asks again, which covers a key that it was made with and
 * that ended meanwhile.
 */
// No TeamScope: memberships and invitations, which a TeamScope is made of.
import { randomBytes } from 'node:crypto';
import { and, eq, isNull } from 'drizzle-orm';
import { hashToken } from '../accounts/index.ts';
import { endOfKey } from '../apikeys/index.ts';
import type { Ctx, Role } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { InboxSource } from '../../kit/inbox.ts';
import { newId } from '../../base/ids.ts';
import { ROLES } from '../../kit/scopes.ts';
import { mayInvite } from './members.ts';
import { teamInvites } from './schema.ts';
import type { Membership } from './store.ts';

const LIFE_MS = 7 * 86_400_000;
const LIST_MAX = 500;

export type InviteRow = typeof teamInvites.$inferSelect;

export interface Invite extends Pick<
  InviteRow,
  'id' | 'teamId' | 'email' | 'role' | 'expiresAt' | 'createdAt' | 'mail' | 'mailProblem'
> {
  /** The account with an unverified address that accepted it and waits until the team confirms it. */
  readonly awaiting: { readonly userId: string; readonly username: string; readonly since: Date } | undefined;
}

export type MadeInvite = Invite & { readonly token: string };

export interface InviteOfTeam {
  readonly teamId: string;
  readonly inviteId: string;
}

interface OpenRow extends Omit<Invite, 'awaiting'>, Pick<InviteRow, 'awaitingSince'> {
  /** The role of the maker at this moment. */
  readonly inviterRole: Role;
  readonly awaitingUserId: string | null;
  readonly awaitingName: string | null;
}

const columns = (sql: SqlTag) => sql`
  i.id, i.team_id as "teamId", i.email, i.role, i.expires_at as "expiresAt", i.created_at as "createdAt", m.role as "inviterRole",
  i.mail, i.mail_problem as "mailProblem", w.id as "awaitingUserId", w.username as "awaitingName", i.awaiting_since as "awaitingSince"`;

/** The address of who waits must still be the invited one: the account may have given way. */
const open = (sql: SqlTag, now: Date) => sql`
  team_invites i join team_members m on m.team_id = i.team_id and m.user_id = i.invited_by
  left join users w on w.id = i.awaiting_user_id and w.email = i.email
  where i.accepted_at is null and i.expires_at > ${now}
    and (i.invited_with_key is null or ${endOfKey(sql, sql`i.invited_with_key`)} > ${now})`;

/** The people who accepted an invitation and wait to be let in. */
export const waitingMembers: InboxSource = {
  scope: 'team:manage',
  find: (sql, { teamId, take, nowMs }) => sql`
    select 'membership_confirmation'::text as kind, i.id, w.username || ' accepted an invitation and waits to be let in' as text,
      i.awaiting_since as since, null::text as "projectId", null::text as "environmentId"
    from ${open(sql, new Date(nowMs))} and i.team_id = ${teamId} and w.id is not null
    order by i.awaiting_since desc limit ${take}::int`,
};

/** Keeps those of open invitations whose maker could still make them. */
function holding(rows: readonly OpenRow[]): readonly Invite[] {
  return rows
    .filter(({ inviterRole, role }) => mayInvite(inviterRole, role))
    .map(({ awaitingUserId, awaitingName, awaitingSince, ...row }) => ({
      ...row,
      awaiting:
        awaitingUserId === null || awaitingName === null || awaitingSince === null
          ? undefined
          : { userId: awaitingUserId, username: awaitingName, since: awaitingSince },
    }));
}

/** The new invitation takes the place of the open one for the same address. */
export async function createInvite(
  { db, clock, caller }: Ctx,
  invite: Pick<Invite, 'teamId' | 'email' | 'role' | 'mail'>,
): Promise<MadeInvite> {
  const now = clock.now();
  const token = `invt_${randomBytes(24).toString('base64url')}`;
  const id = newId('inv', now.getTime());
  const row = {
    id,
    ...invite,
    mailProblem: null,
    expiresAt: new Date(now.getTime() + LIFE_MS),
    createdAt: now,
  };
  const withKey = caller.kind === 'session' ? null : caller.credentialId;
  await db.sql`
    insert into team_invites (id, team_id, email, role, token_hash, created_at, expires_at, invited_by, invited_with_key, mail)
    values (${id}, ${row.teamId}, ${row.email}, ${row.role}, ${hashToken(token)}, ${now}, ${row.expiresAt}, ${caller.userId}, ${withKey}, ${row.mail})
    on conflict (team_id, email) where accepted_at is null do update set
      id = excluded.id, role = excluded.role, token_hash = excluded.token_hash, created_at = excluded.created_at,
      expires_at = excluded.expires_at, invited_by = excluded.invited_by, invited_with_key = excluded.invited_with_key,
      awaiting_user_id = null, awaiting_since = null, mail = excluded.mail, mail_problem = null`;
  return { ...row, awaiting: undefined, token };
}

export async function listInvites({ sql }: Database, teamId: string, now: Date): Promise<readonly Invite[]> {
  const rows = await sql<OpenRow[]>`
    select ${columns(sql)} from ${open(sql, now)} and i.team_id = ${teamId}
    order by i.created_at desc, i.id desc limit ${LIST_MAX}`;
  return holding(rows);
}

export async function findInviteById(
  { sql }: Database,
  { teamId, inviteId }: InviteOfTeam,
  now: Date,
): Promise<Invite | undefined> {
  const rows = await sql<OpenRow[]>`
    select ${columns(sql)} from ${open(sql, now)} and i.team_id = ${teamId} and i.id = ${inviteId}`;
  return holding(rows)[0];
}

/** Deletes an open invitation, and returns undefined when there is none or it was accepted. */
export async function deleteInvite(
  { orm }: Database,
  { teamId, inviteId }: InviteOfTeam,
): Promise<InviteRow | undefined> {
  const { id, teamId: team, acceptedAt } = teamInvites;
  const [row] = await orm
    .delete(teamInvites)
    .where(and(eq(id, inviteId), eq(team, teamId), isNull(acceptedAt)))
    .returning();
  return row;
}

/**
 * Takes back what the member invited and may not invite any more with the role that is left, undefined for
 * none; of one who leaves also what is open for the own address. Under the lock of the team's row. Returns
 * how many.
 */
export async function endInvitesOf(
  { sql }: Database,
  member: Membership & { readonly email: string },
  left: Role | undefined,
): Promise<number> {
  const beyond = ROLES.filter((role) => left === undefined || !mayInvite(left, role));
  const { count } = await sql`
    delete from team_invites where team_id = ${member.teamId} and accepted_at is null
      and ((invited_by = ${member.userId} and role = any(${beyond})) or (${left === undefined}::boolean and email = ${member.email}))`;
  return count;
}

/** The open invitation of a token, without using it. */
export async function findInvite({ sql }: Database, token: string, now: Date): Promise<Invite | undefined> {
  const rows = await sql<OpenRow[]>`
    select ${columns(sql)} from ${open(sql, now)} and i.token_hash = ${hashToken(token)}`;
  return holding(rows)[0];
}

/** Notes who accepted it and waits until the team confirms it. */
export async function noteAwaiting(
  { sql }: Database,
  { inviteId, userId }: { readonly inviteId: string; readonly userId: string },
  now: Date,
): Promise<void> {
  await sql`
    update team_invites set awaiting_user_id = ${userId}, awaiting_since = ${now}
    where id = ${inviteId} and awaiting_user_id is distinct from ${userId}`;
}

/** False when somebody else was faster. */
export async function useInvite({ orm }: Database, inviteId: string, now: Date): Promise<boolean> {
  const used = await orm
    .update(teamInvites)
    .set({ acceptedAt: now })
    .where(and(eq(teamInvites.id, inviteId), isNull(teamInvites.acceptedAt)))
    .returning({ id: teamInvites.id });
  return used.length === 1;
}
