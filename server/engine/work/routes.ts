/**
 * Routes: which runners of a pool may have what is queued. An item's selector, its pool and its kind name one
 * route (`work_routes`); a runner has those that its group and labels satisfy (`runner_routes`, kept by
 * triggers of the migration), and walks the queues of these alone.
 *
 * A route that is used is never removed: a submission goes by what it reads of a route only while that was
 * used within `FRESH_MINUTES`, else it is noted anew under the lock; one is removed when it was not for much
 * longer than any statement lasts, and nothing queued or held is under it.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import { WorkSelectorSchema, type WorkSelector } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { given } from '../../kit/resource/index.ts';
import type { Fragment } from '../../base/sql.ts';
import type { Selector } from './schema.ts';

/** A placement says where an item stands among others, and how long it may be there. */
export interface Placement {
  readonly selector: Selector;
  /** Among what its team has waiting, the highest first. */
  readonly priority: number;
  /** It is null when the item waits for as long as it takes. */
  readonly queueTimeoutSeconds: number | null;
  readonly maxAttempts: number;
}

export const DEFAULT_PLACEMENT: Placement = {
  selector: {},
  priority: 0,
  queueTimeoutSeconds: null,
  maxAttempts: 5,
};

/** What requests have in common that make items. */
interface PlacementRequest {
  readonly runner?: WorkSelector | undefined;
  readonly priority?: number | undefined;
  readonly queueTimeoutSeconds?: number | undefined;
  readonly maxAttempts?: number | undefined;
}

export function placementOf(asked: PlacementRequest, defaults: Placement = DEFAULT_PLACEMENT): Placement {
  const { runner, priority, queueTimeoutSeconds, maxAttempts } = asked;
  return {
    selector: runner === undefined ? defaults.selector : given(WorkSelectorSchema, runner),
    priority: priority ?? defaults.priority,
    queueTimeoutSeconds: queueTimeoutSeconds ?? defaults.queueTimeoutSeconds,
    maxAttempts: maxAttempts ?? defaults.maxAttempts,
  };
}

/** As it is shown: absent when any runner may have the item. */
export function shownSelector(selector: Selector): Selector | undefined {
  return Object.keys(selector).length === 0 ? undefined : selector;
}

export const ROUTES_MAX = 200;
const FRESH_MINUTES = 60;
const UNUSED_MINUTES = 120;
/** For work that was accepted already and moves to another pool: no limit keeps it out. */
const NO_LIMIT = 2_147_483_647;

export interface RouteOf {
  readonly pool: Fragment;
  readonly kind: Fragment;
  readonly selector: Fragment;
}

/**
 * Returns the id of a route, which is that of the row `r` that `routeJoin` found, or a new one. It is null
 * when the pool has as many as it may. It must be evaluated once for each distinct route of a statement,
 * because a new one is not seen by the statement that makes it.
 */
export function routeId(sql: SqlTag, { pool, kind, selector }: RouteOf, most: number = ROUTES_MAX): Fragment {
  return sql`coalesce(r.id, work_route(${pool}, ${kind}, ${selector}, ${most}::int))`;
}

/** Builds the `left join` of a route as `r`. */
export function routeJoin(sql: SqlTag, { pool, kind, selector }: RouteOf): Fragment {
  return sql`
    left join work_routes r on r.pool_id = ${pool} and r.kind = ${kind} and r.hash = md5((${selector})::text)
      and (r.selector = '{}' or r.used_at > now() - ${FRESH_MINUTES}::int * interval '1 minute')`;
}

/** Selects the id of a route in a pool that the item moves to. */
export function movedRouteId(sql: SqlTag, of: RouteOf): Fragment {
  return routeId(sql, of, NO_LIMIT);
}

/**
 * Selects columns of the items `w` that wait of a team, in its own pool or that of the service: route by
 * route, so that it costs nothing what the team had before, and what others have waiting.
 */
export function waitingItems(sql: SqlTag, teamId: string, columns: Fragment): Fragment {
  return sql`
    select w.* from work_routes o cross join lateral (
      select ${columns} from work_items w where w.route_id = o.id and w.team_id = ${teamId} and w.state = 'queued' offset 0
    ) w
    where o.pool_id in (select ${teamId} union select s.id from teams s where s.service_pool)`;
}

/**
 * Selects the ids of items of a team that have not ended: the newest that runners have, and those that are
 * next of what waits, as many of each.
 */
export function currentItems(
  sql: SqlTag,
  { teamId, kind, take }: { readonly teamId: string; readonly kind: WorkKind; readonly take: number },
): Fragment {
  return sql`
    (
      select q.id from work_routes o cross join lateral (
        select w.id, w.priority from work_items w where w.route_id = o.id and w.team_id = ${teamId} and w.state = 'queued'
        order by w.priority desc nulls last, w.id limit ${take}::int
      ) q
      where o.kind = ${kind} and o.pool_id in (select ${teamId} union select s.id from teams s where s.service_pool)
      order by q.priority desc, q.id limit ${take}::int
    )
    union all
    (
      select w.id from work_items w where w.team_id = ${teamId} and w.kind = ${kind} and w.lease_id is not null and w.offers > 0
      order by w.id desc limit ${take}::int
    )`;
}

/** Removes what nobody uses any more. Returns how many. */
export async function purgeRoutes(sql: SqlTag): Promise<number> {
  const { count } = await sql`
    delete from work_routes r
    where r.selector <> '{}' and r.used_at < now() - ${UNUSED_MINUTES}::int * interval '1 minute'
      and not exists (select from work_items w where w.route_id = r.id and w.state = 'queued')
      and not exists (select from work_leases x join work_items w on w.id = x.work_id where x.ended_at is null and w.route_id = r.id)`;
  return count;
}
