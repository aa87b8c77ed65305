/**
 * Lists what a token sees at GitHub. A token of an installed app belongs to no user: it is refused with a
 * message of its own, and asks for the repositories of its installation.
 */
import { ForgeError, type ForgeApi } from '../forges/call.ts';
import {
  flag,
  linkedNext,
  PER_PAGE,
  readPages,
  type ListRepositories,
  type SeenRepositories,
  type SeenRepository,
} from '../forges/listing.ts';
import { at, text, timeOf } from '../read.ts';

const AFFILIATION = 'owner,collaborator,organization_member';

export const githubRepositories: ListRepositories = async (api) => {
  try {
    const request = { path: '/user/repos', query: { per_page: PER_PAGE, affiliation: AFFILIATION } };
    return await readPages(api, { request, list: (answer) => answer, next: linkedNext, read });
  } catch (error) {
    if (!isOfInstallation(error)) throw error;
    return await ofInstallation(api);
  }
};

const isOfInstallation = (error: unknown): boolean =>
  error instanceof ForgeError && error.status === 403 && /not accessible by integration/i.test(error.message);

async function ofInstallation(api: ForgeApi): Promise<SeenRepositories> {
  const request = { path: '/installation/repositories', query: { per_page: PER_PAGE } };
  const list = (answer: unknown) => at(answer, 'repositories');
  return await readPages(api, { request, list, next: linkedNext, read });
}

function read(entry: unknown): SeenRepository | undefined {
  const path = text(at(entry, 'full_name'));
  return path === undefined
    ? undefined
    : {
        path,
        defaultBranch: text(at(entry, 'default_branch')),
        isPrivate: flag(at(entry, 'private')),
        isArchived: flag(at(entry, 'archived')),
        pushedAt: timeOf(at(entry, 'pushed_at')),
      };
}
