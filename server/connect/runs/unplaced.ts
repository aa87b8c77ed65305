/** Says why a run stands in no timeline, and where it is seen: nobody looks for it otherwise. */
// No TeamScope: records runs of a connection, which a webhook has, or was found within the teams of the call.
import type { Database } from '../../base/db/index.ts';
import type { Connection } from '../connections/index.ts';
import type { Run } from './run.ts';

export async function whyUnplaced(
  db: Database,
  connection: Connection,
  run: Run,
): Promise<{ readonly unplaced?: string }> {
  if (run.environmentId !== null || run.alsoIn.length > 0) return {};
  const why = await reasonOf(db, connection, run);
  return {
    unplaced: `the run stands in no timeline: ${why}; it is seen with "svc ci runs list --connection ${connection.id}"`,
  };
}

async function reasonOf(
  { sql }: Database,
  { id, teamId, projectId, repositoryHost, repositoryPath }: Connection,
  { branch }: Run,
): Promise<string> {
  if (projectId === null)
    return `its connection has no project, and its report names no environment (--env); to set a project: svc ci connections update ${id} --project <project_id>`;
  if (branch === null)
    return 'it has no branch by which an environment could be found, and its report names none (--env)';
  const [other] = await sql`
    select 1 from environments
    where team_id = ${teamId} and project_id = ${projectId} and branch = ${branch} and repository is not null limit 1`;
  const none = `no environment of the project ${projectId} builds the branch "${branch}" of ${repositoryHost}/${repositoryPath}`;
  return other === undefined ? none : `${none}, those with this branch have another repository`;
}
