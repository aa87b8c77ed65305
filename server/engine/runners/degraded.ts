/**
 * This file decides whether a team's work is stuck because no runner takes it:
 *
 * fine ──work waited 60 s, no runner able──> degraded ──one able again, in two calls──> fine
 *
 * One row per team, changed by one statement a transition, so that any number of workers watch and each entry
 * and each end is noted, and told, once. Teams that paused their runners themselves are left alone while one
 * of those is in contact. A team also leaves when its work no longer goes to its own runners, and when it has
 * neither runners nor work left.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { idHead } from '../../base/ids.ts';
import { runnerIsBelow, type WorkSettings } from '../work/index.ts';
import { isAble, poolFacts } from './pool-facts.ts';
import { ms, type Fragment } from '../../base/sql.ts';

/**
 * Items at the head of each queue that are looked at. A younger one with a higher priority can hide an older
 * one for as long as `stuckMs`.
 */
const HEAD_ITEMS = 50;

/** Ids of a statement's own rows, see base/ids.ts. */
const eventId = (sql: SqlTag): Fragment =>
  sql`${idHead('evt')} || substr(replace(gen_random_uuid()::text, '-', ''), 17, 16)`;

/**
 * Teams with waiting work, found by leaping from route to route in the queue's own index: as many steps as
 * routes that have any.
 */
const poolsWithWork = (sql: SqlTag): Fragment => sql`
  routes as (
    (select w.route_id from work_items w where w.state = 'queued' order by w.route_id limit 1)
    union all
    select (select w.route_id from work_items w where w.state = 'queued' and w.route_id > r.route_id order by w.route_id limit 1)
    from routes r where r.route_id is not null
  ),
  pools as (select distinct o.pool_id from routes r join work_routes o on o.id = r.route_id)`;

/** Teams that became degraded by this very call. */
export async function enterDegraded(sql: SqlTag, settings: WorkSettings): Promise<readonly string[]> {
  const rows = await sql<Array<{ teamId: string }>>`
    with recursive ${poolsWithWork(sql)},
    stuck as (
      select t.id as team_id, f.blocked
      from pools p
      join teams t on t.id = p.pool_id and not t.service_pool
      join regions g on g.id = t.region_id and g.operator = 'customer'
      cross join lateral (${poolFacts(sql, settings, { poolId: sql`t.id` })}) f
      where f.blocked is not null and (f.unpaused > 0 or f.resting = 0)
        and not exists (select from runner_team_health h where h.team_id = t.id and h.degraded_since is not null)
        and exists (
          select from work_routes o
          cross join lateral (
            select w.run_after from work_items w
            where w.route_id = o.id and w.team_id = t.id and w.state = 'queued'
            order by w.priority desc nulls last, w.id limit ${HEAD_ITEMS}::int
          ) q
          where o.pool_id = t.id and q.run_after < now() - ${ms(sql, settings.stuckMs)}
        )
      order by t.id
    ),
    entered as (
      insert into runner_team_health as h (team_id, degraded_since, reason, notified, notified_at)
      select s.team_id, date_trunc('milliseconds', now()), s.blocked, true, now() from stuck s
      on conflict (team_id) do update set
        degraded_since = excluded.degraded_since, reason = excluded.reason, candidate_id = null, candidate_seen_at = null,
        notified = h.notified_at is null or h.notified_at < now() - ${ms(sql, settings.notifyAgainMs)},
        notified_at = case when h.notified_at is null or h.notified_at < now() - ${ms(sql, settings.notifyAgainMs)} then now() else h.notified_at end
      where h.degraded_since is null
      returning team_id, degraded_since, reason, notified
    ),
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select e.team_id, null, e.degraded_since, 'runner.degraded', 'work waits and no runner takes it: ' || e.reason from entered e
    ),
    notified as (
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select ${eventId(sql)}, e.team_id, 'runner.degraded', e.team_id || ' ' || extract(epoch from e.degraded_since),
        jsonb_build_object('reason', e.reason, 'since', e.degraded_since), e.degraded_since
      from entered e where e.notified
    )
    select team_id as "teamId" from entered`;
  return rows.map(({ teamId }) => teamId);
}

