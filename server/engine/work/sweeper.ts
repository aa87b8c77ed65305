/**
 * Takes items back from holders whose lease has ended, and ends those that have waited for longer than they were to. Any number of servers sweep at once: finding and changing is one statement, and
 * `skip locked` gives each item to one of them. The database's clock alone decides what has ended.
 */
import type { SqlTag } from '../../platform/db/index.ts';
import type { WorkSettings } from './settings.ts';
import { settleBuilds } from './build-sql.ts';
import { announce, endedColumns, release, wiped } from './sql.ts';
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

/** Ends what no runner has begun in the time for which it was to wait: one sweep of at most `batch` items. */
export async function sweepQueue(
  sql: SqlTag,
  settings: WorkSettings,
): Promise<ReadonlyArray<Pick<Swept, 'id' | 'state'>>> {
  return await sql<Array<Pick<Swept, 'id' | 'state'>>>`
    with late as (
      select w.id from work_items w
      where w.state = 'queued' and w.attempt = 0 and w.queue_expires_at is not null and w.queue_expires_at < clock_timestamp()
      order by w.queue_expires_at limit ${settings.batch}::int
      for update skip locked
    ),
    ended as (
      update work_items w set
        state = 'failed', finished_at = clock_timestamp(), reason = 'queue_timeout',
        message = 'no runner had begun it ' || w.queue_timeout_seconds || ' s after its submission, which is as long as it was to wait',
        ${wiped(sql, sql`true`)}
      from late l where w.id = l.id
      returning ${endedColumns(sql)}
    ),
    ${settleBuilds(sql, 'ended', { lost: false })},
    ${announce(sql, 'ended')}
    select e.id, e.state from ended e`;
}

export interface SweeperDeps {
  readonly sql: SqlTag;
  readonly settings: WorkSettings;
  /** Items that are queued again or ended. */
  onSwept(items: ReadonlyArray<Pick<Swept, 'id'>>): void;
  onError(error: unknown): void;
}

export function startSweeper(deps: SweeperDeps): Loop {
  return startLoop({
    everyMs: deps.settings.sweepEveryMs,
    onError: deps.onError,
    run: async () => {
      const { sql, settings } = deps;
      const swept = await sweep(sql, settings);
      const late = await sweepQueue(sql, settings);
      const all = [...swept, ...late];
      if (all.length > 0) deps.onSwept(all);
      return Math.max(swept.length, late.length) === settings.batch;
    },
  });
}
