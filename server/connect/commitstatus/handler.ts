/**
 * This file posts statuses of commits to the repository's host. A status is requested in the transaction that
 * changes a run, and posted here, by a job which reads the run again: a burst of changes ends
 * with the last of them, and nothing that the host does holds a run up.
 */
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import type { Job, JobKind } from '../../kit/jobs/index.ts';
import { askHost, connectionJob, forgeErrorOf, type Connection } from '../connections/index.ts';
import { forgeApi, forgeOf, postStatus, type ForgeDeps, type ForgeError } from '../providers/index.ts';
import { runById, type Run } from '../runs/index.ts';
import { commitStateOf, contextOf, descriptionOf } from './status.ts';
import {
  isSecondOfName,
  nameRun,
  noteDetail,
  notePosted,
  pipelinePath,
  postedContext,
  readStatus,
  stopPosting,
  type StatusName,
} from './store.ts';

/** Limit of the posts for one commit and pipeline. GitHub takes a thousand; a run comes to two or three. */
export const POSTS_MAX = 50;

export interface CommitStatusDeps extends ForgeDeps {
  readonly db: Database;
  readonly clock: Clock;
  /** The address at which people reach the console. */
  readonly publicUrl: () => string;
}

const nameOf = ({ payload }: Job): StatusName => ({
  connectionId: String(payload['connectionId']),
  sha: String(payload['sha']),
  context: String(payload['context']),
});

export function commitStatusJob({ db, clock, publicUrl, ...forges }: CommitStatusDeps): JobKind {
  return connectionJob(
    { db, clock },
    {
      kind: 'ci_commit_status',
      run: async (connection, job, signal) => {
        const name = nameOf(job);
        const stored = postsStatuses(connection) ? await readStatus(db, name) : undefined;
        const run = stored === undefined ? undefined : await runById(db, stored.runId);
        if (stored === undefined || run === undefined) return;
        const { postedState, postedRunId, posts } = stored;
        const state = commitStateOf(run);
        if (state === undefined || (state === postedState && run.id === postedRunId)) return;
        // Its pipeline became known by another name before anything was posted: the status under that name is
        // posted.
        if ((await contextOfRun(db, run)) !== name.context) return;
        if (posts >= POSTS_MAX) {
          await noteDetail(db, connection, tooMany(name));
          return;
        }
        const api = forgeApi(forges, connection, signal);
        await postStatus(api, {
          sha: name.sha,
          context: name.context,
          state,
          description: descriptionOf(run),
          targetUrl: run.externalUrl ?? timelineUrl(publicUrl(), run),
          branch: run.branch ?? undefined,
          tag: run.tag ?? undefined,
          ownRunId: connection.provider === api.forge ? run.externalRunId : undefined,
        });
        await notePosted(db, name, { state, runId: run.id });
        if (connection.commitStatusDetail !== null) await noteDetail(db, connection, null);
      },
      gaveUp: async (connection, thrown, job) => {
        const error = forgeErrorOf(thrown);
        const { sha } = nameOf(job);
        if (isOfCommit(error))
          await noteDetail(db, connection, `commit ${sha.slice(0, 12)}: ${error.message}`);
        else if (!error.isFinal || error.problem === 'answer_invalid')
          await noteDetail(db, connection, error.message);
        else await stopPosting(db, connection, error.message);
      },
    },
  );
}

/** The page of a run that has none of its own at its CI system. */
function timelineUrl(publicUrl: string, { environmentId }: Run): string | undefined {
  return environmentId === null
    ? undefined
    : `${publicUrl.replace(/\/+$/, '')}/console/environments/${environmentId}/timeline`;
}

/**
 * A commit that the host does not have, such as a merge that a CI system made for itself: the next one may be
 * another matter.
 */
function isOfCommit({ status, message }: ForgeError): boolean {
  return (
    (status === 404 || status === 422) &&
    /no commit found|commit not found|could not be resolved to a version|maximum number of statuses/i.test(
      message,
    )
  );
}

function tooMany({ sha, context }: StatusName): string {
  return `commit ${sha.slice(0, 12)} was told ${POSTS_MAX} times about ${context}, which is the limit; further changes are not told`;
}

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
