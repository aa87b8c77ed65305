/** Lists the repositories of projects of Azure Repos, each in one answer. */
import { encodePath } from '../forges/forge.ts';
import { flag, readLists, type ListRepositories, type SeenRepository } from '../forges/listing.ts';
import { at, text } from '../read.ts';

export const azureRepositories: ListRepositories = async (api, projects) =>
  await readLists(
    api,
    projects.map((project) => ({
      request: {
        path: `/${encodePath(project)}/_apis/git/repositories`,
        query: { 'api-version': '7.1' },
      },
      list: (answer) => at(answer, 'value'),
      next: () => undefined,
      read: (entry) => read(project, entry),
    })),
  );

/** One that is disabled takes no pushes, and is read by nobody either. */
function read(project: string, entry: unknown): SeenRepository | undefined {
  const name = text(at(entry, 'name'));
  const visibility = text(at(entry, 'project', 'visibility'));
  return name === undefined
    ? undefined
    : {
        path: `${project}/_git/${name}`,
        defaultBranch: text(at(entry, 'defaultBranch'))?.replace('refs/heads/', ''),
        isPrivate: visibility === undefined ? undefined : visibility !== 'public',
        isArchived: flag(at(entry, 'isDisabled')),
        pushedAt: undefined,
      };
}
