/** The looks of reconcile.ts all at once, for staff who wait for them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { apiError } from '@svc/proto/http/errors.ts';
import type { BillingDeps } from './billing-deps.ts';
import { addLooks, looksLeft } from './reconcile.ts';
import type { Looks } from './reconcile.ts';
import { handleEvents } from './worker.ts';

const WITHIN_MS = 100_000;
const PAUSE_MS = 200;

/** This process handles events until those that it added are done, whoever handles them. */
export async function reconcileNow(deps: BillingDeps): Promise<Looks> {
  const { db, clock } = deps;
  const now = clock.now();
  const looks = await addLooks(db.sql, { now, all: true });
  const untilMs = performance.now() + WITHIN_MS;
  for (;;) {
    const handled = await handleEvents(deps);
    const { left, failed } = await looksLeft(db.sql, now);
    if (left === 0) return looks;
    if (failed > 0 || performance.now() > untilMs)
      throw apiError(
        'unavailable',
        `${left} of the looks that were begun are not done, ${failed} of them failed; they are tried again by themselves`,
        { details: { left, failed } },
      );
    if (handled === 0) await sleep(PAUSE_MS);
  }
}
