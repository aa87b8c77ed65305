/**
 * Takes items back from holders whose lease has ended, and ends those that have waited for longer than they
 * were to. Any number of servers sweep at once: finding and changing is one statement, and `skip locked`
 * gives each item to one of them. The database's clock alone decides what has ended.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { isRefusal, isRetryable, type SqlTag } from '../../base/db/index.ts';
import type { WorkSettings } from './settings.ts';
import { settleBuilds } from './build-sql.ts';
import { announce, endedColumns, release, wiped } from './sql.ts';
import type { WorkState } from './words.ts';
import { eachStep, startLoop, type Loop } from '../../base/loop.ts';
import { ms, type Fragment } from '../../base/sql.ts';

export interface Swept {
  readonly id: string;
  readonly state: WorkState;
  readonly runnerId: string;
}

/** One sweep of at most `batch` items. `only`: of these alone. */
export async function sweep(
  sql: SqlTag,
  settings: WorkSettings,
  only: readonly string[] | null = null,
): Promise<readonly Swept[]> {
  return await sql<Swept[]>`
    with ${release(sql, settings, {
      lost: sql`
        where ${hasEnded(sql, settings)} ${only === null ? sql`` : sql`and x.work_id = any(${only}::text[])`}
        order by x.expires_at limit ${settings.batch}::int
        for update of x, w skip locked`,
      endReason: 'expired',
      backoff: true,
    })},
    ${noteLost(sql, ' ran and its lease was not renewed')}
    select e.id, e.state, e.runner_id as "runnerId" from released e`;
}

/** Builds the CTE `noted`: the released items stand in the history of the runners that had them. */
export function noteLost(sql: SqlTag, how: string): Fragment {
  return sql`
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select r.team_id, r.id, clock_timestamp(), 'runner.lease_expired',
        e.id || case when e.was = 'offered' then ' was offered and not accepted' else ${how}::text end || '; it is ' || e.state || ' now'
      from released e join runners r on r.id = e.runner_id
    )`;
}

const hasEnded = (sql: SqlTag, { graceMs }: WorkSettings): Fragment =>
  sql`x.ended_at is null and x.expires_at < now() - ${ms(sql, graceMs)}`;

/** Ends what no runner has begun in the time for which it was to wait: one sweep of at most `batch` items. */
export async function sweepQueue(
  sql: SqlTag,
  settings: WorkSettings,
  only: readonly string[] | null = null,
): Promise<ReadonlyArray<Pick<Swept, 'id' | 'state'>>> {
  return await sql<Array<Pick<Swept, 'id' | 'state'>>>`
    with late as (
      select w.id from work_items w
      where ${hasWaited(sql)} ${only === null ? sql`` : sql`and w.id = any(${only}::text[])`}
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

const hasWaited = (sql: SqlTag): Fragment =>
  sql`w.state = 'queued' and w.attempt = 0 and w.queue_expires_at is not null and w.queue_expires_at < clock_timestamp()`;

interface Sweep<T> {
  /** It runs as one statement. */
  readonly all: (only: readonly string[] | null) => Promise<readonly T[]>;
  /** Returns those that are due, the first ones. */
  readonly due: () => Promise<ReadonlyArray<{ readonly id: string }>>;
}

/**
 * One item that cannot be changed (a trigger that raises, a check) keeps those of other teams from nothing:
 * when the common statement is refused, each goes by itself.
 */
async function sweepAll<T>({ all, due }: Sweep<T>, onError: SweeperDeps['onError']): Promise<readonly T[]> {
  try {
    return await all(null);
  } catch (error) {
    if (!isRefusal(error) || isRetryable(error)) throw error;
  }
  const swept: T[] = [];
  await eachStep(
    (await due()).map(
      ({ id }) =>
        async () =>
          void swept.push(...(await all([id]))),
    ),
    onError,
  );
  return swept;
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
      const { sql, settings, onError } = deps;
      const { batch } = settings;
      const swept = await sweepAll(
        {
          all: async (only) => await sweep(sql, settings, only),
          due: async () =>
            await sql<Array<{ id: string }>>`
              select x.work_id as id from work_leases x where ${hasEnded(sql, settings)} order by x.expires_at limit ${batch}::int`,
        },
        onError,
      );
      const late = await sweepAll(
        {
          all: async (only) => await sweepQueue(sql, settings, only),
          due: async () =>
            await sql<Array<{ id: string }>>`
              select w.id from work_items w where ${hasWaited(sql)} order by w.queue_expires_at limit ${batch}::int`,
        },
        onError,
      );
      const all = [...swept, ...late];
      if (all.length > 0) deps.onSwept(all);
      return Math.max(swept.length, late.length) === batch;
    },
  });
}
