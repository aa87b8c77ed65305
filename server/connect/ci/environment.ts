/** Finds the environment in whose timeline a run stands. */
import type { TeamScope } from '../../platform/context.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Connection } from './model/connection.ts';
import { repositoryKeyOfUrl } from './repository.ts';

/** Limit of the environments of one branch that are looked at. */
const LOOKED_AT = 50;

interface Placed {
  /** The environment that the CI job reported. */
  readonly environmentId: string | null;
  readonly branch: string | null;
}

/**
 * Finds the environment that was named, while it exists. Without one, the environment of the connection's project that builds the run's branch: one with the
 * connection's repository before one without any, the oldest of several. A connection without a project has no default.
 */
export async function environmentOfRun(
  { sql }: Database,
  { teamId, projectId, repositoryKey }: Connection,
  { environmentId, branch }: Placed,
): Promise<string | null> {
  if (environmentId !== null) {
    const [row] = await sql<Array<{ id: string }>>`
      select id from environments where id = ${environmentId} and team_id = ${teamId}`;
    if (row !== undefined) return row.id;
  }
  if (projectId === null || branch === null) return null;
  const rows = await sql<readonly Building[]>`
    select id, branch, repository from environments where team_id = ${teamId} and project_id = ${projectId} and branch = ${branch}
    order by created_at, id limit ${LOOKED_AT}`;
  return builds(rows, repositoryKey)?.id ?? null;
}

interface Building {
  readonly id: string;
  readonly branch: string;
  readonly repository: string | null;
}

function builds(environments: readonly Building[], repositoryKey: string): Building | undefined {
  const own = environments.find(
    ({ repository }) => repository !== null && repositoryKeyOfUrl(repository) === repositoryKey,
  );
  return own ?? environments.find(({ repository }) => repository === null);
}

/** Limit of the runs that are placed; older ones are far down in any timeline. */
const PLACED_MAX = 1_000;

/** Puts the newest runs of a connection that was given its project, as far as they stand in no environment, into their default ones. */
export async function placeRuns(
  { sql }: Database,
  scope: TeamScope,
  { id, projectId, repositoryKey }: Connection,
): Promise<void> {
  const teamIds = [...scope.teamIds];
  const rows = await sql<readonly Building[]>`
    select id, branch, repository from environments where team_id = any(${teamIds}) and project_id = ${projectId}
    order by created_at, id limit ${PLACED_MAX}`;
  const places = [...new Set(rows.map(({ branch }) => branch))].flatMap(
    (branch) => builds(rows.filter((row) => row.branch === branch).slice(0, LOOKED_AT), repositoryKey) ?? [],
  );
  const branches = places.map(({ branch }) => branch);
  await sql`
    update ci_runs r set environment_id = e.id
    from unnest(${branches}::text[], ${places.map((place) => place.id)}::text[]) as e (branch, id)
    where r.branch = e.branch and r.id in (
      select n.id from ci_runs n where n.connection_id = ${id} and n.team_id = any(${teamIds}) and n.environment_id is null and n.branch = any(${branches})
      order by n.occurred_at desc limit ${PLACED_MAX})`;
}
