/** Lists the projects of GitLab that a token is a member of, by keyset: pages by number end at 50,000. */
import {
  flag,
  linkedNext,
  PER_PAGE,
  readPages,
  type ListRepositories,
  type SeenRepository,
} from '../forges/listing.ts';
import { at, text, timeOf } from '../read.ts';

const QUERY = {
  membership: 'true',
  simple: 'true',
  pagination: 'keyset',
  order_by: 'id',
  per_page: PER_PAGE,
} as const;

export const gitlabRepositories: ListRepositories = async (api) =>
  await readPages(api, {
    request: { path: '/projects', query: QUERY },
    list: (answer) => answer,
    next: linkedNext,
    read,
  });

/** The simple form of a project does not say in every version that it is archived. */
function read(entry: unknown): SeenRepository | undefined {
  const path = text(at(entry, 'path_with_namespace'));
  const visibility = text(at(entry, 'visibility'));
  return path === undefined
    ? undefined
    : {
        path,
        defaultBranch: text(at(entry, 'default_branch')),
        isPrivate: visibility === undefined ? undefined : visibility !== 'public',
        isArchived: flag(at(entry, 'archived')),
        pushedAt: timeOf(at(entry, 'last_activity_at')),
      };
}
