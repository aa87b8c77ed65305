/**
 * Turns: in a pool that serves several teams, what is granted next is that of the team with the least virtual
 * time. A grant moves the time of its team on by one part of its weight, so that each team has its share
 * however much it has waiting. `pool_turns` holds a row a team; claims lock the rows that they go by and pass
 * over those that others have locked, so that two at once serve different teams.
 *
 * A team that begins to wait starts where the pool stands: turns that it did not use are not saved up. Nor
 * does it come out ahead by waiting for one item at a time: what it had beyond the pool's time stays, up to
 * one turn.
 *
 * `waiting` may be wrong for a moment: a submission that reads it as true says nothing, and the claim that it
 * overlaps may find nothing left and take it back. The relay puts it right with the item's first hint,
 * `settleTurns` what is true for nothing. Pools of one team have no rows.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';

/** How far a claim looks past items that others are taking at this moment, or took since it began. */
const SLACK = 64;

/**
 * Builds the CTE `turns_begun`: the teams of the rows of `from` (`pool_id`, `kind`, `team_id`), which have
 * something waiting in shared pools now, wait for their turns.
 */
export function beginTurns(sql: SqlTag, from: Fragment): Fragment {
  return sql`
    turns_begun as (
      insert into pool_turns as t (pool_id, kind, team_id, vtime, weight, waiting)
      select b.pool_id, b.kind, b.team_id,
        case when l.vtime is null then coalesce(o.vtime, 0) else least(greatest(o.vtime, l.vtime), l.vtime + 1.0 / coalesce(s.weight, 1)) end,
        coalesce(s.weight, 1), true
      from (select distinct pool_id, kind, team_id from (${from}) i) b
      left join team_shares s on s.team_id = b.team_id and s.kind = b.kind
      left join pool_turns o on o.pool_id = b.pool_id and o.kind = b.kind and o.team_id = b.team_id
      left join lateral (
        select w.vtime from pool_turns w where w.pool_id = b.pool_id and w.kind = b.kind and w.waiting order by w.vtime limit 1
      ) l on true
      where o.waiting is not true
      order by b.pool_id, b.kind, b.team_id
      on conflict (pool_id, kind, team_id) do update set waiting = true, vtime = excluded.vtime where not t.waiting
    )`;
}

/**
 * Items of the team `t` that the class `c` may have, in their order: `id` and `place`. `fits`: whether the
 * item `w` may go to the class, besides its route, team and state. The order must be spelled as the index
 * `work_items_route` has it (`nulls last`), or each claim sorts the whole queue.
 */
export function itemsOf(sql: SqlTag, fits: Fragment, most: Fragment): Fragment {
  return sql`
    select u.id, row_number() over (order by u.priority desc nulls last, u.id) as place
    from unnest(c.routes) x(id) cross join lateral (
      select w.id, w.priority from work_items w
      where w.route_id = x.id and w.team_id = t.team_id and w.state = 'queued' and ${fits}
      order by w.priority desc nulls last, w.id limit ${most}
    ) u
    order by u.priority desc nulls last, u.id limit ${most}`;
}

/**
 * Builds the CTE `shared_picks` (`class`, `id`, `place`): the items for the takers of each row of the CTE
 * `classes` (`class`, `pool_id`, `routes`, `count`, `shared`) that is shared, by turns; `turn` holds the
 * turns that they were taken by, locked.
 *
 * A class looks at as many teams as it has takers, because each of them takes something; teams at their limit
 * and teams of which it can have nothing are passed over. The limit is kept to the item: a turn that has
 * moved since the statement began, so that what its team got meanwhile was not counted, is passed over as
 * well.
 */
