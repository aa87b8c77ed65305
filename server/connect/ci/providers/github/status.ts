/** Statuses of commits. */
import type { PostStatus } from '../../commit-status/status.ts';

const STATES = {
  pending: 'pending',
  success: 'success',
  failure: 'failure',
  error: 'error',
  cancelled: 'error',
} as const;

export const postStatus: PostStatus = async (api, { sha, context, word, description, targetUrl }) => {
  await api.call({
    method: 'POST',
    path: `${api.repositoryBase}/statuses/${sha}`,
    json: { state: STATES[word], context, description, target_url: targetUrl },
  });
};
