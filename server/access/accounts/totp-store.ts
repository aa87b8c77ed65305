/**
 * One-time codes of an account in the database. A code counts once: its step must be later than the last accepted one, and a
 * recovery code leaves the list in the statement that accepts it, so that of two sign-ins with the same code one is refused.
 */
import { createHash } from 'node:crypto';
import { randomBase62 } from '../../platform/base62.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { matchStep } from './totp-code.ts';

const RECOVERY_CODES = 10;

export interface Totp {
  /** Sealed, see platform/secrets.ts. */
  readonly secret: string;
  readonly confirmed_at: Date | null;
  readonly recovery_hashes: readonly string[];
}

const sealedAt = (userId: string): string => `totp.secret:${userId}`;

export async function findTotp({ sql }: Database, userId: string): Promise<Totp | undefined> {
  const [row] = await sql<
    Totp[]
  >`select secret, confirmed_at, recovery_hashes from totp where user_id = ${userId}`;
  return row;
}

/** Replaces an unconfirmed secret. False when a confirmed one is there. */
export async function putPendingTotp(
  deps: { db: Database; clock: Clock; secrets: Secrets },
  userId: string,
  secret: Uint8Array,
): Promise<boolean> {
  const sealed = deps.secrets.seal(sealedAt(userId), secret);
  const { count } = await deps.db.sql`
    insert into totp (user_id, secret, created_at) values (${userId}, ${sealed}, ${deps.clock.now()})
    on conflict (user_id) do update set secret = excluded.secret, created_at = excluded.created_at, last_step = 0
      where totp.confirmed_at is null`;
  return count === 1;
}

/** Accepts a code of the app at most once. */
export async function acceptTotpCode(
  deps: { db: Database; clock: Clock; secrets: Secrets },
  userId: string,
  totp: Totp,
  code: string,
): Promise<boolean> {
  const secret = deps.secrets.open(sealedAt(userId), totp.secret);
  const step = matchStep(secret, code, deps.clock.now());
  if (step === undefined) return false;
  const { count } = await deps.db
    .sql`update totp set last_step = ${step} where user_id = ${userId} and last_step < ${step}`;
  return count === 1;
}

export async function confirmTotp({ sql }: Database, userId: string, now: Date): Promise<readonly string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () => randomBase62(16).toLowerCase());
  await sql`update totp set confirmed_at = ${now}, recovery_hashes = ${codes.map(hashRecovery)} where user_id = ${userId}`;
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
export async function removeTotp({ sql }: Database, userId: string): Promise<boolean> {
  const rows = await sql<
    Array<{ confirmed: boolean }>
  >`delete from totp where user_id = ${userId} returning confirmed_at is not null as confirmed`;
  return rows[0]?.confirmed === true;
}

/** Plain SHA-256 is enough: the codes have 80 random bits and more. */
function hashRecovery(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}
