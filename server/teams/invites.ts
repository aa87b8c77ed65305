/** Invitations: a token for 7 days, stored hashed, used once. One open invitation for each team and address. */
import { randomBytes } from 'node:crypto';
import { hashToken } from '../accounts/index.ts';
import type { Clock } from '../platform/clock.ts';
import type { Role } from '../platform/context.ts';
import type { Database } from '../platform/db/index.ts';
import { newId } from '../platform/ids.ts';

const LIFE_MS = 7 * 86_400_000;
const LIST_MAX = 500;

export interface Invite {
  readonly id: string;
  readonly teamId: string;
  readonly email: string;
  readonly role: Role;
  readonly expiresAt: Date;
  readonly createdAt: Date;
}

export async function createInvite(
  { db, clock }: { db: Database; clock: Clock },
  invite: { readonly teamId: string; readonly email: string; readonly role: Role },
): Promise<{ readonly invite: Invite; readonly token: string }> {
  const now = clock.now();
  const token = `invt_${randomBytes(24).toString('base64url')}`;
  const row = {
    id: newId('inv', now.getTime()),
    ...invite,
    expiresAt: new Date(now.getTime() + LIFE_MS),
    createdAt: now,
  };
  await db.sql`
    insert into team_invites (id, team_id, email, role, token_hash, created_at, expires_at)
    values (${row.id}, ${row.teamId}, ${row.email}, ${row.role}, ${hashToken(token)}, ${now}, ${row.expiresAt})
    on conflict (team_id, email) where accepted_at is null do update set
      id = excluded.id, role = excluded.role, token_hash = excluded.token_hash,
      created_at = excluded.created_at, expires_at = excluded.expires_at`;
  return { invite: row, token };
}

export async function listInvites({ sql }: Database, teamId: string, now: Date): Promise<readonly Invite[]> {
  return await sql<Invite[]>`
    select id, team_id as "teamId", email, role, expires_at as "expiresAt", created_at as "createdAt" from team_invites
    where team_id = ${teamId} and accepted_at is null and expires_at > ${now} order by created_at desc, id desc limit ${LIST_MAX}`;
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

/** The open invitation of a token, without using it. */
export async function findInvite({ sql }: Database, token: string, now: Date): Promise<Invite | undefined> {
  const [row] = await sql<Invite[]>`
    select id, team_id as "teamId", email, role, expires_at as "expiresAt", created_at as "createdAt" from team_invites
    where token_hash = ${hashToken(token)} and accepted_at is null and expires_at > ${now}`;
  return row;
}

/** Uses it. False when somebody else was faster. */
export async function useInvite({ sql }: Database, inviteId: string, now: Date): Promise<boolean> {
  const { count } =
    await sql`update team_invites set accepted_at = ${now} where id = ${inviteId} and accepted_at is null`;
  return count === 1;
}
