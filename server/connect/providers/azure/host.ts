/**
 * This adapter speaks to Azure Repos. Its Git API lists a folder in one answer, however large it is, and
 * reads blobs by their id.
 */
import type { ForgeApi } from '../forges/call.ts';
import { at, text } from '../read.ts';
import { commitOf, entriesOf, type PostStatus, type Tree, type TreeEntry } from '../host.ts';

const VERSION = '7.1';
const LIST_BYTES_MAX = 8 * 1_048_576;

export function tree(api: ForgeApi): Tree {
  const { repositoryBase: base } = api;
  return {
    head: async (branch) => {
      const path = `${base}/refs`;
      const query = { filter: `heads/${branch}`, 'api-version': VERSION };
      const refs = entriesOf(at((await api.call({ path, query })).json(), 'value'), path);
      // The filter is a beginning: `heads/main` gives `heads/main-2` too.
      const ref = refs.find((one) => at(one, 'name') === `refs/heads/${branch}`);
      if (ref !== undefined) return { commit: commitOf(at(ref, 'objectId'), path) };
      const answer = (await api.call({ path: base, query: { 'api-version': VERSION } })).json();
      return {
        commit: undefined,
        defaultBranch: text(at(answer, 'defaultBranch'))?.replace('refs/heads/', ''),
      };
    },
    list: async (commit, folder) => {
      const path = `${base}/items`;
      const query = {
        scopePath: `/${folder?.path ?? ''}`,
        recursionLevel: 'OneLevel',
        'versionDescriptor.versionType': 'commit',
        'versionDescriptor.version': commit,
        'api-version': VERSION,
      };
      const answer = (await api.call({ path, query, bytesMax: LIST_BYTES_MAX })).json();
      // The folder itself is one of its items.
      const entries = entriesOf(at(answer, 'value'), path)
        .flatMap(entryOf)
        .filter((entry) => entry.path !== '' && entry.path !== folder?.path);
      return { entries, complete: true };
    },
    read: async (_commit, file, bytesMax) => {
      const path = `${base}/blobs/${file.id ?? ''}`;
      const query = { $format: 'octetstream', 'api-version': VERSION };
      return (await api.call({ path, query, accept: 'application/octet-stream', bytesMax })).body;
    },
  };
}

function entryOf(entry: unknown): readonly TreeEntry[] {
  const [path, id, type] = [
    text(at(entry, 'path')),
    text(at(entry, 'objectId')),
    text(at(entry, 'gitObjectType')),
  ];
  if (path === undefined) return [];
  const kind =
    at(entry, 'isSymLink') === true
      ? 'link'
      : type === 'commit'
        ? 'module'
        : type === 'tree' || at(entry, 'isFolder') === true
          ? 'folder'
          : 'file';
  return [{ path: path.replace(/^\//, ''), kind, id, sizeBytes: undefined }];
}

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
