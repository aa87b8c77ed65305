/**
 * Effects apart from each other, for events on which the common statement failed: each effect has a
 * savepoint, and one that fails is tried on halves of the events, down to the ones that it cannot take.
 * Everything is one transaction, so that an event leaves the outbox with its effects and with what is parked
 * of it, or not at all.
 */
import { isRetryable, type SqlTag } from '../../base/db/index.ts';
import type { EventEffect } from '../feature.ts';
import { attempt, checkAtOnce, type EffectsDeps } from './attempt.ts';
import { effectName } from './effects.ts';
import { park, type Failure } from './parked.ts';

/**
 * Fewer than in the common statement: what they lock is locked for as long as all effects and their halves
 * take.
 */
export const APART_BATCH = 50;

/** Returns how many events have left the outbox. */
export async function publishApart({ db, effects, onError }: EffectsDeps): Promise<number> {
  const parked: Failure[] = [];
  const count = await db.transact(async ({ sql }) => {
    await checkAtOnce(sql);
    const due = await sql<Array<{ id: string }>>`
      select id from outbox order by created_at limit ${APART_BATCH}::int for update skip locked`;
    const ids = due.map(({ id }) => id);
    if (ids.length === 0) return 0;
    for (const effect of effects) parked.push(...(await divide(sql, effect, ids)));
    await park(sql, parked);
    await sql`delete from outbox where id = any(${ids}::text[])`;
    return ids.length;
  });
  for (const [effect, { failures, error }] of byEffect(parked))
    onError(
      new Error(`the effect ${effect} waits for ${failures} events that it could not take`, { cause: error }),
    );
  return count;
}

/**
 * Events are not divided when they failed because of others (a lock that is held, a deadlock, no time), since
 * each half would wait as long.
 */
async function divide(sql: SqlTag, effect: EventEffect, ids: readonly string[]): Promise<readonly Failure[]> {
  const error = await attempt(sql, effect, sql`select * from outbox where id = any(${ids}::text[])`);
  if (error === undefined) return [];
  if (ids.length === 1 || isRetryable(error))
    return ids.map((eventId) => ({ eventId, effect: effectName(sql, effect), error }));
  const half = ids.length / 2;
  return [
    ...(await divide(sql, effect, ids.slice(0, half))),
    ...(await divide(sql, effect, ids.slice(half))),
  ];
}

function byEffect(failures: readonly Failure[]) {
  const found = new Map<string, { failures: number; error: Error }>();
  for (const { effect, error } of failures)
    found.set(effect, { failures: (found.get(effect)?.failures ?? 0) + 1, error });
  return found;
}
