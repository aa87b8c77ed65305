/** Sessions of people begin at sign-in, and end by sign-out, idling, age or a change of the password. */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import { and, desc, eq, gt, lt, ne } from 'drizzle-orm';
import type { CallContext } from '@svc/proto/http/call.ts';
import type { SessionTimes } from './accounts.settings.ts';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { sessions, totp } from './schema.ts';
import type { User } from './store.ts';
import { createHash, randomBytes } from 'node:crypto';

export function sessionTimesOf(
  times: SessionTimes,
  staff: boolean,
): { readonly idleMs: number; readonly absoluteMs: number } {
  return staff
    ? { idleMs: times.staffIdleMs, absoluteMs: times.staffAbsoluteMs }
    : { idleMs: times.idleMs, absoluteMs: times.absoluteMs };
}

export interface NewSession {
  readonly id: string;
  readonly token: string;
  readonly expiresAt: Date;
}

const LIST_MAX = 200;
const USER_AGENT_MAX = 200;

export interface Beginning {
  readonly db: Database;
  readonly clock: Clock;
  readonly times: SessionTimes;
  readonly call: CallContext;
  readonly method: SessionRow['method'];
}

export type SessionRow = typeof sessions.$inferSelect;

/** Undefined when the password is no longer the one that was checked: what it was good for ended with it. */
export async function openSession(
  { db, clock, times, call, method }: Beginning,
  user: User,
): Promise<NewSession | undefined> {
  const now = clock.now();
  const token = newSessionToken();
  const id = newId('ses', now.getTime());
  const expiresAt = new Date(now.getTime() + sessionTimesOf(times, user.staff).absoluteMs);
  const userAgent = (call.header('user-agent') ?? '').slice(0, USER_AGENT_MAX);
  const { count } = await db.sql`
    insert into sessions (id, user_id, token_hash, created_at, last_seen_at, expires_at, method, remote_address, user_agent)
    select ${id}, u.id, ${hashToken(token)}, ${now}, ${now}, ${expiresAt}, ${method}, ${call.remoteAddress}, ${userAgent}
    from users u where u.id = ${user.id} and u.password_hash = ${user.passwordHash} for share`;
  return count === 1 ? { id, token, expiresAt } : undefined;
}

/**
 * Returns whether it began after `since` and at a sign-in with a one-time code, which is asked for from the
 * moment that one is confirmed.
 */
export async function beganWithBothFactors(
  { orm }: Database,
  sessionId: string,
  since: Date,
): Promise<boolean> {
  const found = await orm
    .select({ id: sessions.id })
    .from(sessions)
    .innerJoin(totp, eq(totp.userId, sessions.userId))
    .where(
      and(
        eq(sessions.id, sessionId),
        gt(sessions.createdAt, since),
        lt(totp.confirmedAt, sessions.createdAt),
      ),
    );
  return found.length === 1;
}

/** Lists those of the account that are good now, the one that was used last first. */
export async function openSessions(
  { orm }: Database,
  user: Pick<User, 'id' | 'staff'>,
  { now, times }: { readonly now: Date; readonly times: SessionTimes },
): Promise<readonly SessionRow[]> {
  const idleSince = new Date(now.getTime() - sessionTimesOf(times, user.staff).idleMs);
  return await orm
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, user.id), gt(sessions.expiresAt, now), gt(sessions.lastSeenAt, idleSince)))
    .orderBy(desc(sessions.lastSeenAt), desc(sessions.id))
    .limit(LIST_MAX);
}

/** Returns false when the account has no such session. */
export async function endSession(
  { orm }: Database,
  which: Pick<SessionRow, 'id' | 'userId'>,
): Promise<boolean> {
  const ended = await orm
    .delete(sessions)
    .where(and(eq(sessions.id, which.id), eq(sessions.userId, which.userId)))
    .returning({ id: sessions.id });
  return ended.length === 1;
}

/** Ends all sessions of the account, or all but one; returns how many. */
export async function endSessions({ orm }: Database, userId: string, keptId?: string): Promise<number> {
  const others = keptId === undefined ? undefined : ne(sessions.id, keptId);
  const ended = await orm
    .delete(sessions)
    .where(and(eq(sessions.userId, userId), others))
    .returning({ id: sessions.id });
  return ended.length;
}

/** Forgets sessions that ended by age, and those that nobody used for longer than any idle limit. */
export async function purgeSessions({ sql }: Database, clock: Clock, times: SessionTimes): Promise<number> {
  const now = clock.now();
  const idleSince = new Date(now.getTime() - Math.max(times.idleMs, times.staffIdleMs));
  const { count } =
    await sql`delete from sessions where expires_at <= ${now} or last_seen_at <= ${idleSince}`;
  return count;
}

const PREFIX = 'sest_';

export function newSessionToken(): string {
  return `${PREFIX}${randomBytes(32).toString('base64url')}`;
}

export function looksLikeSessionToken(text: string): boolean {
  return text.startsWith(PREFIX) && text.length === PREFIX.length + 43;
}

export function hashToken(token: string): Uint8Array {
  return createHash('sha256').update(token).digest();
}
