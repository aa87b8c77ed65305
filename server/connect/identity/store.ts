/** id_tokens that were taken, and the tokens that they were exchanged for. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { createHash, randomBytes } from 'node:crypto';
import { and, eq, gt } from 'drizzle-orm';
import type { Clock } from '../../base/clock.ts';
import type { CiJob } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { Connection } from '../connections/index.ts';
import { ciJobTokens } from './schema.ts';

/**
 * A jti must be known for as long as the token could be taken: its end, and the difference of clocks on both
 * sides.
 */
const KEPT_AFTER_MS = 5 * 60_000;

/**
 * False when somebody has taken it before. Others who try at the same moment wait for how this transaction
 * ends.
 */
export async function takeOnce(
  { sql }: Database,
  { issuer, jti, expiresAt }: { readonly issuer: string; readonly jti: string; readonly expiresAt: Date },
): Promise<boolean> {
  const until = new Date(expiresAt.getTime() + KEPT_AFTER_MS);
  const { count } = await sql`
    insert into ci_used_id_tokens (issuer, jti, expires_at) values (${issuer}, ${jti}, ${until}) on conflict (issuer, jti) do nothing`;
  return count === 1;
}

const PREFIX = 'cijt_';

export function looksLikeJobToken(text: string): boolean {
  return text.startsWith(PREFIX) && text.length === PREFIX.length + 43;
}

const hashOf = (token: string): Uint8Array => createHash('sha256').update(token).digest();

export interface JobToken {
  readonly connectionId: string;
  readonly job: CiJob;
  readonly expiresAt: Date;
}

/** Returns the token itself, which is stored nowhere. */
export async function insertJobToken(
  { sql }: Database,
  { id, teamId }: Connection,
  { job, expiresAt, now }: { readonly job: CiJob; readonly expiresAt: Date; readonly now: Date },
): Promise<string> {
  const token = `${PREFIX}${randomBytes(32).toString('base64url')}`;
  await sql`
    insert into ci_job_tokens (token_hash, team_id, connection_id, job, expires_at, created_at)
    values (${hashOf(token)}, ${teamId}, ${id}, ${sql.json({ ...job, claims: { ...job.claims } })}, ${expiresAt}, ${now})`;
  return token;
}

export async function findJobToken(
  { orm }: Database,
  token: string,
  now: Date,
): Promise<JobToken | undefined> {
  const { tokenHash, connectionId, job, expiresAt } = ciJobTokens;
  const [row] = await orm
    .select({ connectionId, job, expiresAt })
    .from(ciJobTokens)
    .where(and(eq(tokenHash, hashOf(token)), gt(expiresAt, now)));
  return row;
}

export async function deleteJobTokens({ sql }: Database, connectionId: string): Promise<void> {
  await sql`delete from ci_job_tokens where connection_id = ${connectionId}`;
}

/** Deletes tokens that have ended, in pieces. */
export async function purgeIdTokens(sql: SqlTag, clock: Clock, piece = 5_000): Promise<void> {
  const now = clock.now();
  for (const table of ['ci_used_id_tokens', 'ci_job_tokens'])
    for (;;) {
      const { count } = await sql`
        delete from ${sql(table)} where ctid in (select ctid from ${sql(table)} where expires_at <= ${now} limit ${piece})`;
      if (count < piece) break;
    }
}
