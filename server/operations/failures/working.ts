/** Teams that count where teams are counted. */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';

const OLD_DAYS = 14;
const WITHIN_DAYS = 28;
/** Runs and builds that have ended within the time. */
const ENDED_MIN = 20;

/** Ids of teams that take part by `sharing` over `teams t`, exist for a while and do something. */
export function workingTeams(sql: SqlTag, now: Date, sharing: Fragment): Fragment {
  const ended = (kind: string) => sql`
    select from work_items w where w.team_id = t.id and w.kind = ${kind} and w.finished_at is not null
      and w.created_at > ${now}::timestamptz - ${WITHIN_DAYS}::int * interval '1 day' limit ${ENDED_MIN}`;
  return sql`
    select t.id from teams t
    where ${sharing} and not t.service_pool and t.created_at <= ${now}::timestamptz - ${OLD_DAYS}::int * interval '1 day'
      and (select count(*) from ((${ended('build')}) union all (${ended('run')})) e) >= ${ENDED_MIN}::int`;
}
