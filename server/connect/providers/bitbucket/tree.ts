/**
 * Bitbucket Cloud's source API has sizes and no ids of contents: a file counts as unchanged within one commit
 * alone.
 */
import type { ForgeApi } from '../forges/call.ts';
import { encodePath } from '../forges/forge.ts';
import { at, text } from '../read.ts';
import { commitOf, entriesOf, joinPages, unlessMissing } from '../tree.ts';
import type { Head, Tree, TreeEntry } from '../tree.ts';

/** The largest page that Bitbucket gives. */
const PER_PAGE = 100;

export function bitbucketTree(api: ForgeApi): Tree {
  const { repositoryBase: repository } = api;
  return {
    head: async (branch) =>
      await unlessMissing<Head>(
        (async () => {
          const path = `${repository}/refs/branches/${encodeURIComponent(branch)}`;
          return { commit: commitOf(at((await api.call({ path })).json(), 'target', 'hash'), path) };
        })(),
        async () => {
          const answer = await api.call({ path: repository });
          return { commit: undefined, defaultBranch: text(at(answer.json(), 'mainbranch', 'name')) };
        },
      ),
    list: async (commit, folder, entriesMax) =>
      await joinPages(entriesMax, async (mark) => {
        // Without the slash at its end it would be a file.
        const inner = folder === undefined ? '' : `${encodePath(folder.path)}/`;
        const path = `${repository}/src/${commit}/${inner}`;
        const answer = (await api.call({ path, query: { pagelen: PER_PAGE, page: mark } })).json();
        return {
          entries: entriesOf(at(answer, 'values'), path).flatMap(entryOf),
          next: markOf(at(answer, 'next')),
        };
      }),
    read: async (commit, file, bytesMax) => {
      const path = `${repository}/src/${commit}/${encodePath(file.path)}`;
      return (await api.call({ path, accept: '*/*', bytesMax })).body;
    },
  };
}

/**
 * The address of the next page comes from the host: its mark alone is taken out of it, so that nothing else
 * is ever called.
 */
function markOf(next: unknown): string | undefined {
  const url = text(next);
  return url !== undefined && URL.canParse(url)
    ? (new URL(url).searchParams.get('page') ?? undefined)
    : undefined;
}

function entryOf(entry: unknown): readonly TreeEntry[] {
  const [path, type, size] = [text(at(entry, 'path')), text(at(entry, 'type')), at(entry, 'size')];
  if (path === undefined) return [];
  const attributes = at(entry, 'attributes');
  const has = (attribute: string): boolean => Array.isArray(attributes) && attributes.includes(attribute);
  const kind =
    type === 'commit_directory'
      ? 'folder'
      : type === 'commit_submodule' || has('subrepository')
        ? 'module'
        : has('link')
          ? 'link'
          : 'file';
  return [{ path, kind, id: undefined, sizeBytes: typeof size === 'number' ? size : undefined }];
}
