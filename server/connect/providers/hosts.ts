/**
 * This registry holds what is done at the hosts of repositories, whichever CI system a connection is of. A
 * provider that is the repository's host as well can be asked for the status of a run: the answer has what
 * its webhooks would have reported.
 */
import * as azure from './azure/host.ts';
import { azureRepositories } from './azure/repositories.ts';
import * as bitbucket from './bitbucket/host.ts';
import { bitbucketRepositories } from './bitbucket/repositories.ts';
import type { RunName } from './event.ts';
import type { ForgeApi } from './forges/call.ts';
import { forgeOf, type HostedRepository } from './forges/forge.ts';
import { inRoots, type ListRepositories } from './forges/listing.ts';
import * as github from './github/host.ts';
import { githubRepositories } from './github/repositories.ts';
import * as gitlab from './gitlab/host.ts';
import { gitlabRepositories } from './gitlab/repositories.ts';
import type { AskRun, Hooks, PostStatus, Tree } from './host.ts';
import { within } from './known.ts';
import type { CiProvider, ForgeId } from './words.ts';

const ADAPTERS: Readonly<
  Record<ForgeId, { readonly tree: (api: ForgeApi) => Tree; readonly postStatus: PostStatus }>
> = { azure, bitbucket, github, gitlab };

const LISTINGS: Readonly<Record<ForgeId, ListRepositories>> = {
  azure: azureRepositories,
  bitbucket: bitbucketRepositories,
  github: githubRepositories,
  gitlab: gitlabRepositories,
};

const SYSTEMS: Readonly<Partial<Record<CiProvider, { readonly hooks: Hooks; readonly askRun: AskRun }>>> = {
  bitbucket,
  github,
  gitlab,
};

export const treeOf = (api: ForgeApi): Tree => ADAPTERS[api.forge].tree(api);

/** A token may see more than the owners that it was given for: only what lies under them is listed. */
export const listRepositories: ListRepositories = async (api, roots) => {
  const { repositories, isComplete } = await LISTINGS[api.forge](api, roots);
  return { repositories: repositories.filter(({ path }) => inRoots(api.forge, path, roots)), isComplete };
};

export const postStatus: PostStatus = async (api, status) =>
  await ADAPTERS[api.forge].postStatus(api, status);

/** Returns what keeps webhooks, where the host is the CI system itself. */
export const hooksOf = (provider: CiProvider): Hooks | undefined => SYSTEMS[provider]?.hooks;

/** Providers that can be asked. */
export const ASKABLE = Object.keys(SYSTEMS) as readonly CiProvider[];

/**
 * A number or a UUID; the same in SQL. A run that is known by a commit and a context has nothing that could
 * be asked for.
 */
export const ASKABLE_ID = '^([0-9]{1,18}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$';

/** Returns undefined when this connection's provider cannot be asked. */
export async function askRun(api: ForgeApi, connection: HostedRepository, run: RunName) {
  const system = forgeOf(connection) === connection.provider ? SYSTEMS[connection.provider] : undefined;
  return system === undefined ? undefined : within(await system.askRun(api, run));
}
