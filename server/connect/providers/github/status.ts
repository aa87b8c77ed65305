/** This file posts statuses of commits to GitHub. */
import type { PostStatus } from '../commit-status.ts';

const STATES = {
  pending: 'pending',
  success: 'success',
  failure: 'failure',
  error: 'error',
  cancelled: 'error',
} as const;

export const postStatus: PostStatus = async (api, { sha, context, state, description, targetUrl }) => {
  await api.call({
    method: 'POST',
    path: `${api.repositoryBase}/statuses/${sha}`,
    json: { state: STATES[state], context, description, target_url: targetUrl },
  });
};
