/**
 * This file reads GitHub's Git database: trees without `recursive` (any value of it would mean all of the
 * repository), and blobs by their sha.
 */
import type { ForgeApi } from '../forges/call.ts';
import { at, text } from '../read.ts';
import { commitOf, entriesOf, kindOfMode, unlessMissing } from '../tree.ts';
import type { Head, Listing, Tree, TreeEntry } from '../tree.ts';

/** GitHub itself cuts a tree at 7 MB and says so. */
const TREE_BYTES_MAX = 8 * 1_048_576;

export function githubTree(api: ForgeApi): Tree {
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
