/** This registry holds what is done at the hosts of repositories, whichever CI system a connection is of. */
import { postStatus as postToAzure } from './azure/status.ts';
import { azureTree } from './azure/tree.ts';
import { hooks as bitbucketHooks } from './bitbucket/hooks.ts';
import { postStatus as postToBitbucket } from './bitbucket/status.ts';
import { bitbucketTree } from './bitbucket/tree.ts';
import type { PostStatus } from './commit-status.ts';
import type { ForgeApi } from './forges/call.ts';
import { hooks as githubHooks } from './github/hooks.ts';
import { postStatus as postToGithub } from './github/status.ts';
import { githubTree } from './github/tree.ts';
import { hooks as gitlabHooks } from './gitlab/hooks.ts';
import { postStatus as postToGitlab } from './gitlab/status.ts';
import { gitlabTree } from './gitlab/tree.ts';
import type { Hooks } from './hooks.ts';
import type { Tree } from './tree.ts';
import type { CiProvider, ForgeId } from './words.ts';

/** They read repositories. */
export const TREES: Readonly<Record<ForgeId, (api: ForgeApi) => Tree>> = {
  azure: azureTree,
  bitbucket: bitbucketTree,
  github: githubTree,
  gitlab: gitlabTree,
};

/** They keep webhooks, where the host is the CI system itself. */
export const HOOKS: Readonly<Partial<Record<CiProvider, Hooks>>> = {
  bitbucket: bitbucketHooks,
  github: githubHooks,
  gitlab: gitlabHooks,
};

/** They post statuses of commits. */
export const POSTS: Readonly<Record<ForgeId, PostStatus>> = {
  azure: postToAzure,
  bitbucket: postToBitbucket,
  github: postToGithub,
  gitlab: postToGitlab,
};
