/**
 * Builds the parts of the statement of polls that say who gets which item. Nearly every runner is plain: of
 * no group, under the one route that everything without a selector has, in a pool of its own team. The
 * statement for plain ones has half of the parts, and each part costs at every call, whatever it finds; it
 * grants nothing to others and says so (`plain`), and the whole one serves them.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import { nextEpoch, type SqlTag } from '../../base/db/index.ts';
import { ms, type Fragment } from '../../base/sql.ts';
import { boundRunner, isTurn } from './build-sql.ts';
import type { WorkSettings } from './settings.ts';
import { chargeTurns, itemsOf, pickByTurns } from './turns.ts';

export interface Claims {
  /**
   * Builds the CTEs between `open_offer` and the answer: `takers` (`n`, `class`, `place`), `picked` (`class`,
   * `id`, `place`), `granted` and what follows from it.
   */
  readonly parts: Fragment;
  /** The poll of `me` got nothing although it may have something: it is to be asked again. */
  readonly outrun: Fragment;
  /** Something is queued under a route of `me`. */
  readonly waits: Fragment;
}

/** Selects the only route of the runner `r`; it is null when the runner is not plain. */
export function plainRoute(sql: SqlTag, { feedServicePool }: WorkSettings, kind: WorkKind): Fragment {
  const own = feedServicePool
    ? sql`and not exists (select from teams p where p.id = r.team_id and p.service_pool)`
    : sql``;
  return sql`
    case when r.group_id is null ${own} then (
      select case when count(*) = 1 then min(x.route_id) end
      from (select x.route_id from runner_routes x where x.runner_id = r.id and x.kind = ${kind} limit 2) x
    ) end`;
}

export function plainClaims(sql: SqlTag, settings: WorkSettings, kind: WorkKind): Claims {
  return {
    parts: sql`
      takers as materialized (
        select m.n, m.id, m.team_id, m.isolation, m.poll_id, m.lease, m.route, m.route || ' ' || m.isolation as class,
          row_number() over (partition by m.route, m.isolation order by m.n) as place
        from me m
        where m.may_receive and m.wants and m.route is not null and not exists (select from open_offer o where o.n = m.n)
      ),
      picked as materialized (
        select c.class, p.id, row_number() over (partition by c.class order by p.priority desc nulls last, p.id) as place
        from (
          select t.class, t.route, t.team_id, t.isolation, count(*) as count from takers t group by t.class, t.route, t.team_id, t.isolation
        ) c cross join lateral (
          select w.id, w.priority from work_items w
          where w.route_id = c.route and w.team_id = c.team_id and w.state = 'queued' and ${fits(sql, kind)}
          order by w.priority desc nulls last, w.id limit c.count
          for update of w skip locked
        ) p
      ),
      ${grant(sql, settings)}`,
    outrun: sql`
      coalesce(me.wants and me.route is null, false)
      or exists (select from takers t join picked p on p.class = t.class and p.place = t.place where t.n = a.n)`,
    waits: sql`
      exists (select from work_items q where q.route_id = me.route and q.state = 'queued' and q.run_after <= clock_timestamp() limit 1)`,
  };
}

export function wholeClaims(sql: SqlTag, settings: WorkSettings, kind: WorkKind): Claims {
  return {
    parts: sql`
      ${chooseItems(sql, settings, kind)},
      ${grant(sql, settings)},
      ${settings.feedServicePool ? sql`${chargeTurns(sql)},` : sql``}
      ${countGrants(sql)}`,
    outrun: sql`exists (
      select from takers t join picked p on p.class = t.class and p.place = t.place where t.n = a.n
      union all
      select from wanting m join capped g on g.id = m.group_id where m.n = a.n and g.stale
    )`,
    waits: sql`exists (
      select from unnest(array(select x.route_id from runner_routes x where x.runner_id = me.id and x.kind = ${kind})) x(id) cross join lateral (
        select from work_items q where q.route_id = x.id and q.state = 'queued' and q.run_after <= clock_timestamp() limit 1
      ) one
    )`,
  };
}

/** Holds when the item `w` may go to the class `c`, besides its route, team and state. */
function fits(sql: SqlTag, kind: WorkKind): Fragment {
  return sql`w.run_after <= clock_timestamp() and (not w.needs_container or c.isolation = 'container')
    ${kind === 'build' ? sql`and ${isMine(sql)}` : sql``}`;
}

/**
 * Holds when it is the turn of the build of `w`, and `me` may have it. By `case`: the second is read for
 * those alone whose turn it is, and neither becomes a join, for which the planner would sort the whole queue.
 */
function isMine(sql: SqlTag): Fragment {
  return sql`case when ${isTurn(sql)} then coalesce(${boundRunner(sql)} = (select id from me), true) else false end`;
}

/** Returns what is needed of an item, and no more: every column of a CTE costs at each call. */
export const grantColumns = (sql: SqlTag): Fragment =>
  sql`w.id, w.kind, w.team_id, w.lease_id, w.epoch, w.attempt, w.spec`;

/** Items that a class with several routes looks past, because others are taking them at this moment. */
const SLACK = 64;

