/**
 * The timeline reads the newest builds and the newest runs before a position, each through indexes of its own
 * and never more of either than a page holds, so that a page costs the same however long the history is.
 */
import type { TeamScope } from '../../kit/context.ts';
import type { Reads } from '../../base/db/index.ts';
import type { Position } from './cursor.ts';

export interface Entry {
  readonly kind: 'build' | 'ci_run';
  readonly id: string;
  readonly at: Date;
  readonly commitSha: string | null;
  readonly branch: string | null;
  readonly mergeQueue: boolean;
  readonly name: string;
  /** A state of builds or a status of runs. */
  readonly status: string;
  readonly provider: string | null;
  readonly blocked: boolean;
  readonly soft: boolean;
  readonly reason: string | null;
  readonly trigger: string | null;
  readonly attempt: number;
  readonly runnerName: string | null;
  readonly actor: string | null;
  readonly url: string | null;
  readonly queuedAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly durationMs: number | null;
}

export interface TimelineQuery {
  readonly environmentId: string;
  readonly before: Position | undefined;
  readonly take: number;
  /** True reads runs of external CI beside the builds. */
  readonly withRuns: boolean;
}

export async function environmentExists(
  { sql }: Reads,
  scope: TeamScope,
  environmentId: string,
): Promise<boolean> {
  const rows = await sql`
    select 1 from environments where id = ${environmentId} and team_id = any(${scope.teamIds})`;
  return rows.length > 0;
}

/** Reads entries of both kinds, newest first. */
export async function readTimeline(
  { sql }: Reads,
  scope: TeamScope,
  query: TimelineQuery,
): Promise<readonly Entry[]> {
  const { environmentId, before, take, withRuns } = query;
  const teamIds = [...scope.teamIds];
  const runsBefore =
    before === undefined ? sql`` : sql`and (r.occurred_at, r.id) < (${before.at}, ${before.id})`;
  const othersBefore =
    before === undefined ? sql`` : sql`and (x.occurred_at, x.run_id) < (${before.at}, ${before.id})`;
  const buildsBefore =
    before === undefined ? sql`` : sql`and (b.created_at, b.id) < (${before.at}, ${before.id})`;
  return await sql<Entry[]>`
    select * from (
      (select 'ci_run' as kind, r.id, r.occurred_at as at, r.commit_sha as "commitSha", r.branch,
        r.merge_queue as "mergeQueue", p.name, r.status, c.provider, r.blocked,
        r.soft, r.reason, r.trigger, r.external_attempt as attempt, null as "runnerName", r.actor, r.external_url as url,
        r.queued_at as "queuedAt", r.started_at as "startedAt", r.finished_at as "finishedAt", r.duration_ms::float8 as "durationMs"
      from (
        (select * from ci_runs r where ${withRuns}::boolean and r.environment_id = ${environmentId} and r.team_id = any(${teamIds}) ${runsBefore}
        order by r.occurred_at desc nulls last, r.id desc nulls last limit ${take})
        union all
        (select r.* from (
          select x.run_id from ci_run_environments x
          where ${withRuns}::boolean and x.environment_id = ${environmentId} and x.team_id = any(${teamIds}) ${othersBefore}
          order by x.occurred_at desc nulls last, x.run_id desc nulls last limit ${take}
        ) x join ci_runs r on r.id = x.run_id and r.environment_id is distinct from ${environmentId})
      ) r
      join ci_pipelines p on p.id = r.pipeline_id join ci_connections c on c.id = r.connection_id)
      union all
      (select 'build', b.id, b.created_at, b.commit, nullif(b.branch, ''), false, 'build ' || b.number,
        case
          when b.state <> 'open' then b.state
          when w.state is null or w.state in ('queued', 'offered') then 'queued'
          when w.phase = 3 then 'publishing'
          when w.phase = 4 then 'deploying'
          else 'running'
        end,
        null, b.state = 'awaiting_approval' or b.needs_decision, false,
        case
          when b.finished_at is null then null
          when b.approval = 'rejected' then 'rejected'
          when b.state = 'cancelled' and w.state is distinct from 'cancelled' then 'cancelled'
          else w.reason
        end,
        b.trigger, greatest(t.attempt, 1), n.name, null, b.address,
        b.created_at, t.started_at, b.finished_at, extract(epoch from b.finished_at - t.started_at) * 1000
      from (
        select * from builds b where b.environment_id = ${environmentId} and b.team_id = any(${teamIds}) ${buildsBefore}
        order by b.created_at desc nulls last, b.id desc nulls last limit ${take}
      ) b
      left join work_items w on w.id = b.work_id
      -- An approved deploy is an item of its own: runner, attempts and start are over all of them.
      left join lateral (
        select sum(x.attempt)::int as attempt, min(x.started_at) as started_at,
          (array_agg(x.runner_id order by x.created_at desc, x.id desc) filter (where x.runner_id is not null))[1] as runner_id
        from work_items x where x.build_id = b.id
      ) t on true
      left join runners n on n.id = t.runner_id)
    ) entries
    order by at desc, id desc limit ${take}`;
}
