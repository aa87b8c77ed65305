/**
 * What effects could not do with single events, a row for each pair:
 *
 *     waiting ──tried again, done──> (no row)
 *        │ └──failed: waits longer each time──┐ └──failed once too often──> dead ──played again by staff──>
 *        waiting
 *
 * The row is locked while its effect is tried and goes away in the same transaction: whoever dies in between
 * has done nothing.
 */
import { isRetryable, isStatementTimeout, type SqlTag } from '../../base/db/index.ts';
import type { EventEffect } from '../feature.ts';
import { doubling } from '../jobs/index.ts';
import { ms } from '../../base/sql.ts';
import { attempt, checkAtOnce, type EffectsDeps, type Pass } from './attempt.ts';
import { effectName } from './effects.ts';

const ATTEMPTS = 10;
const backoff = doubling(5_000, 3_600_000);
const ERROR_MAX = 1_000;
const BATCH = 50;
/** A pass holds what its effects lock until it ends. */
const PASS_MS = 1_000;
const DEAD_OF_NOBODY_KEPT = '30 days';

export interface Failure {
  readonly eventId: string;
  readonly effect: string;
  readonly error: Error;
}

/** Copies of events that are about to leave the outbox. */
export async function park(sql: SqlTag, failures: readonly Failure[]): Promise<void> {
  if (failures.length === 0) return;
  await sql`
    insert into outbox_parked (event_id, effect, team_id, kind, dedupe_key, payload, created_at, state, attempts, due_at, last_error)
    select o.id, f.effect, o.team_id, o.kind, o.dedupe_key, o.payload, o.created_at, 'waiting', f.attempts, now() + ${ms(sql, backoff(1))}, f.error
    from unnest(${failures.map(({ eventId }) => eventId)}::text[], ${failures.map(({ effect }) => effect)}::text[],
      ${failures.map(({ error }) => (isRetryable(error) ? 0 : 1))}::int[], ${failures.map(({ error }) => wordsOf(error))}::text[])
      as f (event_id, effect, attempts, error)
    join outbox o on o.id = f.event_id`;
}

interface Due {
  readonly eventId: string;
  readonly effect: string;
  readonly attempts: number;
}

/** Effects that another version of the server knows are left to it. */
export async function playParked({ db, effects, onError }: EffectsDeps): Promise<Pass> {
  const byName = new Map(effects.map((effect) => [effectName(db.sql, effect), effect]));
  const dead: Array<Due & { readonly error: Error }> = [];
  const pass = await db.transact(async ({ sql }) => {
    await checkAtOnce(sql);
    const due = await sql<Due[]>`
      select event_id as "eventId", effect, attempts from outbox_parked
      where state = 'waiting' and due_at <= now() and effect = any(${[...byName.keys()]}::text[])
      order by due_at, created_at limit ${BATCH}::int for update skip locked`;
    const startedAt = performance.now();
    for (const [at, one] of due.entries()) {
      if (at > 0 && performance.now() - startedAt > PASS_MS) return { count: at, isMore: true };
      const error = await play(sql, one, byName.get(one.effect));
      if (error !== undefined) dead.push({ ...one, error });
    }
    return { count: due.length, isMore: due.length === BATCH };
  });
  for (const { eventId, effect, error } of dead)
    onError(
      new Error(
        `the effect ${effect} of the event ${eventId} is dead after ${ATTEMPTS} attempts; when its cause is removed: svc admin-events replay --event-id ${eventId}`,
        { cause: error },
      ),
    );
  return pass;
}

/** Returns the error of the last attempt that there is. */
async function play(sql: SqlTag, { eventId, effect, attempts }: Due, run: EventEffect | undefined) {
  if (run === undefined) return undefined;
  const which = sql`event_id = ${eventId} and effect = ${effect}`;
  const error = await attempt(
    sql,
    run,
    sql`select event_id as id, team_id, kind, dedupe_key, payload, created_at from outbox_parked where ${which}`,
  );
  if (error === undefined) {
    await sql`delete from outbox_parked where ${which}`;
    return undefined;
  }
  // Alone, it is by itself that it takes too long.
  const failed = attempts + (isRetryable(error) && !isStatementTimeout(error) ? 0 : 1);
  const isDead = failed >= ATTEMPTS;
  await sql`
    update outbox_parked set attempts = ${failed}, state = ${isDead ? 'dead' : 'waiting'}, last_error = ${wordsOf(error)},
      due_at = clock_timestamp() + ${ms(sql, isDead ? 0 : backoff(Math.max(failed, 1)))}
    where ${which}`;
  return isDead ? error : undefined;
}

const wordsOf = ({ message }: Error): string => message.slice(0, ERROR_MAX);

/** Effects that are played again; an absent field means any. */
export interface Replayed {
  readonly effect?: string | undefined;
  readonly eventId?: string | undefined;
}

/** Returns how many are tried again, with all their attempts ahead of them. */
export async function replayParked(sql: SqlTag, { effect, eventId }: Replayed): Promise<number> {
  const { count } = await sql`
    update outbox_parked set state = 'waiting', attempts = 0, due_at = now()
    where effect = coalesce(${effect ?? null}, effect) and event_id = coalesce(${eventId ?? null}, event_id)`;
  return count;
}

/** Dead ones are kept as long as their team is there: what they lack is still owed. */
export async function purgeParked(sql: SqlTag): Promise<void> {
  await sql`
    delete from outbox_parked p
    where state = 'dead' and due_at < now() - ${DEAD_OF_NOBODY_KEPT}::interval and not exists (select from teams t where t.id = p.team_id)`;
}
