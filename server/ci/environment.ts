/** In which environment's timeline a run stands. */
import type { Database } from '../platform/db/index.ts';
import type { Connection } from './connections-store.ts';
import { repositoryKeyOfUrl } from './repository.ts';

/** More environments that build one branch are not looked at. */
const LOOKED_AT = 50;

interface Placed {
  /** As the CI job said. */
  readonly environmentId: string | null;
  readonly branch: string | null;
}

/**
 * The one that was named, while it exists. Without one, the environment of the connection's project that builds the run's branch: one with the
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
  const rows = await sql<Array<{ id: string; repository: string | null }>>`
    select id, repository from environments where team_id = ${teamId} and project_id = ${projectId} and branch = ${branch}
    order by created_at, id limit ${LOOKED_AT}`;
  const own = rows.find(
    ({ repository }) => repository !== null && repositoryKeyOfUrl(repository) === repositoryKey,
  );
  return (own ?? rows.find(({ repository }) => repository === null))?.id ?? null;
}
