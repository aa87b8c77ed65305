/** Pieces of SQL that several transitions share, so that one rule stands in one place. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { ms, type Fragment } from '../../base/sql.ts';
import { settleBuilds } from './build-sql.ts';
import { DEPLOYING, PUBLISHING } from './words.ts';
import type { WorkSettings } from './settings.ts';
import { beginTurns } from './turns.ts';
import { runnerIsBelow } from './version.ts';

/** The question that a person has to settle before a build that was lost there is run again. */
const LOST_PUBLISHING =
  ' while the image was being published: it may be in the registry or not; look there, then submit a new build';
const LOST_DEPLOYING =
  ' while the image was being deployed: it may be up or not; look at the app on the machine of the runner, then submit a new build or roll back';

/** Whose call it is. `bootId` empty: the daemon did not say, and its process is not checked. */
export interface RunnerRef {
  readonly runnerId: string;
  readonly bootId: string;
}

/** Columns of `callingRunner`. */
export interface CallingRunner {
  readonly revoked: boolean;
  readonly current: boolean;
  readonly may_receive: boolean;
  readonly draining: boolean;
  readonly paused: boolean;
  readonly flagged: boolean;
  /** Its version is below the least that is given work. */
  readonly outdated: boolean;
  readonly upgradable: boolean;
  readonly diagnostics_wanted: boolean;
}

/**
 * The calling runner as the row `r` of `runners` and the row `a` of the CTE `asked` (`boot_id`) say, for a
 * select list. `current` is the one rule for being listened to: not revoked, and of the current process.
 * `allowed` is what else must hold for being given work.
 */
export function runnerColumns(sql: SqlTag, settings: WorkSettings): Fragment {
  return sql`
    r.id, r.team_id, r.isolation, r.draining,
    r.revoked_at is not null as revoked,
    r.revoked_at is null and (a.boot_id = '' or coalesce(r.boot_id = a.boot_id, false)) as current,
    r.strikes >= ${settings.strikesMax}::int as flagged,
    r.paused_at is not null and (r.paused_until is null or r.paused_until > now()) as paused,
    ${runnerIsBelow(sql, settings.minVersion)} as outdated,
    ${runnerIsBelow(sql, settings.recommendedVersion)} as upgradable,
    r.diagnostics_requested_at is not null as diagnostics_wanted,
    ${settings.feedServicePool ? sql`true` : sql`not exists (select from teams t where t.id = r.team_id and t.service_pool)`} as fed`;
}

/** The one rule for being given work, over the columns of `runnerColumns` in `c`. */
export function mayReceive(sql: SqlTag): Fragment {
  return sql`(c.current and c.fed and not (c.paused or c.flagged or c.draining or c.outdated))`;
}

/**
 * Joins the open lease `x` of its holder that the row `a` (`id`, `epoch`, `runner_id`) names, and locks it. A
 * lateral subquery looks each up by its key, where the planner may read the index of open leases whole for a
 * join, with the dead entries of all that have ended. `a` must come in the order of `id`, in which everyone
 * locks leases.
 */
export function openLease(sql: SqlTag): Fragment {
  return sql`cross join lateral (
    select x.* from work_leases x
    where x.work_id = a.id and x.epoch = a.epoch and x.runner_id = a.runner_id and x.ended_at is null
    for no key update of x
  ) x`;
}

/** Returns when the attempt of the item `w` must have ended. */
export function deadline(sql: SqlTag, settings: WorkSettings): Fragment {
  return sql`coalesce(w.deadline_at, clock_timestamp() + ${ms(sql, settings.deadlineSlackMs)} + w.timeout_ms * interval '1 millisecond')`;
}

/**
 * SET list of the lease row `x` when its holder was heard. It is renewed where `renews` holds, never past
 * `deadline_at` of `h`: a runner which heartbeats for ever loses a run that is over time.
 */
export function contact(sql: SqlTag, settings: WorkSettings, renews: Fragment): Fragment {
  return sql`
    expires_at = case when ${renews}
      then least(clock_timestamp() + ${ms(sql, settings.leaseMs)}, h.deadline_at) else x.expires_at end,
    started_at = coalesce(x.started_at, clock_timestamp()),
    contact_gap_ms = greatest(x.contact_gap_ms, extract(epoch from clock_timestamp() - x.last_contact_at) * 1000),
    last_contact_at = clock_timestamp()`;
}

/**
 * SET list of the item `w` when its holder was heard, where `when` holds: an offer becomes a lease and counts
 * as an attempt.
 */
export function begun(sql: SqlTag, when: Fragment): Fragment {
  return sql`
    attempt = w.attempt + (${when} and w.state = 'offered')::int,
    state = case when ${when} then 'running' else w.state end,
    started_at = case when ${when} then coalesce(w.started_at, clock_timestamp()) else w.started_at end,
    deadline_at = case when ${when} then coalesce(w.deadline_at, h.deadline_at) else w.deadline_at end`;
}

/**
 * What `announce` needs of an ended item `w`, for its RETURNING list: every column of a CTE costs at each
 * call.
 */
