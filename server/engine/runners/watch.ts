/** The worker's look at teams and runners for what only time changes. Any number of servers may watch: each change is one statement. */
import type { SqlTag } from '../../platform/db/index.ts';
import type { WorkSettings } from '../work/index.ts';
import { endPauses, enterDegraded, leaveDegraded, noteOutdated } from './degraded.ts';
import { startLoop } from '../../platform/loop.ts';
import type { Loop } from '../../platform/loop.ts';

export interface WatchDeps {
  readonly sql: SqlTag;
  readonly settings: WorkSettings;
  onError(error: unknown): void;
}

export function startWatch({ sql, settings, onError }: WatchDeps): Loop {
  return startLoop({
    everyMs: settings.watchEveryMs,
    onError,
    run: async () => {
      await endPauses(sql);
      await noteOutdated(sql, settings);
      await leaveDegraded(sql, settings);
      await enterDegraded(sql, settings);
    },
  });
}
