import { describe, expect, it } from 'vitest';
import type { ForgeApi } from './forges/call.ts';
import { askRun as askBitbucket } from './bitbucket/host.ts';
import { askRun as askGithub } from './github/host.ts';
import { askRun as askGitlab } from './gitlab/host.ts';
import type { AskRun } from './host.ts';

const SHA = 'a'.repeat(40);

/** Answers what is at the end of a path, and lists of jobs with none. */
async function factsOf(ask: AskRun, answer: object) {
  const api = {
    repositoryBase: '/here',
    call: async ({ path }: { path: string }) => ({ json: () => (path.endsWith('/jobs') ? [] : answer) }),
  } as unknown as ForgeApi;
  const news = await ask(api, { externalRunId: '31', externalAttempt: 1 });
  if ('ignored' in news) throw new Error(news.ignored);
  return news.event.facts;
}

describe('what hosts answer of a run', () => {
  it('GitHub: has no branch when it is one of a fork', async () => {
    const run = {
      id: 31,
      status: 'in_progress',
      head_branch: 'main',
      repository: { id: 1, full_name: 'acme/app' },
    };
    expect((await factsOf(askGithub, { ...run, head_repository: { id: 2 } })).branch).toBeUndefined();
    expect((await factsOf(askGithub, { ...run, head_repository: { id: 1 } })).branch).toBe('main');
  });

  it('GitLab: names no head for a merge request', async () => {
    const pipeline = { id: 31, status: 'running', sha: SHA, project_id: 7 };
    const ofRequest = { ...pipeline, source: 'merge_request_event', ref: 'refs/merge-requests/5/merge' };
    const { commitSha, builtSha, branch } = await factsOf(askGitlab, ofRequest);
    expect([commitSha, builtSha, branch]).toEqual([undefined, SHA, undefined]);
    const pushed = await factsOf(askGitlab, { ...pipeline, source: 'push', ref: 'main' });
    expect([pushed.commitSha, pushed.builtSha, pushed.branch]).toEqual([SHA, undefined, 'main']);
  });

  it('Bitbucket: calls the pipeline what its statuses and its jobs call it', async () => {
    const pipeline = { state: { name: 'IN_PROGRESS' }, repository: { full_name: 'acme/app' } };
    expect((await factsOf(askBitbucket, pipeline)).name).toBe('acme/app');
  });
});
