/** Statuses of commits in Azure Repos, whose contexts have a genre of their own. */
import type { PostStatus } from '../commit-status.ts';

const STATES = {
  pending: 'pending',
  success: 'succeeded',
  failure: 'failed',
  error: 'error',
  cancelled: 'error',
} as const;

export const postStatus: PostStatus = async (api, { sha, context, state, description, targetUrl }) => {
  await api.call({
    method: 'POST',
    path: `${api.repositoryBase}/commits/${sha}/statuses`,
    query: { 'api-version': '7.1' },
    json: {
      state: STATES[state],
      description,
      targetUrl,
      context: { genre: 'svc', name: context.replace(/^svc\//, '') },
    },
  });
};
