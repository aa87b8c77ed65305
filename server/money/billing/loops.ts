/** These loops may run in any number of workers at once, because the work is in rows. */
import type { Feature, Running, System } from '../../kit/feature.ts';
import { startLoop, type Loop } from '../../base/loop.ts';
import type { FollowPlans } from '../plans/index.ts';
import type { BillingDeps } from './billing-deps.ts';
import { purgeEvents } from './events.ts';
import { addDunning, addLooks } from './reconcile.ts';
import { handleEvents } from './worker.ts';

/** Events that other processes stored, and those that are tried again. */
const EVENTS_MS = 1_000;
const LOOKS_MS = 60_000;
/**
 * Limits follow each change of a plan; this is for plans that a release changes, and for a provider that is
 * new or gone.
 */
const LIMITS_MS = 60 * 60_000;

/** Returns the loops, and `wake` for when something waits to be handled. */
export function startBillingLoops(
  {
    db,
    clock,
    onError,
    followPlans,
  }: Pick<System, 'db' | 'clock' | 'onError'> & { readonly followPlans: FollowPlans },
  deps: BillingDeps | undefined,
): { readonly wake: () => void; readonly feature: Pick<Feature, 'loops' | 'purges'> } {
  const limits = (): Running =>
    startLoop({ everyMs: LIMITS_MS, onError, run: async () => await followPlans(db.sql, 'all') });
  if (deps === undefined) return { wake: () => undefined, feature: { loops: [limits] } };
  let handling: Loop | undefined;
  const wake = (): void => handling?.wake();
  const events = (): Running =>
    (handling = startLoop({
      everyMs: EVENTS_MS,
      onError,
      run: async () => (await handleEvents(deps)) > 0,
    }));
  const looks = (): Running =>
    startLoop({
      everyMs: LOOKS_MS,
      onError,
      run: async () => {
        const now = clock.now();
        const { checkouts, accounts, statements } = await addLooks(db.sql, { now, all: false });
        if (checkouts + accounts + statements + (await addDunning(db.sql, now)) > 0) wake();
      },
    });
  return {
    wake,
    feature: { loops: [limits, events, looks], purges: [async () => await purgeEvents(db.sql)] },
  };
}
