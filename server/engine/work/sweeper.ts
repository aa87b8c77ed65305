/**
 * Takes items back from holders whose lease has ended. Any number of servers sweep at once: finding and changing is one statement, and
 * `skip locked` gives each item to one of them. The database's clock alone decides what has ended.
 */
import type { SqlTag } from '../../platform/db/index.ts';
import type { WorkSettings } from './settings.ts';
import { release } from './sql.ts';
import type { WorkState } from './states.ts';
import { startLoop } from '../../platform/loop.ts';
import { ms } from '../../platform/sql.ts';
import type { Loop } from '../../platform/loop.ts';

export interface Swept {
  readonly id: string;
  readonly state: WorkState;
  readonly runnerId: string;
}

/** One sweep of at most `batch` items. */
export async function sweep(sql: SqlTag, settings: WorkSettings): Promise<readonly Swept[]> {
  return await sql<Swept[]>`
    with ${release(sql, settings, {
      lost: sql`
        where x.ended_at is null and x.expires_at < now() - ${ms(sql, settings.graceMs)}
        order by x.expires_at limit ${settings.batch}::int
        for update of x, w skip locked`,
      endReason: 'expired',
      backoff: true,
    })},
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select r.team_id, r.id, clock_timestamp(), 'runner.lease_expired',
        e.id || case when e.was = 'offered' then ' was offered and not accepted' else ' ran and its lease was not renewed' end
          || '; it is ' || e.state || ' now'
      from released e join runners r on r.id = e.runner_id
    )
    select e.id, e.state, e.runner_id as "runnerId" from released e`;
}

export interface SweeperDeps {
  readonly sql: SqlTag;
  readonly settings: WorkSettings;
  /** Items that are queued again or ended. */
  onSwept(items: readonly Swept[]): void;
  onError(error: unknown): void;
}

export function startSweeper(deps: SweeperDeps): Loop {
  return startLoop({
    everyMs: deps.settings.sweepEveryMs,
    onError: deps.onError,
    run: async () => {
      const swept = await sweep(deps.sql, deps.settings);
      if (swept.length > 0) deps.onSwept(swept);
      return swept.length === deps.settings.batch;
    },
  });
}
