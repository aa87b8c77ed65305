/**
 * API keys in the database. A key that was made with another one is its child and ends with it: `endOfKey`
 * decides that at every use, over the whole line of parents. Keys of one account are made and revoked in
 * turns, under the lock of the account's row, so that no child is made beside the revocation of its parent.
 */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import { and, desc, eq, gt, isNull, or, sql, type SQL } from 'drizzle-orm';
import type { Caller, Ctx } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { STAFF_SCOPE } from '../../kit/scopes.ts';
import { seesStaffKeys } from './bounds.ts';
import { apiKeys } from './schema.ts';

export type KeyRow = typeof apiKeys.$inferSelect;

const LIST_MAX = 500;

/**
 * Builds SQL for the moment when the key of this id (a column or a value) ends. It is its own end, or that of
 * a key above it when that comes earlier. It is null when there is no such key. A revoked one ended at the
 * epoch, so that it does not matter whose clock said when. The number of keys that an account may have bounds
 * the line.
 */
export const endOfKey = (sql: SqlTag, id: ReturnType<SqlTag> | string) => sql`(
  with recursive line as (
    select a.parent_id, a.expires_at, a.revoked_at from api_keys a where a.id = ${id}
    union all
    select p.parent_id, p.expires_at, p.revoked_at from api_keys p join line on p.id = line.parent_id
  )
  select min(case when revoked_at is null then expires_at else 'epoch' end) from line)`;

/** Keys of the caller's account that the caller may know of. */
function known(caller: Caller): SQL | undefined {
  return and(
    eq(apiKeys.userId, caller.userId),
    caller.onlyTeamId === undefined ? undefined : eq(apiKeys.teamId, caller.onlyTeamId),
    seesStaffKeys(caller) ? undefined : sql`not ${STAFF_SCOPE} = any(${apiKeys.scopes})`,
  );
}

/** Newest first, without those that were revoked before `revokedSince`. */
export async function listKeys({ db, caller }: Ctx, revokedSince: Date): Promise<KeyRow[]> {
  return await db.orm
    .select()
    .from(apiKeys)
    .where(and(known(caller), or(isNull(apiKeys.revokedAt), gt(apiKeys.revokedAt, revokedSince))))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
    .limit(LIST_MAX);
}

export async function findKey({ db, caller }: Ctx, id: string): Promise<KeyRow | undefined> {
  const [row] = await db.orm
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), known(caller)));
  return row;
}

export async function lockAccount({ sql }: Database, userId: string): Promise<void> {
  await sql`select 1 from users where id = ${userId} for update`;
}

/** It is called under the account's lock. */
export async function countLiveKeys({ orm }: Database, userId: string, now: Date): Promise<number> {
  return await orm.$count(
    apiKeys,
    and(eq(apiKeys.userId, userId), isNull(apiKeys.revokedAt), gt(apiKeys.expiresAt, now)),
  );
}

/**
 * Finds out when the key ends; it is undefined when the key has ended by now. Under the account's lock it
 * stays so.
 */
export async function liveKeyEnd({ sql }: Database, id: string, now: Date): Promise<Date | undefined> {
  const [row] = await sql<Array<{ end: Date | null }>>`select ${endOfKey(sql, id)} as "end"`;
  const end = row?.end ?? undefined;
  return end !== undefined && end > now ? end : undefined;
}

/** Revokes the key and every key below it, under the account's lock. Returns how many worked until now. */
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

/**
 * Revokes every key of the account, whose lock the caller holds; or, of somebody who leaves a team, those for
 * that team alone, so that none of them comes back with its person.
 */
export async function revokeKeys(
  { orm }: Database,
  { userId, teamId }: { readonly userId: string; readonly teamId?: string },
  now: Date,
): Promise<void> {
  const ofTeam = teamId === undefined ? undefined : eq(apiKeys.teamId, teamId);
  await orm
    .update(apiKeys)
    .set({ revokedAt: now })
    .where(and(eq(apiKeys.userId, userId), ofTeam, isNull(apiKeys.revokedAt)));
}
