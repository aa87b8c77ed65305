/**
 * Handles events: reads and calls first, then all effects in the transaction that ends the event. A worker
 * whose claim has gone to another one changes nothing.
 */
import type { BillingDeps } from './billing-deps.ts';
import {
  claimEvents,
  finishEvent,
  RENEW_EVERY_MS,
  renewEvent,
  returnEvent,
  type ClaimedEvent,
} from './events.ts';
import { handlerOf } from './handle.ts';
import { isFailure } from './provider.ts';

/** So many events are handled at once, each of another customer. */
const AT_ONCE = 8;

/** Returns how many were claimed. */
export async function handleEvents(deps: BillingDeps): Promise<number> {
  const events = await claimEvents(deps.db, AT_ONCE);
  await Promise.all(events.map(async (event) => await handleOne(deps, event)));
  return events.length;
}

async function handleOne(deps: BillingDeps, event: ClaimedEvent): Promise<void> {
  const { db, clock, onError } = deps;
  const renewing = setInterval(() => void renewEvent(db.sql, event).catch(onError), RENEW_EVERY_MS);
  try {
    const effects = await handlerOf(event.type)?.(deps, event);
    await db.transact(async (tx) => {
      if (await finishEvent(tx.sql, event)) await effects?.({ db: tx, now: clock.now(), eventId: event.id });
    });
  } catch (error) {
    await returnEvent(db.sql, event, error instanceof Error ? error.message : String(error));
    if (!isFailure(error, 'busy')) onError(error);
  } finally {
    clearInterval(renewing);
  }
}
