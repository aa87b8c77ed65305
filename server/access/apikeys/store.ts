/**
 * API keys in the database. A key that was made with another one is its child and ends with it: `endOfKey` decides that at every use, over the
 * whole line of parents. Keys of one account are made and revoked in turns, under the lock of the account's row, so that no child is
 * made beside the revocation of its parent.
 */
import type { Caller } from '../../platform/context.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import { STAFF_SCOPE } from '../../platform/scopes.ts';
import { seesStaffKeys } from './bounds.ts';
import type { apiKeys } from './schema.ts';

/** Without the digest of the secret. */
export type KeyRow = Readonly<Omit<typeof apiKeys.$inferSelect, 'digest' | 'userId'>>;

const columns = (sql: SqlTag) => sql`
  id, name, kid, scopes, team_id as "teamId", parent_id as "parentId", created_at as "createdAt", expires_at as "expiresAt",
  last_used_at as "lastUsedAt", revoked_at as "revokedAt"`;

/**
 * SQL for the moment when the key of this id (a column or a value) ends: its own end, or that of a key above it when it comes earlier. Null for
 * none of ours. A revoked one ended at the epoch, so that it does not matter whose clock said when. The number of keys that an account
 * may have bounds the line.
 */
export const endOfKey = (sql: SqlTag, id: ReturnType<SqlTag> | string) => sql`(
  with recursive line as (
    select a.parent_id, a.expires_at, a.revoked_at from api_keys a where a.id = ${id}
    union all
    select p.parent_id, p.expires_at, p.revoked_at from api_keys p join line on p.id = line.parent_id
  )
  select min(case when revoked_at is null then expires_at else 'epoch' end) from line)`;

/** Keys of the caller's account that the caller may know of. */
const known = (sql: SqlTag, caller: Caller) => {
  const only = caller.onlyTeamId ?? null;
  return sql`
    user_id = ${caller.userId} and (${only}::text is null or team_id = ${only})
    and (${seesStaffKeys(caller)}::boolean or not ${STAFF_SCOPE} = any(scopes))`;
};

/** Newest first, without those that were revoked before `revokedSince`. */
export async function listKeys(
  { sql }: Database,
  caller: Caller,
  revokedSince: Date,
): Promise<readonly KeyRow[]> {
  return await sql<KeyRow[]>`
    select ${columns(sql)} from api_keys
    where ${known(sql, caller)} and (revoked_at is null or revoked_at > ${revokedSince})
    order by created_at desc, id desc limit 500`;
}

export async function findKey({ sql }: Database, caller: Caller, id: string): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select ${columns(sql)} from api_keys where id = ${id} and ${known(sql, caller)}`;
  return row;
}

export async function lockAccount({ sql }: Database, userId: string): Promise<void> {
  await sql`select 1 from users where id = ${userId} for update`;
}

/** Under the account's lock. */
export async function countLiveKeys({ sql }: Database, userId: string, now: Date): Promise<number> {
  const [row] = await sql<Array<{ n: number }>>`
    select count(*)::int as n from api_keys where user_id = ${userId} and revoked_at is null and expires_at > ${now}`;
  return row?.n ?? 0;
}

/** When the key ends; undefined when it has ended by now. Under the account's lock it stays so. */
export async function liveKeyEnd({ sql }: Database, id: string, now: Date): Promise<Date | undefined> {
  const [row] = await sql<Array<{ end: Date | null }>>`select ${endOfKey(sql, id)} as "end"`;
  const end = row?.end ?? undefined;
  return end !== undefined && end > now ? end : undefined;
}

export interface StoredKey {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly teamId: string | undefined;
  readonly parentId: string | undefined;
  readonly expiresAt: Date;
  readonly kid: string;
  readonly digest: Uint8Array;
  readonly createdAt: Date;
}

export async function insertKey({ sql }: Database, key: StoredKey): Promise<KeyRow> {
  const [row] = await sql<KeyRow[]>`
    insert into api_keys (id, user_id, team_id, parent_id, name, kid, digest, scopes, created_at, expires_at)
    values (${key.id}, ${key.userId}, ${key.teamId ?? null}, ${key.parentId ?? null}, ${key.name}, ${key.kid}, ${key.digest}, ${[...key.scopes]}, ${key.createdAt}, ${key.expiresAt})
    returning ${columns(sql)}`;
  if (row === undefined) throw new Error('insert of an API key returned no row');
  return row;
}

/** The key and every key below it. Under the account's lock. Returns how many worked until now. */
export async function revokeLine({ sql }: Database, id: string, now: Date): Promise<number> {
  const { count } = await sql`
    with recursive line as (
      select id from api_keys where id = ${id}
      union all
      select c.id from api_keys c join line on c.parent_id = line.id
    )
    update api_keys set revoked_at = ${now} where id in (select id from line) and revoked_at is null`;
  return count;
}

/** Every key of the account. Under its lock. */
/** Of somebody who leaves a team: keys that are for it alone, so that none of them comes back with its person. */
export async function revokeKeysOfTeam(
  { sql }: Database,
  { userId, teamId }: { readonly userId: string; readonly teamId: string },
  now: Date,
): Promise<void> {
  await sql`
    update api_keys set revoked_at = ${now} where user_id = ${userId} and team_id = ${teamId} and revoked_at is null`;
}

export async function revokeAllKeys({ sql }: Database, userId: string, now: Date): Promise<void> {
  await sql`update api_keys set revoked_at = ${now} where user_id = ${userId} and revoked_at is null`;
}
