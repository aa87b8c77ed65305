/**
 * The worker's look at teams and runners for what only time changes. Any number of servers may watch: each
 * change is one statement.
 */
import type { Clock } from '../../base/clock.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { WorkSettings } from '../work/index.ts';
import { endPauses, enterDegraded, leaveDegraded, noteOutdated } from './degraded.ts';
import { eachStep, startLoop, type Loop } from '../../base/loop.ts';

export interface WatchDeps {
  readonly sql: SqlTag;
  readonly clock: Clock;
  readonly settings: WorkSettings;
  onError(error: unknown): void;
}

export function startWatch({ sql, clock, settings, onError }: WatchDeps): Loop {
  // While runners are switched off none can call, and it is nobody's fault; after that each has its time to
  // come back.
  let offAtMs = Number.NEGATIVE_INFINITY;
  const mayEnter = (): boolean => {
    if (!settings.runnersOn()) offAtMs = clock.monotonicMs();
    return clock.monotonicMs() - offAtMs > settings.silentMs;
  };
  return startLoop({
    everyMs: settings.watchEveryMs,
    onError,
    run: async () => {
      const steps = [
        async () => await endPauses(sql),
        async () => await noteOutdated(sql, settings),
        async () => await leaveDegraded(sql, settings),
        async () => (mayEnter() ? await enterDegraded(sql, settings) : []),
      ];
      await eachStep(steps, onError);
    },
  });
}
