/** Requests the status of a commit in the transaction that changes a run; handler.ts posts it. */
import type { Database } from '../../base/db/index.ts';
import { askHost } from '../connections/index.ts';
import type { Connection } from '../connections/index.ts';
import { forgeOf } from '../providers/index.ts';
import type { Run } from '../runs/index.ts';
import { contextOf, commitStateOf } from './status.ts';
import { isSecondOfName, nameRun, pipelinePath, postedContext } from './store.ts';

/** Decides if statuses of commits are posted for this connection's runs. */
export function postsStatuses(connection: Connection): boolean {
  const { commitStatusMode, commitStatusStopped, token, provider } = connection;
  const forge = forgeOf(connection);
  if (commitStatusMode === 'never' || commitStatusStopped || token === null || forge === undefined)
    return false;
  // The host shows the runs of its own CI already.
  return commitStatusMode === 'always' || provider !== forge;
}

/** It is called in the transaction that made the run or changed it. */
export async function wantCommitStatus(
  db: Database,
  connection: Connection,
  { before, run }: { readonly before: Run | undefined; readonly run: Run },
): Promise<void> {
  // The head of a pull request is reported by its job alone, and whoever opened it wrote what that job works
  // on: no commit is called good by it.
  if (connection.provider === 'github' && run.trigger === 'pull_request_target') return;
  const state = commitStateOf(run);
  if (state === undefined || run.commitSha === null || !/^[0-9a-f]{40}$/.test(run.commitSha)) return;
  const isChanged =
    before === undefined ||
    before.commitSha !== run.commitSha ||
    before.pipelineId !== run.pipelineId ||
    commitStateOf(before) !== state;
  if (!isChanged || !postsStatuses(connection)) return;
  const context = await contextOfRun(db, run);
  if (!(await nameRun(db, run, context))) return;
  const { teamId, repositoryKey } = connection;
  await askHost(db, connection, {
    kind: 'ci_commit_status',
    key: `${run.commitSha} ${context}`,
    // GitLab makes two jobs of two statuses that it is sent at once.
    lane: `commit ${teamId} ${repositoryKey} ${run.commitSha}`,
    payload: { sha: run.commitSha, context },
  });
}

/**
 * A run that began under one name goes on under it, though its pipeline may have become known by another one
 * meanwhile: else the commit would wait for the first for ever.
 */
export async function contextOfRun(db: Database, run: Run): Promise<string> {
  const posted = await postedContext(db, run);
  if (posted !== undefined) return posted;
  const path = (await isSecondOfName(db, run)) ? await pipelinePath(db, run) : '';
  return contextOf(run.pipelineName, path);
}
