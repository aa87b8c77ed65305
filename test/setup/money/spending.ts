/** Time that teams used, for tests of what comes of it. */
import type { SqlTag } from '../../../server/base/db/index.ts';

export interface UsedTime {
  readonly teamId: string;
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly ms: number;
  readonly projectId?: string;
  readonly environmentId?: string;
  readonly runnerId?: string;
}

/** As metering sums it up, at the first price: 0.0001 of the major unit a second. */
export async function useTime(
  sql: SqlTag,
  { teamId, day, ms, projectId = '', environmentId = '', runnerId = 'rnr_1' }: UsedTime,
): Promise<void> {
  await sql`
    insert into cost_days as d (team_id, period, day, meter, price_id, project_id, environment_id, runner_id, events, metered_ms, self_reported_ms, self_reported_count)
    select ${teamId}, date_trunc('month', ${day}::date)::date, ${day}::date, meter, id, ${projectId}, ${environmentId}, ${runnerId}, 1, ${ms}, 0, 0
    from prices where meter = 'run.runner' and is_default
    on conflict on constraint cost_days_pk do update set events = d.events + 1, metered_ms = d.metered_ms + excluded.metered_ms`;
}