/**
 * Builds the CTEs `takers`, `classes` and `picked`. Takers of one class may have the same items: they get the
 * first ones, in the order in which they came. The order of items must be spelled as the index
 * `work_items_route` has it (`nulls last`), or each claim sorts the whole queue.
 */
function chooseItems(sql: SqlTag, { feedServicePool }: WorkSettings, kind: WorkKind): Fragment {
  const fitting = fits(sql, kind);
  const shared = feedServicePool
    ? sql`exists (select from teams p where p.id = t.team_id and p.service_pool)`
    : sql`false`;
  return sql`
    ${groupsOf(sql)},
    takers as materialized (
      select m.*, dense_rank() over (order by m.team_id, m.isolation, m.routes) as class,
        row_number() over (partition by m.team_id, m.isolation, m.routes order by m.n) as place
      from (
        select m.n, m.id, m.team_id, m.isolation, m.poll_id, m.lease,
          array(select x.route_id from runner_routes x where x.runner_id = m.id and x.kind = ${kind} order by x.route_id) as routes
        from (select m.*, row_number() over (partition by m.group_id order by m.n) as in_group from wanting m) m
        left join capped g on g.id = m.group_id
        where g.id is null or m.in_group <= g.room
      ) m
    ),
    classes as materialized (
      select t.class, t.team_id as pool_id, t.isolation, t.routes, count(*) as count, ${shared} as shared
      from takers t group by t.class, t.team_id, t.isolation, t.routes
    ),
    ${feedServicePool ? sql`${pickByTurns(sql, { kind, fits: fitting })},` : sql``}
    picked as materialized (
      select c.class, p.id, row_number() over (partition by c.class order by p.priority desc nulls last, p.id) as place
      from classes c cross join lateral (
        select w.id, w.priority from work_items w
        where w.route_id = c.routes[1] and w.team_id = c.pool_id and w.state = 'queued' and ${fitting}
        order by w.priority desc nulls last, w.id limit c.count
        for update of w skip locked
      ) p where not c.shared and cardinality(c.routes) = 1
      union all
      select c.class, p.id, row_number() over (partition by c.class order by p.place)
      from classes c cross join lateral (
        select w.id, i.place
        from (select c.pool_id as team_id) t
        cross join lateral (${itemsOf(sql, fitting, sql`c.count + ${SLACK}::int`)}) i
        join work_items w on w.id = i.id and w.state = 'queued'
        order by i.place limit c.count
        for update of w skip locked
      ) p where not c.shared and cardinality(c.routes) > 1
      ${feedServicePool ? sql`union all select class, id, place from shared_picks` : sql``}
    )`;
}

/**
 * Builds the CTEs `wanting` and `capped`: who is to get something, and how much more the groups with a limit
 * may hold. `capped` locks their rows; a group to which something was granted since the statement began,
 * which it has not counted, has no room (`stale`).
 */
function groupsOf(sql: SqlTag): Fragment {
  return sql`
    wanting as materialized (
      select m.* from me m where m.may_receive and m.wants and not exists (select from open_offer o where o.n = m.n)
    ),
    capped as materialized (
      select g.id, g.stale, case when g.stale then 0 else g.max_running - (
        select count(*) from runners r join work_items h on h.runner_id = r.id and h.lease_id is not null where r.group_id = g.id
      ) end as room
      from (
        select g.id, g.max_running, g.grants <> (select o.grants from runner_groups o where o.id = g.id) as stale
        from runner_groups g
        where g.id in (select w.group_id from wanting w) and g.max_running is not null
        order by g.id for no key update of g
      ) g
    )`;
}

/** Builds the CTE `counted`: the next statement sees what the groups with a limit got. */
function countGrants(sql: SqlTag): Fragment {
  return sql`
    counted as (
      update runner_groups g set grants = g.grants + 1
      where g.id in (select w.group_id from chosen c join wanting w on w.n = c.n) and g.max_running is not null
    )`;
}

/** Builds the CTEs `chosen`, `granted` and `opened`: what was picked becomes its takers'. */
function grant(sql: SqlTag, settings: WorkSettings): Fragment {
  return sql`
    chosen as materialized (
      -- Two classes of one pool may have found the same item.
      select distinct on (p.id) p.id as work_id, t.n, t.id as runner_id, t.poll_id, t.lease
      from picked p join takers t on t.class = p.class and t.place = p.place
      order by p.id, t.n
    ),
    granted as (
      update work_items w set
        state = 'offered', epoch = ${nextEpoch(sql, sql`w.epoch`)}, offers = w.offers + 1,
        runner_id = c.runner_id, poll_id = c.poll_id, lease_id = c.lease,
        claimed_at = date_trunc('milliseconds', clock_timestamp()), started_at = null,
        phase = 0, log_offset = 0, log_bytes = 0, log_missing = 0, log_truncated = false, log_complete = false, log_mismatch = false, log_sha256 = null
      from chosen c where w.id = c.work_id
      returning c.n, ${grantColumns(sql)}, w.pool_id, w.runner_id, w.claimed_at
    ),
    opened as (
      insert into work_leases (work_id, team_id, epoch, runner_id, granted_at, expires_at, last_contact_at)
      select g.id, g.team_id, g.epoch, g.runner_id, g.claimed_at, g.claimed_at + ${ms(sql, settings.offerMs)}, g.claimed_at from granted g
    )`;
}
