/** Connections that guard environments: those of their project, whose runs stand in the environment that builds their branch. A paused one as well: it goes on where it was. */
import type { GuardsOf } from '../../apps/environments/index.ts';

export const connectionGuards: GuardsOf = async ({ db: { sql }, teams }, { teamId, projectId }) => {
  const found = await sql<Array<{ id: string; repositoryKey: string }>>`
    select id, repository_key as "repositoryKey" from ci_connections
    where team_id = ${teamId} and team_id = any(${[...teams.teamIds]}) and project_id = ${projectId} order by id`;
  return found.map(({ id, repositoryKey }) => ({
    kind: 'connection',
    id,
    name: `the CI connection ${repositoryKey}`,
  }));
};