export function endedColumns(sql: SqlTag): Fragment {
  return sql`w.id, w.team_id, w.kind, w.state, w.reason, w.exit_code, w.runner_id, w.epoch, w.attempt, w.metered_ms, w.self_reported_ms, w.claimed_at, w.finished_at, w.build_id, w.phase`;
}

/**
 * Returns an assignment: environment, input and credentials are for the runner alone, and nobody needs them
 * any more when the item has ended.
 */
export function wiped(sql: SqlTag, ends: Fragment): Fragment {
  return sql`spec = case when ${ends} then w.spec - 'sealed' else w.spec end`;
}

/**
 * Builds the CTE `announced`: the event `work.finished` of each ended row of the CTE `from`, once per item
 * whatever happens. Its id is the item's, so that a second attempt to write it cannot even be expressed.
 *
 * @param more What the event of the row `e` says besides.
 */
export function announce(sql: SqlTag, from: string, more: Fragment = sql`'{}'::jsonb`): Fragment {
  return sql`
    announced as (
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select 'evt_' || substr(e.id, strpos(e.id, '_') + 1), e.team_id, 'work.finished', e.id,
        jsonb_build_object('workId', e.id, 'kind', e.kind, 'state', e.state, 'reason', e.reason, 'exitCode', e.exit_code,
          'runnerId', e.runner_id, 'epoch', e.epoch, 'attempt', e.attempt, 'meteredMs', e.metered_ms,
          'selfReportedMs', e.self_reported_ms, 'claimedAt', e.claimed_at, 'finishedAt', e.finished_at, 'buildId', e.build_id) || ${more},
        clock_timestamp()
      from ${sql(from)} e where e.finished_at is not null
      on conflict (kind, dedupe_key) do nothing
    )`;
}

export interface Release {
  /**
   * `where` clause over open leases `x` and their items `w`, with its order, limit and lock: which items lose
   * their holder. The lease is locked before the item, here as everywhere.
   */
  readonly lost: Fragment;
  readonly endReason: 'expired' | 'revoked';
  /**
   * The item waits before the next grant when this is true. It is 0, 1, 3, 7 … 60 s after the first, second,
   * third … one. The first loss costs nothing; an item that takes its runners down with it slows down.
   */
  readonly backoff: boolean;
}

/**
 * Builds the CTEs `lost`, `released`, `closed`, `announced`: items lose their holder and go back to the
 * queue, or end. The end of a lease is cut to the millisecond as its beginning is: the next grant, a moment
 * later, must not seem to begin before it.
 */
export function release(
  sql: SqlTag,
  settings: WorkSettings,
  { lost, endReason, backoff }: Release,
): Fragment {
  const wait = backoff
    ? sql`(least(60, power(2, least(w.offers - 1, 6)) - 1) * interval '1 second')`
    : sql`interval '0'`;
  return sql`
    lost as (
      select w.id, w.state as was,
        case
          when w.cancel_requested_at is not null then 'cancelled'
          when w.deadline_at <= now() or w.phase >= ${PUBLISHING}::int then 'failed'
          when w.attempt >= w.max_attempts or w.offers >= ${settings.offersMax}::int then 'dead'
          else 'queued'
        end as next,
        w.deadline_at <= now() as over_time,
        ${wait} as wait
      from work_leases x join work_items w on w.id = x.work_id ${lost}
    ),
    released as (
      update work_items w set
        state = l.next,
        lease_id = null, poll_id = null, deadline_at = null,
        run_after = clock_timestamp() + l.wait, hint_due_at = clock_timestamp() + l.wait, hint_count = 0,
        phase = case when l.next = 'queued' then 0 else w.phase end,
        ${wiped(sql, sql`l.next <> 'queued'`)},
        finished_at = case when l.next = 'queued' then null else clock_timestamp() end,
        reason = case l.next when 'cancelled' then 'cancelled' when 'failed' then case when l.over_time then 'timeout' else 'lease_lost' end when 'dead' then 'lease_lost' end,
        message = case l.next
          when 'failed' then
            case when l.over_time then 'the time limit passed and its runner did not report' else 'its runner was lost' end
            || case w.phase when ${PUBLISHING}::int then ${LOST_PUBLISHING} when ${DEPLOYING}::int then ${LOST_DEPLOYING} else '' end
          when 'dead' then 'given up after ' || w.attempt || ' attempts in ' || w.offers || ' offers: each lost its runner'
        end
      from lost l where w.id = l.id
      returning ${endedColumns(sql)}, w.pool_id, l.was
    ),
    closed as (
      update work_leases x set ended_at = date_trunc('milliseconds', clock_timestamp()), end_reason = ${endReason}
      from released e where x.work_id = e.id and x.epoch = e.epoch and x.ended_at is null
    ),
    ${beginTurns(
      sql,
      sql`
      select e.pool_id, e.kind, e.team_id from released e join teams p on p.id = e.pool_id and p.service_pool where e.state = 'queued'`,
    )},
    ${settleBuilds(sql, 'released', { lost: true })},
    ${announce(sql, 'released')}`;
}
