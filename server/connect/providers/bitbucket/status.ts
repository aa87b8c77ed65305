/** Build statuses of commits. */
import { digest } from '../commit-status.ts';
import type { PostStatus } from '../commit-status.ts';

const STATES = {
  pending: 'INPROGRESS',
  success: 'SUCCESSFUL',
  failure: 'FAILED',
  error: 'FAILED',
  cancelled: 'STOPPED',
} as const;

/** Characters. Either form begins as our own statuses do; see events.ts. */
const KEY_MAX = 40;
const keyOf = (context: string): string =>
  context.length <= KEY_MAX ? context : `svc-${digest(context, 32)}`;

export const postStatus: PostStatus = async (api, status) => {
  const { sha, context, state, description, targetUrl, branch } = status;
  await api.call({
    method: 'POST',
    path: `${api.repositoryBase}/commit/${sha}/statuses/build`,
    json: {
      key: keyOf(context),
      state: STATES[state],
      name: context,
      description,
      // It takes none without an address.
      url: targetUrl ?? `https://bitbucket.org/${api.repositoryPath}/commits/${sha}`,
      refname: branch,
    },
  });
};
