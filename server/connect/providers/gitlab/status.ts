/** Statuses of commits are jobs that GitLab shows in a pipeline of its own making. */
import type { PostStatus } from '../commit-status.ts';
import { ForgeError } from '../forges/call.ts';

/** A longer address is refused with the whole status. */
const URL_MAX = 255;

const STATES = {
  pending: 'running',
  success: 'success',
  failure: 'failed',
  error: 'failed',
  cancelled: 'canceled',
} as const;

export const postStatus: PostStatus = async (api, status) => {
  const { sha, context, state, description, targetUrl, branch, tag, ownRunId } = status;
  try {
    await api.call({
      method: 'POST',
      path: `${api.repositoryBase}/statuses/${sha}`,
      json: {
        state: STATES[state],
        name: context,
        description,
        target_url: targetUrl !== undefined && targetUrl.length <= URL_MAX ? targetUrl : undefined,
        // Without it GitLab takes the wrong one of several pipelines of a commit.
        ref: branch ?? tag,
        pipeline_id: ownRunId !== undefined && /^\d{1,15}$/.test(ownRunId) ? Number(ownRunId) : undefined,
      },
    });
  } catch (error) {
    if (!isThereAlready(error)) throw error;
  }
};

/** GitLab refuses a move from a state to itself; then it is as it should be. */
function isThereAlready(error: unknown): boolean {
  return (
    error instanceof ForgeError && error.status === 400 && /cannot transition status/i.test(error.message)
  );
}
