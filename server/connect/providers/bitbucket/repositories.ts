/** Lists repositories of workspaces of Bitbucket Cloud, which has no listing over all of them any more. */
import { flag, PER_PAGE, readLists, type ListRepositories, type SeenRepository } from '../forges/listing.ts';
import { at, text, timeOf } from '../read.ts';

export const bitbucketRepositories: ListRepositories = async (api, workspaces) =>
  await readLists(
    api,
    workspaces.map((workspace) => ({
      request: {
        path: `/repositories/${encodeURIComponent(workspace)}`,
        query: { role: 'member', pagelen: PER_PAGE },
      },
      list: (answer) => at(answer, 'values'),
      next: (answer) => text(at(answer.json(), 'next')),
      read,
    })),
  );

function read(entry: unknown): SeenRepository | undefined {
  const path = text(at(entry, 'full_name'));
  return path === undefined
    ? undefined
    : {
        path,
        defaultBranch: text(at(entry, 'mainbranch', 'name')),
        isPrivate: flag(at(entry, 'is_private')),
        isArchived: undefined,
        pushedAt: timeOf(at(entry, 'updated_on')),
      };
}
