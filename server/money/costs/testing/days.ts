/** Days of costs as metering would have summed them, for tests. */
import type { SqlTag } from '../../../base/db/index.ts';
import { monthOf } from '../../metering/index.ts';

export interface SeededDay {
  readonly teamId?: string;
  readonly day: string;
  readonly meter?: 'run.runner' | 'run.service' | 'build.runner' | 'build.service';
  readonly projectId?: string;
  readonly environmentId?: string;
  readonly runnerId?: string;
  readonly ms: number;
  /** Default: the first one of the meter. */
  readonly priceId?: string;
}

/** Rows of one key are added up. */
export async function seedDays(sql: SqlTag, rows: readonly SeededDay[]): Promise<void> {
  const values = rows.map(
    ({
      day,
      meter = 'run.runner',
      projectId = 'prj_1',
      environmentId = 'env_1',
      runnerId = 'rnr_1',
      ...row
    }) => ({
      team_id: row.teamId,
      period: monthOf(day),
      day,
      meter,
      project_id: projectId,
      environment_id: environmentId,
      runner_id: runnerId,
      ms: row.ms,
      price_id: row.priceId,
    }),
  );
  await sql`
    insert into cost_days (team_id, period, day, meter, price_id, project_id, environment_id, runner_id, events, metered_ms, self_reported_ms, self_reported_count)
    select v.team_id, v.period, v.day, v.meter, p.id, v.project_id, v.environment_id, v.runner_id, count(*), sum(v.ms), 0, 0
    from jsonb_to_recordset(${sql.json(values)}::jsonb) v(team_id text, period date, day date, meter text, project_id text, environment_id text, runner_id text, ms bigint, price_id text)
    join prices p on p.meter = v.meter and (p.id = v.price_id or v.price_id is null and p.is_default)
    group by 1, 2, 3, 4, 5, 6, 7, 8`;
}
