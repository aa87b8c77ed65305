/**
 * Invitations: a token for 7 days, stored hashed, used once. One open invitation for each team and address. It is its maker's and holds no longer than
 * the maker could make it: it is deleted when the maker leaves the team or falls below it, and every look asks again, which covers
 * a key that it was made with and that ended meanwhile.
 */
import { randomBytes } from 'node:crypto';
import { hashToken } from '../accounts/index.ts';
import { endOfKey } from '../apikeys/index.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Caller, Role } from '../../platform/context.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { ROLES } from '../../platform/scopes.ts';
import { mayInvite } from './members.ts';

const LIFE_MS = 7 * 86_400_000;
const LIST_MAX = 500;

export interface Invite {
  readonly id: string;
  readonly teamId: string;
  readonly email: string;
  readonly role: Role;
  readonly expiresAt: Date;
  readonly createdAt: Date;
  /** Who accepted it with an unverified address and waits for the team's word. */
  readonly awaiting: { readonly userId: string; readonly username: string; readonly since: Date } | undefined;
}

interface InviteRow extends Omit<Invite, 'awaiting'> {
  /** Of the maker, at this moment. */
  readonly inviterRole: Role;
  readonly awaitingUserId: string | null;
  readonly awaitingName: string | null;
  readonly awaitingSince: Date | null;
}

const columns = (sql: SqlTag) => sql`
  i.id, i.team_id as "teamId", i.email, i.role, i.expires_at as "expiresAt", i.created_at as "createdAt", m.role as "inviterRole",
  w.id as "awaitingUserId", w.username as "awaitingName", i.awaiting_since as "awaitingSince"`;

/** The address of who waits must still be the invited one: the account may have given way. */
const open = (sql: SqlTag, now: Date) => sql`
  team_invites i join team_members m on m.team_id = i.team_id and m.user_id = i.invited_by
  left join users w on w.id = i.awaiting_user_id and w.email = i.email
  where i.accepted_at is null and i.expires_at > ${now}
    and (i.invited_with_key is null or ${endOfKey(sql, sql`i.invited_with_key`)} > ${now})`;

/** Of open rows those whose maker could still make them. */
function holding(rows: readonly InviteRow[]): readonly Invite[] {
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

export async function createInvite(
  { db, clock, caller }: { readonly db: Database; readonly clock: Clock; readonly caller: Caller },
  invite: { readonly teamId: string; readonly email: string; readonly role: Role },
): Promise<{ readonly invite: Invite; readonly token: string }> {
  const now = clock.now();
  const token = `invt_${randomBytes(24).toString('base64url')}`;
  const row = {
    id: newId('inv', now.getTime()),
    ...invite,
    expiresAt: new Date(now.getTime() + LIFE_MS),
    createdAt: now,
    awaiting: undefined,
  };
  const withKey = caller.kind === 'session' ? null : caller.credentialId;
  await db.sql`
    insert into team_invites (id, team_id, email, role, token_hash, created_at, expires_at, invited_by, invited_with_key)
    values (${row.id}, ${row.teamId}, ${row.email}, ${row.role}, ${hashToken(token)}, ${now}, ${row.expiresAt}, ${caller.userId}, ${withKey})
    on conflict (team_id, email) where accepted_at is null do update set
      id = excluded.id, role = excluded.role, token_hash = excluded.token_hash, created_at = excluded.created_at,
      expires_at = excluded.expires_at, invited_by = excluded.invited_by, invited_with_key = excluded.invited_with_key,
      awaiting_user_id = null, awaiting_since = null`;
  return { invite: row, token };
}

export async function listInvites({ sql }: Database, teamId: string, now: Date): Promise<readonly Invite[]> {
  const rows = await sql<InviteRow[]>`
    select ${columns(sql)} from ${open(sql, now)} and i.team_id = ${teamId}
    order by i.created_at desc, i.id desc limit ${LIST_MAX}`;
  return holding(rows);
}

export async function findInviteById(
  { sql }: Database,
  { teamId, inviteId }: { readonly teamId: string; readonly inviteId: string },
  now: Date,
): Promise<Invite | undefined> {
  const rows = await sql<InviteRow[]>`
    select ${columns(sql)} from ${open(sql, now)} and i.team_id = ${teamId} and i.id = ${inviteId}`;
  return holding(rows)[0];
}

/** The address that it was for; undefined when there is none (any more). */
export async function deleteInvite(
  { sql }: Database,
  teamId: string,
  inviteId: string,
): Promise<string | undefined> {
  const [row] = await sql<Array<{ email: string }>>`
    delete from team_invites where team_id = ${teamId} and id = ${inviteId} and accepted_at is null returning email`;
  return row?.email;
}

/**
 * Takes back what the member invited and may not invite any more with the role that is left, undefined for none; of one who leaves also what is
 * open for the own address. Under the lock of the team's row. Returns how many.
 */
export async function endInvitesOf(
  { sql }: Database,
  member: { readonly teamId: string; readonly userId: string; readonly email: string },
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
  const rows = await sql<InviteRow[]>`
    select ${columns(sql)} from ${open(sql, now)} and i.token_hash = ${hashToken(token)}`;
  return holding(rows)[0];
}

/** Notes who waits for the team's word. */
export async function awaitWord(
  { sql }: Database,
  inviteId: string,
  userId: string,
  now: Date,
): Promise<void> {
  await sql`
    update team_invites set awaiting_user_id = ${userId}, awaiting_since = ${now}
    where id = ${inviteId} and awaiting_user_id is distinct from ${userId}`;
}

/** Uses it. False when somebody else was faster. */
export async function useInvite({ sql }: Database, inviteId: string, now: Date): Promise<boolean> {
  const { count } =
    await sql`update team_invites set accepted_at = ${now} where id = ${inviteId} and accepted_at is null`;
  return count === 1;
}
