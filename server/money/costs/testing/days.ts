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

/** Time of work that belongs to no project. */
export const OF_NO_PLACE = { projectId: '', environmentId: '' };

/** Rows of one key are added up, and to what there is. */
export async function seedDays(sql: SqlTag, rows: readonly SeededDay[]): Promise<void> {
  const place = { projectId: 'prj_1', environmentId: 'env_1', runnerId: 'rnr_1' };
  const values = rows.map((row) => ({ meter: 'run.runner', ...place, ...row, period: monthOf(row.day) }));
  await sql`
    insert into cost_days as c (team_id, period, day, meter, price_id, project_id, environment_id, runner_id, events, metered_ms, self_reported_ms, self_reported_count)
    select v."teamId", v.period, v.day, v.meter, p.id, v."projectId", v."environmentId", v."runnerId", count(*), sum(v.ms), 0, 0
    from jsonb_to_recordset(${sql.json(values)}::jsonb) v("teamId" text, period date, day date, meter text, "projectId" text, "environmentId" text, "runnerId" text, ms bigint, "priceId" text)
    join prices p on p.meter = v.meter and (p.id = v."priceId" or v."priceId" is null and p.is_default)
    group by 1, 2, 3, 4, 5, 6, 7, 8
    on conflict on constraint cost_days_pk do update set events = c.events + excluded.events, metered_ms = c.metered_ms + excluded.metered_ms`;
}
