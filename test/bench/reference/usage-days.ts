/**
 * Counts one counter a team, day, kind and executor, as a publisher does that keeps no event, no price and no
 * place.
 */
import type { SqlTag } from '../../../server/base/db/index.ts';
import type { Fragment } from '../../../server/base/sql.ts';

export async function createUsageDays(sql: SqlTag): Promise<void> {
  await sql`
    create table usage_days (team_id text not null references teams on delete cascade, day date not null, kind text not null, executed_by text not null,
      count int not null, metered_ms bigint not null, self_reported_ms bigint not null, self_reported_count int not null,
      primary key (team_id, day, kind, executed_by))`;
}

export function usageDays(sql: SqlTag): Fragment {
  return sql`
    counted as (
      insert into usage_days as u (team_id, day, kind, executed_by, count, metered_ms, self_reported_ms, self_reported_count)
      select w.team_id, (w.finished_at at time zone 'UTC')::date, w.kind, case when t.service_pool then 'service' else 'runner' end,
        count(*), sum(w.metered_ms), coalesce(sum(w.self_reported_ms), 0), count(w.self_reported_ms)
      from published e
      join work_items w on w.id = e.dedupe_key
      join runners r on r.id = w.runner_id
      join teams t on t.id = r.team_id
      where e.kind = 'work.finished' and w.metered_ms is not null
      group by 1, 2, 3, 4 order by 1, 2, 3, 4
      on conflict (team_id, day, kind, executed_by) do update set
        count = u.count + excluded.count, metered_ms = u.metered_ms + excluded.metered_ms,
        self_reported_ms = u.self_reported_ms + excluded.self_reported_ms,
        self_reported_count = u.self_reported_count + excluded.self_reported_count
    )`;
}
