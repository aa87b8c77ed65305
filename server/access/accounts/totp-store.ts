/**
 * This file keeps the one-time codes of accounts in the database. A code counts once: its step must be later
 * than the last accepted one, and a recovery code leaves the list in the statement that accepts it, so that
 * of two sign-ins with the same code one is refused.
 */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import { createHash } from 'node:crypto';
import { and, eq, lt } from 'drizzle-orm';
import { randomBase62 } from '../../base/base62.ts';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { totp } from './schema.ts';
import { matchStep } from './totp-code.ts';

const RECOVERY_CODES = 10;

/** `secret` is sealed, see base/secrets.ts. */
export type Totp = typeof totp.$inferSelect;

export interface TotpDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
}

const sealedAt = (userId: string): string => `totp.secret:${userId}`;

export async function findTotp({ orm }: Database, userId: string): Promise<Totp | undefined> {
  const [row] = await orm.select().from(totp).where(eq(totp.userId, userId));
  return row;
}

/** Replaces an unconfirmed secret. False when a confirmed one is there. */
export async function putPendingTotp(deps: TotpDeps, userId: string, secret: Uint8Array): Promise<boolean> {
  const sealed = deps.secrets.seal(sealedAt(userId), secret);
  const { count } = await deps.db.sql`
    insert into totp (user_id, secret, created_at) values (${userId}, ${sealed}, ${deps.clock.now()})
    on conflict (user_id) do update set secret = excluded.secret, created_at = excluded.created_at, last_step = 0
      where totp.confirmed_at is null`;
  return count === 1;
}

/** Accepts a code of the app at most once. */
export async function acceptTotpCode(deps: TotpDeps, found: Totp, code: string): Promise<boolean> {
  const { userId } = found;
  const secret = deps.secrets.open(sealedAt(userId), found.secret);
  const step = matchStep(secret, code, deps.clock.now());
  if (step === undefined) return false;
  const accepted = await deps.db.orm
    .update(totp)
    .set({ lastStep: step })
    .where(and(eq(totp.userId, userId), lt(totp.lastStep, step)))
    .returning({ userId: totp.userId });
  return accepted.length === 1;
}

/** Answers the recovery codes. */
export async function confirmTotp({ orm }: Database, userId: string, now: Date): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () => randomBase62(16).toLowerCase());
  await orm
    .update(totp)
    .set({ confirmedAt: now, recoveryHashes: codes.map(hashRecovery) })
    .where(eq(totp.userId, userId));
  return codes;
}

export async function acceptRecoveryCode({ sql }: Database, userId: string, code: string): Promise<boolean> {
  const hash = hashRecovery(code.trim().toLowerCase());
  const { count } = await sql`
    update totp set recovery_hashes = array_remove(recovery_hashes, ${hash})
    where user_id = ${userId} and ${hash} = any(recovery_hashes)`;
  return count === 1;
}

/** True when codes were asked for until now. */
export async function removeTotp({ orm }: Database, userId: string): Promise<boolean> {
  const [row] = await orm.delete(totp).where(eq(totp.userId, userId)).returning();
  return row !== undefined && row.confirmedAt !== null;
}

/** Plain SHA-256 is enough: the codes have 80 random bits and more. */
function hashRecovery(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}
