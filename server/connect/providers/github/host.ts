/**
 * This adapter speaks to GitHub. Its Git database has trees, read without `recursive` (any value of it would
 * mean all of the repository), and blobs by their sha. It never answers the secret of a webhook, so what is
 * there is always written anew. A run is read like its webhook.
 */
import type { ForgeApi } from '../forges/call.ts';
import { at, text } from '../read.ts';
import {
  commitOf,
  entriesOf,
  found,
  kindOfMode,
  listOrThrow,
  removeHook,
  unlessMissing,
  type AskRun,
  type Head,
  type Hooks,
  type Listing,
  type PostStatus,
  type Tree,
  type TreeEntry,
  type WantedHook,
} from '../host.ts';
import { normalise } from './events.ts';

/** GitHub itself cuts a tree at 7 MB and says so. */
const TREE_BYTES_MAX = 8 * 1_048_576;

export function tree(api: ForgeApi): Tree {
  const { repositoryBase: repository } = api;
  return {
    head: async (branch) =>
      await unlessMissing<Head>(
        (async () => {
          const path = `${repository}/branches/${encodeURIComponent(branch)}`;
          const answer = await api.call({ path });
          return { commit: commitOf(at(answer.json(), 'commit', 'sha'), path) };
        })(),
        // The host answers the same 404 for the branch and for the repository.
        async () => {
          const answer = await api.call({ path: repository });
          return { commit: undefined, defaultBranch: text(at(answer.json(), 'default_branch')) };
        },
      ),
    list: async (commit, folder): Promise<Listing> => {
      const path = `${repository}/git/trees/${folder?.id ?? commit}`;
      const answer = (await api.call({ path, bytesMax: TREE_BYTES_MAX })).json();
      const prefix = folder === undefined ? '' : `${folder.path}/`;
      return {
        entries: entriesOf(at(answer, 'tree'), path).flatMap((entry) => entryOf(entry, prefix)),
        complete: at(answer, 'truncated') !== true,
      };
    },
    read: async (_commit, file, bytesMax) => {
      const path = `${repository}/git/blobs/${file.id ?? ''}`;
      return (await api.call({ path, accept: 'application/vnd.github.raw+json', bytesMax })).body;
    },
  };
}

function entryOf(entry: unknown, prefix: string): readonly TreeEntry[] {
  const [name, id, size] = [text(at(entry, 'path')), text(at(entry, 'sha')), at(entry, 'size')];
  if (name === undefined || id === undefined) return [];
  const kind = kindOfMode(text(at(entry, 'mode')), text(at(entry, 'type')));
  return [{ path: `${prefix}${name}`, kind, id, sizeBytes: typeof size === 'number' ? size : undefined }];
}

const EVENTS = ['workflow_run', 'workflow_job', 'status'];
/** A repository has at most 20 for one event. */
const PER_PAGE = 100;

export const hooks: Hooks = {
  needs: 'the permission "Webhooks: read and write" of a fine-grained token, or the scope admin:repo_hook',
  put: async (api, wanted) => {
    const path = `${api.repositoryBase}/hooks`;
    const answer = await api.call({ path, query: { per_page: PER_PAGE } });
    const all = listOrThrow(answer.json(), `GET ${path}`, 'webhooks');
    const known = found(all, wanted, {
      id: (hook) => at(hook, 'id'),
      url: (hook) => at(hook, 'config', 'url'),
    });
    if (known === undefined) {
      const json = { name: 'web', ...settings(wanted) };
      return at((await api.call({ method: 'POST', path, json })).json(), 'id');
    }
    const json = settings(wanted);
    await api.call({ method: 'PATCH', path: `${path}/${encodeURIComponent(known.id)}`, json });
    return known.id;
  },
  remove: removeHook,
};

const settings = ({ url, secret }: WantedHook) => ({
  active: true,
  events: EVENTS,
  config: { url, secret, content_type: 'json', insecure_ssl: '0' },
});

export const askRun: AskRun = async (api, { externalRunId, externalAttempt }) => {
  const path = `${api.repositoryBase}/actions/runs/${externalRunId}/attempts/${externalAttempt}`;
  const run = (await api.call({ path })).json();
  return normalise(
    { 'x-github-event': 'workflow_run' },
    { workflow_run: run, repository: at(run, 'repository') },
  );
};

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