/** Teams that left the state by this very call. */
export async function leaveDegraded(sql: SqlTag, settings: WorkSettings): Promise<readonly string[]> {
  const rows = await sql<Array<{ teamId: string }>>`
    with over as (
      select h.team_id from runner_team_health h join teams t on t.id = h.team_id join regions g on g.id = t.region_id
      where h.degraded_since is not null and (
        g.operator <> 'customer'
        or exists (
          select from runners r
          where r.id = h.candidate_id and r.team_id = h.team_id and r.last_seen_at > h.candidate_seen_at and ${isAble(sql, settings)}
        )
        or (
          not exists (select from runners r where r.team_id = h.team_id and r.revoked_at is null)
          and not exists (select from work_routes o join work_items w on w.route_id = o.id and w.state = 'queued' where o.pool_id = h.team_id)
        )
      )
      order by h.team_id for update of h skip locked
    ),
    was as (
      select h.team_id, h.degraded_since as since, h.notified from runner_team_health h join over o on o.team_id = h.team_id
    ),
    ended as (
      update runner_team_health h set degraded_since = null, candidate_id = null, candidate_seen_at = null, notified = false
      from over o where h.team_id = o.team_id and h.degraded_since is not null
      returning h.team_id
    ),
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select e.team_id, null, now(), 'runner.recovered',
        'no longer degraded after ' || round(extract(epoch from now() - w.since)) || ' s'
      from ended e join was w on w.team_id = e.team_id
    ),
    notified as (
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select ${eventId(sql)}, e.team_id, 'runner.recovered', e.team_id || ' ' || extract(epoch from w.since),
        jsonb_build_object('since', w.since), now()
      from ended e join was w on w.team_id = e.team_id where w.notified
    )
    select team_id as "teamId" from ended`;
  if (rows.length === 0) await noteCandidates(sql, settings);
  return rows.map(({ teamId }) => teamId);
}

/**
 * Remembers of each degraded team one runner that is able again, and when it was heard; forgets one that is
 * not able any more.
 */
async function noteCandidates(sql: SqlTag, settings: WorkSettings): Promise<void> {
  await sql`
    update runner_team_health h set candidate_id = c.id, candidate_seen_at = c.seen_at
    from (
      select d.team_id, n.id, n.last_seen_at as seen_at
      from runner_team_health d
      left join lateral (
        select r.id, r.last_seen_at from runners r
        where r.team_id = d.team_id and ${isAble(sql, settings)}
        order by (r.id = d.candidate_id) desc nulls last, r.id limit 1
      ) n on true
      where d.degraded_since is not null
    ) c
    where h.team_id = c.team_id and h.degraded_since is not null and h.candidate_id is distinct from c.id`;
}

/** Notes once for each runner and version that it is below the least that is given work. */
export async function noteOutdated(sql: SqlTag, settings: WorkSettings): Promise<number> {
  if (settings.minVersion === '') return 0;
  const { count } = await sql`
    with refused as (
      update runners r set refused_version = r.version
      where r.revoked_at is null and r.refused_version is distinct from r.version and ${runnerIsBelow(sql, settings.minVersion)}
      returning r.id, r.team_id, r.name, r.version
    )
    insert into runner_events (team_id, runner_id, at, kind, detail)
    select team_id, id, now(), 'runner.version_too_old',
      name || ' has version ' || version || ', the least that is given work is ' || ${settings.minVersion}::text
    from refused`;
  return count;
}

/**
 * Ends pauses whose time is over; the runner was given work again from that moment on, this writes it down.
 */
export async function endPauses(sql: SqlTag): Promise<number> {
  const { count } = await sql`
    with resumed as (
      update runners r set paused_at = null, paused_until = null, pause_note = null
      where r.paused_until <= now() and r.revoked_at is null
      returning r.id, r.team_id, r.name
    )
    insert into runner_events (team_id, runner_id, at, kind, detail)
    select team_id, id, now(), 'runner.resumed', name || ' was resumed: the time of its pause was over' from resumed`;
  return count;
}
