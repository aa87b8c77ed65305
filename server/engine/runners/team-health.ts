/** The health of a team's runners together, and the work that waits for them. */
import {
  TeamHealthSchema,
  WaitingReason,
  type TeamHealth,
} from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { shown } from '../../kit/resource/index.ts';
import { waitingItems, type WorkSettings } from '../work/index.ts';
import { poolFacts, type PoolFacts } from './pool-facts.ts';
import { blockedWaiting, whyWaiting, type Waiting } from './waiting.ts';

const ITEMS_MAX = 10;

/** With the pool as it is at this moment, which may be better than when the team became degraded. */
interface HealthRow extends Pick<PoolFacts, 'enrolled' | 'seen' | 'reasons' | 'blocked'> {
  readonly since: Date;
}

interface QueueRow {
  readonly kind: 'run' | 'build';
  readonly count: number;
  readonly oldest: Date;
}

interface ItemRow {
  readonly id: string;
  /** The run, or the build whose item it is. */
  readonly shownId: string;
  readonly kind: string;
  readonly createdAt: Date;
}

export interface TeamHealthDeps {
  readonly sql: SqlTag;
  readonly settings: WorkSettings;
}

export async function teamHealth(
  { sql, settings }: TeamHealthDeps,
  scope: TeamScope,
  team: string,
): Promise<TeamHealth> {
  const teamId = requireTeam(scope, team);
  const [[health], queues, items] = await Promise.all([
    sql<HealthRow[]>`
      select h.degraded_since as since, f.*
      from runner_team_health h cross join lateral (${poolFacts(sql, settings, { poolId: sql`h.team_id` })}) f
      where h.team_id = ${teamId} and h.degraded_since is not null`,
    // The team's own work, in whichever pool it waits: bounded by the limit on queued runs.
    sql<QueueRow[]>`
      select w.kind, count(*)::int as count, min(w.created_at) as oldest
      from (${waitingItems(sql, teamId, sql`w.kind, w.created_at`)}) w group by w.kind`,
    sql<ItemRow[]>`
      select q.id, coalesce(q.build_id, q.id) as "shownId", q.kind, q.created_at as "createdAt"
      from work_routes o
      cross join lateral (
        select w.id, w.build_id, w.kind, w.created_at, w.priority from work_items w
        where w.route_id = o.id and w.team_id = ${teamId} and w.state = 'queued'
        order by w.priority desc nulls last, w.id limit ${ITEMS_MAX}::int
      ) q
      where o.pool_id = ${teamId}
      order by q.priority desc, q.id limit ${ITEMS_MAX}::int`,
  ]);
  const waiting = await whyWaiting(sql, settings, items);
  const oldest = queues.map((queue) => queue.oldest).toSorted((a, b) => a.getTime() - b.getTime())[0];
  const countOf = (kind: string): number => queues.find((queue) => queue.kind === kind)?.count ?? 0;
  return shown(TeamHealthSchema, {
    degraded: health !== undefined,
    since: health?.since,
    reason: health && degradedBy(health, settings),
    stuckWork: {
      runs: countOf('run'),
      builds: countOf('build'),
      oldestAt: oldest,
      // One that was taken a moment ago is left out: it does not wait.
      items: items.flatMap(({ id, shownId, kind, createdAt }) => {
        const why = waiting.get(id);
        return why === undefined ? [] : [{ id: shownId, kind, createdAt, waiting: why }];
      }),
    },
  });
}

function degradedBy({ blocked, ...facts }: HealthRow, settings: WorkSettings): Waiting {
  if (blocked !== null) return blockedWaiting(blocked, facts, settings);
  return {
    reason: WaitingReason.DISPATCHING,
    detail: 'a runner takes work again; the team is no longer degraded when it has called once more',
  };
}
