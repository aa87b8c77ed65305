/**
 * This file posts statuses of commits to the repository's host. A status is requested in the transaction that
 * changes a run (wanted.ts), and posted here, by a job which reads the run again: a burst of changes ends
 * with the last of them, and nothing that the host does holds a run up.
 */
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import type { Job, JobKind } from '../../kit/jobs/index.ts';
import { connectionJob, forgeErrorOf } from '../connections/index.ts';
import { forgeApi, postStatus } from '../providers/index.ts';
import type { ForgeDeps, ForgeError } from '../providers/index.ts';
import { runById } from '../runs/index.ts';
import type { Run } from '../runs/index.ts';
import { descriptionOf, commitStateOf } from './status.ts';
import { noteDetail, notePosted, readStatus, stopPosting } from './store.ts';
import type { StatusName } from './store.ts';
import { contextOfRun, postsStatuses } from './wanted.ts';

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
    : `${publicUrl.replace(/\/+$/, '')}/console/timeline?env=${environmentId}`;
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
