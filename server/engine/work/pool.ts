/**
 * A pool says which runners execute a team's work. A team in a region that the customer operates uses its
 * own; every other team uses the service's pool, whatever it has enrolled. A runner takes work from one pool
 * alone: the one named like its team.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { movedRouteId, routeJoin, waitingItems } from './routes.ts';
import { beginTurns } from './turns.ts';

/** Selects the pool of the team `t` in its region `r`; it is null when the service has no pool. */
export function poolColumn(sql: SqlTag): Fragment {
  return sql`case r.operator when 'customer' then t.id else (select s.id from teams s where s.service_pool) end`;
}

/**
 * Selects what has not ended of a team, waiting or held. By the state alone, all that the team ever had would
 * be read.
 */
export function openItems(sql: SqlTag, teamId: string): Fragment {
  return sql`
    select w.id from (${waitingItems(sql, teamId, sql`w.id`)}) w
    union all
    select w.id from work_items w where w.team_id = ${teamId} and w.lease_id is not null and w.offers > 0`;
}

/**
 * Moves the work of a team whose region has changed; what is being executed stays where it is, and moves when
 * it comes back.
 */
export async function rerouteTeam(sql: SqlTag, teamId: string): Promise<number> {
  return await reroute(sql, sql`i.id in (${openItems(sql, teamId)}) and i.finished_at is null`);
}

/** Moves queued work that was submitted while its team's region changed and so missed the move. */
export async function rerouteStrays(sql: SqlTag): Promise<number> {
  return await reroute(sql, sql`i.state = 'queued'`);
}

/** @param which Over the item `i`. */
async function reroute(sql: SqlTag, which: Fragment): Promise<number> {
  const to = { pool: sql`q.pool`, kind: sql`q.kind`, selector: sql`q.selector` };
  const [row] = await sql<Array<{ count: number }>>`
    with moved as (
      update work_items i set pool_id = d.pool, route_id = d.route_id, hint_due_at = now(), hint_count = 0
      from (
        select q.id, q.pool, ${movedRouteId(sql, to)} as route_id
        from (
          select i.id, i.kind, i.selector, i.pool_id, ${poolColumn(sql)} as pool
          from work_items i
          -- The limit keeps it a lookup by key: teams first, all that each ever had would be read.
          cross join lateral (select * from teams t where t.id = i.team_id limit 1) t join regions r on r.id = t.region_id
          where ${which}
        ) q ${routeJoin(sql, to)}
        where q.pool <> q.pool_id
      ) d
      where i.id = d.id and ${which}
      returning i.pool_id, i.kind, i.team_id, i.state
    ),
    ${beginTurns(
      sql,
      sql`
      select m.pool_id, m.kind, m.team_id from moved m join teams p on p.id = m.pool_id and p.service_pool where m.state = 'queued'`,
    )}
    select count(*)::int as count from moved`;
  return row?.count ?? 0;
}