export function pickByTurns(
  sql: SqlTag,
  { kind, fits }: { readonly kind: WorkKind; readonly fits: Fragment },
): Fragment {
  const waiting = (rest: Fragment): Fragment => sql`
    select t.team_id, t.vtime, t.weight, r.most
    from pool_turns t
    -- The limit keeps it a lookup by key: a hash join of the shares would have all turns read and sorted.
    left join lateral (select s.max_running from team_shares s where s.team_id = t.team_id and s.kind = t.kind limit 1) s on true
    cross join lateral (
      select case when s.max_running is null then c.count + ${SLACK}::int
        else least(c.count, s.max_running - ${heldOf(sql, sql`t`)}) end as most
    ) r
    where t.pool_id = c.pool_id and t.kind = ${kind} and t.waiting and r.most > 0
      and exists (
        select from unnest(c.routes) x(id) cross join lateral (
          select from work_items w where w.route_id = x.id and w.team_id = t.team_id and w.state = 'queued' and ${fits} limit 1
        ) one
      )
      ${rest}`;
  return sql`
    turn as materialized (
      select c.class, t.* from classes c cross join lateral (
        ${waiting(sql`
          and (s.max_running is null or t.vtime = (
            select o.vtime from pool_turns o where o.pool_id = t.pool_id and o.kind = t.kind and o.team_id = t.team_id))
          order by t.vtime, t.team_id limit c.count for no key update of t skip locked`)}
      ) t where c.shared
    ),
    served as materialized (
      select * from turn
      union all
      -- Others have locked every turn: whoever has none takes what they leave, at nobody's expense. A team with a limit is served by its turn alone.
      select c.class, t.*
      from (select * from classes c where c.shared and not exists (select from turn o where o.class = c.class) offset 0) c cross join lateral (
        ${waiting(sql`and s.max_running is null order by t.vtime, t.team_id limit c.count`)}
      ) t
    ),
    found as materialized (
      select c.class, t.team_id, i.id, i.place, t.vtime + (i.place - 1) / t.weight::float8 as at
      from classes c join served t on t.class = c.class
      cross join lateral (${itemsOf(sql, fits, sql`t.most`)}) i
    ),
    shared_picks as materialized (
      select c.class, p.id, row_number() over (partition by c.class order by p.at, p.team_id, p.place) as place
      from classes c cross join lateral (
        select w.id, f.team_id, f.at, f.place
        from found f join work_items w on w.id = f.id and w.state = 'queued'
        where f.class = c.class
        order by f.at, f.team_id, f.place limit c.count
        for update of w skip locked
      ) p where c.shared
    )`;
}

/**
 * Returns what runners of the pool hold of a team, which is that of the row `t` with `pool_id`, `kind` and
 * `team_id`.
 */
export function heldOf(sql: SqlTag, t: Fragment): Fragment {
  return sql`(
    select count(*) from work_items h
    where h.team_id = ${t}.team_id and h.kind = ${t}.kind and h.lease_id is not null and h.offers > 0 and h.pool_id = ${t}.pool_id)`;
}

/**
 * Builds the CTE `turned`: the turns of the teams whose items were `granted` move on; one that has nothing
 * left does not wait any more. Turns that others have locked stay as they are.
 */
export function chargeTurns(sql: SqlTag): Fragment {
  return sql`
    turned as (
      update pool_turns t set vtime = t.vtime + g.count / t.weight::float8, waiting = g.more
      from (
        select g.pool_id, g.kind, g.team_id, g.count, exists (
          select from work_routes r cross join lateral (
            select from work_items w
            where w.route_id = r.id and w.team_id = g.team_id and w.state = 'queued' and not exists (select from granted o where o.id = w.id)
            limit 1
          ) one
          where r.pool_id = g.pool_id and r.kind = g.kind
        ) as more
        from (
          select w.pool_id, w.kind, w.team_id, count(*) from granted w
          where exists (select from turn o where o.team_id = w.team_id) group by w.pool_id, w.kind, w.team_id
        ) g
      ) g
      where t.pool_id = g.pool_id and t.kind = g.kind and t.team_id = g.team_id
    )`;
}

/** Begins the turns of teams that have something waiting and do not wait. */
export async function beginMissedTurns(sql: SqlTag): Promise<void> {
  await sql`
    with ${beginTurns(
      sql,
      sql`
        select w.pool_id, w.kind, w.team_id from work_items w join teams p on p.id = w.pool_id and p.service_pool where w.state = 'queued'`,
    )} select`;
}

/** Ends the waiting of teams that have nothing waiting any more, because it was cancelled or was rerouted. */
export async function settleTurns(sql: SqlTag): Promise<number> {
  const { count } = await sql`
    update pool_turns t set waiting = false
    from (
      select o.pool_id, o.kind, o.team_id from pool_turns o
      where o.waiting and not exists (
        select from work_routes r cross join lateral (
          select from work_items w where w.route_id = r.id and w.team_id = o.team_id and w.state = 'queued' limit 1
        ) one
        where r.pool_id = o.pool_id and r.kind = o.kind
      )
      order by o.pool_id, o.kind, o.team_id for no key update of o skip locked
    ) idle
    where t.pool_id = idle.pool_id and t.kind = idle.kind and t.team_id = idle.team_id`;
  return count;
}
