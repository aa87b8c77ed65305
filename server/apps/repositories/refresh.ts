/** Whoever lists the repositories of a team has its hosts asked, unless they were asked a short while ago. */
import { addJob, isJobOpen } from '../../kit/jobs/index.ts';
import type { Database } from '../../base/db/index.ts';
import { ms } from '../../base/sql.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';
import { LIST, PLAN, planOf } from './jobs.ts';

/** The list is read again and again while somebody chooses; hosts are not. */
const FRESH_MS = 10 * 60_000;
/** Sentences that are shown; a team may have hundreds of tokens that ended at once. */
const PROBLEMS_MAX = 20;

export interface RefreshState {
  readonly refreshing: boolean;
  readonly problems: readonly string[];
}

interface StateRow {
  readonly isStale: boolean;
  /** There is something to ask, or something that was seen with a token that is gone. */
  readonly isNeeded: boolean;
  readonly isOpen: boolean;
  readonly problems: readonly string[];
}

export async function refresh(
  db: Database,
  scope: TeamScope,
  { teamId, now }: { readonly teamId: string; readonly now: Date },
): Promise<RefreshState> {
  const { isStale, isNeeded, isOpen, problems } = await readState(db, scope, { teamId, now });
  const more = problems.length - PROBLEMS_MAX;
  return {
    refreshing: isStale && isNeeded ? await ask(db, scope, { teamId, now }) : isOpen,
    problems: [
      ...problems.slice(0, PROBLEMS_MAX),
      ...(more > 0 ? [`${more} more tokens could not list repositories`] : []),
    ],
  };
}

async function readState(
  { sql }: Database,
  scope: TeamScope,
  { teamId, now }: { readonly teamId: string; readonly now: Date },
): Promise<StateRow> {
  const team = requireTeam(scope, teamId);
  const [row] = await sql<readonly StateRow[]>`
    select not exists (
        select from repository_refreshes r where r.team_id = ${team} and r.asked_at > ${now}::timestamptz - ${ms(sql, FRESH_MS)}
      ) as "isStale",
      (exists (select from ci_connections c where c.team_id = ${team} and c.token is not null and c.status <> 'paused')
        or exists (select from repository_sources s where s.team_id = ${team})) as "isNeeded",
      (${isJobOpen(sql, PLAN, sql`${team}`)} or exists (
        select from repository_sources s where s.team_id = ${team} and ${isJobOpen(sql, LIST, sql`s.connection_id || ' list'`)}
      )) as "isOpen",
      array(select s.problem from repository_sources s where s.team_id = ${team} and s.problem is not null order by s.problem) as problems`;
  if (row === undefined) throw new Error('the state of the repositories has no row');
  return row;
}

/** Has the hosts asked, once for several who list at the same time. */
async function ask(
  database: Database,
  scope: TeamScope,
  { teamId, now }: { readonly teamId: string; readonly now: Date },
): Promise<true> {
  const team = requireTeam(scope, teamId);
  await database.transact(async (db) => {
    const { sql } = db;
    const asked = await sql`
      insert into repository_refreshes (team_id, asked_at) values (${team}, ${now})
      on conflict (team_id) do update set asked_at = excluded.asked_at
      where repository_refreshes.asked_at <= ${now}::timestamptz - ${ms(sql, FRESH_MS)} returning 1`;
    if (asked.length > 0) await addJob(db, planOf(team));
  });
  return true;
}
