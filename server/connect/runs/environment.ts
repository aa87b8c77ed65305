/** Finds the environments in whose timelines a run stands. */
// No TeamScope: records runs of a connection, which a webhook has, or was found within the teams of the call.
import type { TeamScope } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import type { Connection } from '../connections/index.ts';
import { repositoryKeyOfUrl } from '../providers/index.ts';

/** Limit of the environments of one branch that are looked at: all that a project may have by default. */
const LOOKED_AT = 200;

interface Placed {
  /** The environment that the CI job reported. */
  readonly environmentId: string | null;
  readonly branch: string | null;
}

/**
 * Finds the environment that was named, while it exists. Without one, each environment of the connection's
 * project that builds the run's branch, the oldest first: those with the connection's repository or, where
 * there are none, those without any. A connection without a project has no default.
 */
export async function environmentsOfRun(
  { sql }: Database,
  { teamId, projectId, repositoryKey }: Connection,
  { environmentId, branch }: Placed,
): Promise<readonly string[]> {
  if (environmentId !== null) {
    const [row] = await sql<Array<{ id: string }>>`
      select id from environments where id = ${environmentId} and team_id = ${teamId}`;
    if (row !== undefined) return [row.id];
  }
  if (projectId === null || branch === null) return [];
  const rows = await sql<readonly Building[]>`
    select id, branch, repository from environments where team_id = ${teamId} and project_id = ${projectId} and branch = ${branch}
    order by created_at, id limit ${LOOKED_AT}`;
  return building(rows, repositoryKey).map(({ id }) => id);
}

interface Building {
  readonly id: string;
  readonly branch: string;
  readonly repository: string | null;
}

function building(environments: readonly Building[], repositoryKey: string): readonly Building[] {
  const own = environments.filter(
    ({ repository }) => repository !== null && repositoryKeyOfUrl(repository) === repositoryKey,
  );
  return own.length > 0 ? own : environments.filter(({ repository }) => repository === null);
}

/** Limit of the runs that are placed; older ones are far down in any timeline. */
const PLACED_MAX = 1_000;

/**
 * Puts the newest runs of a connection that was given its project, as far as they stand in no environment,
 * into their default ones.
 */
export async function placeRuns(
  { sql }: Database,
  scope: TeamScope,
  { id, projectId, repositoryKey }: Connection,
): Promise<void> {
  const teamIds = [...scope.teamIds];
  const rows = await sql<readonly Building[]>`
    select id, branch, repository from environments where team_id = any(${teamIds}) and project_id = ${projectId}
    order by created_at, id limit ${PLACED_MAX}`;
  const places = [...new Set(rows.map(({ branch }) => branch))].flatMap((branch) =>
    building(rows.filter((row) => row.branch === branch).slice(0, LOOKED_AT), repositoryKey),
  );
  const branches = places.map(({ branch }) => branch);
  await sql`
    with places as (
      select branch, id, row_number() over (partition by branch order by n) as place
      from unnest(${branches}::text[], ${places.map((place) => place.id)}::text[]) with ordinality as e (branch, id, n)
    ), placed as (
      update ci_runs r set environment_id = e.id from places e
      where e.place = 1 and r.branch = e.branch and r.id in (
        select n.id from ci_runs n where n.connection_id = ${id} and n.team_id = any(${teamIds}) and n.environment_id is null and n.branch = any(${branches})
        order by n.occurred_at desc limit ${PLACED_MAX})
      returning r.team_id, r.id, r.branch, r.occurred_at
    )
    insert into ci_run_environments (team_id, run_id, environment_id, occurred_at)
    select p.team_id, p.id, e.id, p.occurred_at from placed p join places e on e.branch = p.branch and e.place > 1
    on conflict do nothing`;
}
