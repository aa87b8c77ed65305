/**
 * Connections that guard environments: those of their project, whose runs stand in the environment that
 * builds their branch. A paused one as well: it goes on where it was.
 */
import { and, asc, eq } from 'drizzle-orm';
import type { GuardsOf } from '../../apps/environments/index.ts';
import { inTeams } from '../../kit/resource/index.ts';
import { ciConnections } from './schema.ts';

export const connectionGuards: GuardsOf = async ({ db, teams }, { teamId, projectId }) => {
  const { id, teamId: team, projectId: project, repositoryKey } = ciConnections;
  const found = await db.orm
    .select({ id, repositoryKey })
    .from(ciConnections)
    .where(and(eq(team, teamId), inTeams(ciConnections, teams), eq(project, projectId)))
    .orderBy(asc(id));
  return found.map((row) => ({
    kind: 'connection',
    id: row.id,
    name: `the CI connection ${row.repositoryKey}`,
  }));
};
