/**
 * GitLab's repository API lists a folder in pages of 100, and reads blobs by their id. Sizes are known when a
 * file is read.
 */
import type { ForgeApi } from '../forges/call.ts';
import { at, text } from '../read.ts';
import { commitOf, entriesOf, joinPages, kindOfMode, unlessMissing } from '../tree.ts';
import type { Head, Tree, TreeEntry } from '../tree.ts';

/** The largest page that GitLab gives. */
const PER_PAGE = 100;

export function gitlabTree(api: ForgeApi): Tree {
  const { repositoryBase: project } = api;
  const repository = `${project}/repository`;
  return {
    head: async (branch): Promise<Head> => {
      const settings = (await api.call({ path: project })).json();
      const path = `${repository}/branches/${encodeURIComponent(branch)}`;
      const commit = await unlessMissing(
        (async () => commitOf(at((await api.call({ path })).json(), 'commit', 'id'), path))(),
        async () => undefined,
      );
      return {
        commit,
        defaultBranch: text(at(settings, 'default_branch')),
        ciFile: text(at(settings, 'ci_config_path')),
      };
    },
    list: async (commit, folder, entriesMax) =>
      await joinPages(entriesMax, async (mark) => {
        const path = `${repository}/tree`;
        const query = { ref: commit, path: folder?.path, per_page: PER_PAGE, page: mark };
        const answer = await api.call({ path, query });
        const next = text(answer.headers['x-next-page']);
        return { entries: entriesOf(answer.json(), path).flatMap(entryOf), next };
      }),
    read: async (_commit, file, bytesMax) =>
      (await api.call({ path: `${repository}/blobs/${file.id ?? ''}/raw`, accept: '*/*', bytesMax })).body,
  };
}

function entryOf(entry: unknown): readonly TreeEntry[] {
  const [path, id] = [text(at(entry, 'path')), text(at(entry, 'id'))];
  if (path === undefined || id === undefined) return [];
  const kind = kindOfMode(text(at(entry, 'mode')), text(at(entry, 'type')));
  return [{ path, kind, id, sizeBytes: undefined }];
}
