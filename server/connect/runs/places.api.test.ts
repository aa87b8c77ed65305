/** These tests show in which timelines a run stands, by webhook and by report, over HTTP. */
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { hook, type Hooked } from '../../../test/setup/ci/hooked.ts';
import { has } from '../../../test/setup/needs.ts';
import { world, type World } from '../../../test/setup/world.ts';

const SHA = '3484a3fb816e0859fd6e1cea078d76385ff50625';
const GITHUB = { 'x-github-event': 'workflow_run' };
const GITLAB = { 'x-gitlab-event': 'Pipeline Hook' };

describe.skipIf(!(await has('postgres')))('a run stands', () => {
  let w: World;
  let sdk: SvcSDK;
  let ci: SvcSDK;
  let github: Hooked;
  const environments = new Map<string, string>();

  const environment = async (name: string, more: object) => {
    const { id } = await sdk.environments.create(w.projectId, { name, ...more });
    environments.set(name, id);
  };
  const named = (...names: string[]) => names.map((name) => environments.get(name));
  const connected = async (provider: 'github' | 'gitlab') =>
    await hook(w.server, provider, {
      as: w.owner.token,
      teamId: w.teamId,
      repositoryHost: 'github.com',
      ingestMode: 'both',
      projectId: w.projectId,
    });
  /** A run of GitHub Actions, told by its webhook. */
  const told = async (id: number, branch: string, more: object = {}) => {
    const hooked = github;
    const run = { id, status: 'in_progress', head_branch: branch, head_sha: SHA, name: 'CI', ...more };
    const payload = { repository: { id: 1, full_name: 'acme/app' }, workflow_run: run };
    await hooked.deliver(payload, GITHUB);
    return await sdk.ci.getRun(`${hooked.connectionId}:1:${id}`);
  };
  const seenIn = async (runId: string) => {
    const pages = [...environments].map(async ([name, id]) => {
      const { entries } = await sdk.timeline.get(id, { limit: 200 });
      return entries.filter((entry) => entry.id === runId).map((entry) => [name, entry] as const);
    });
    return (await Promise.all(pages)).flat();
  };

  beforeAll(async () => {
    w = await world();
    ({ sdk } = w);
    const { secret } = await sdk.apiKeys.create('ci', { scopes: ['ci:write', 'ci:read'] });
    ci = createSvcSDK({ baseUrl: w.server.baseUrl, token: secret, maxRetries: 0 });
    const repository = 'https://github.com/acme/app';
    await environment('staging', { repository });
    await environment('production', { repository: `${repository}.git` });
    await environment('next', { repository, branch: 'release/2' });
    await environment('elsewhere', { repository: 'https://github.com/acme/other' });
    await environment('bare', {});
    github = await connected('github');
  });

  it('in each environment that builds its branch, until its end and behind it, and in no other', async () => {
    const { id, environmentId, environmentIds, unplaced } = await told(1, 'main');
    expect([environmentId, environmentIds, unplaced]).toEqual([
      environments.get('staging'),
      named('staging', 'production'),
      undefined,
    ]);
    const statuses = async () => (await seenIn(id)).map(([name, { status }]) => [name, status]);
    expect(await statuses()).toEqual([
      ['staging', 'running'],
      ['production', 'running'],
    ]);
    await told(1, 'main', { status: 'completed', conclusion: 'success' });
    expect(await statuses()).toEqual([
      ['staging', 'success'],
      ['production', 'success'],
    ]);
    expect((await told(2, 'release/2')).environmentIds).toEqual(named('next'));

    const other = await told(3, 'main');
    const production = environments.get('production') ?? '';
    const pages = [await sdk.timeline.get(production, { limit: 1 })];
    pages.push(await sdk.timeline.get(production, { limit: 1, cursor: pages[0]?.nextCursor ?? '' }));
    expect(pages.flatMap(({ entries }) => entries.map((entry) => entry.id))).toEqual([other.id, id]);
  });

  it('in the one that its report names, whatever else builds its branch', async () => {
    const { connectionId } = github;
    const report = {
      ciConnectionId: connectionId,
      branch: 'main',
      environmentId: environments.get('elsewhere') ?? '',
    };
    const run = await ci.ci.report({ ...report, externalRunId: 'named' });
    expect(run.environmentIds).toEqual(named('elsewhere'));
    await ci.ci.complete(run.id, 'success');
    expect((await seenIn(run.id)).map(([name]) => name)).toEqual(['elsewhere']);
    const unnamed = await ci.ci.report({ ciConnectionId: connectionId, branch: 'main', externalRunId: 'n' });
    expect(unnamed.environmentIds).toEqual(named('staging', 'production'));
  });

  it('in the others when one of them is deleted, and in all once its connection gets a project', async () => {
    const { id: projectId } = await sdk.projects.create({ name: 'later', teamId: w.teamId });
    const made = await sdk.ci.createConnection(w.teamId, {
      provider: 'github',
      repositoryHost: 'github.com',
      repositoryPath: 'acme/later',
    });
    const repository = 'https://github.com/acme/later';
    const [one, two] = [
      await sdk.environments.create(projectId, { name: 'one', repository }),
      await sdk.environments.create(projectId, { name: 'two', repository }),
    ];
    const report = { ciConnectionId: made.id, externalRunId: '1', branch: 'main' };
    const { id, unplaced } = await ci.ci.report(report);
    expect(unplaced).toContain('its connection has no project');
    await sdk.ci.updateConnection(made.id, { projectId });
    expect((await sdk.ci.getRun(id)).environmentIds).toEqual([one.id, two.id]);
    await sdk.environments.delete(one.id);
    const after = await sdk.ci.getRun(id);
    expect([after.environmentIds, after.unplaced]).toEqual([[two.id], undefined]);
    expect((await sdk.timeline.get(two.id)).entries.map((entry) => entry.id)).toEqual([id]);
    await ci.ci.complete(id, 'failed');
    expect((await sdk.timeline.get(two.id)).entries.map(({ status }) => status)).toEqual(['failed']);
  });

  it.each([
    ['gh-readonly-queue/main/pr-12-0a1b2c3d4e5f60718293a4b5c6d7e8f901234567', 'main', {}],
    ['gh-readonly-queue/release/2/pr-7-0a1b2c3', 'release/2', {}],
    ['mergify/merge-queue/0a1b2c', 'main', { pull_requests: [{ base: { ref: 'main' } }] }],
  ])('of the merge queue %s with the base branch, and says so', async (branch, base, more) => {
    const run = await told(branch.length * 1_000, branch, more);
    expect(run).toMatchObject({ branch: base, mergeQueue: true });
    const places = base === 'main' ? named('staging', 'production') : named('next');
    expect(run.environmentIds).toEqual(places);
    for (const [, entry] of await seenIn(run.id))
      expect(entry).toMatchObject({ branch: base, mergeQueue: true });
    // A job of it reports the name that its CI system gives the branch.
    const report = { ciConnectionId: github.connectionId, externalRunId: run.externalRunId };
    expect(await ci.ci.report({ ...report, branch })).toMatchObject({ id: run.id, branch: base });
  });

  it.each(['gh-readonly-queue/main', 'my/gh-readonly-queue/main/pr-1-0a1b2c3', 'mergify/merge-queue/x'])(
    'of the plain branch %s as of any other',
    async (branch) => {
      const run = await told(branch.length * 7, branch);
      expect(run).toMatchObject({ branch, mergeQueue: false, environmentIds: [] });
    },
  );

  it("of GitLab's merge train with the target, told by webhook and by its job alike", async () => {
    const hooked = await connected('gitlab');
    const train = (id: number, ref: string) => ({
      object_kind: 'pipeline',
      object_attributes: { id, status: 'running', sha: SHA, ref, source: 'merge_request_event' },
      merge_request: { source_branch: 'topic', target_branch: 'main', iid: 12 },
      project: { id: 7, path_with_namespace: 'acme/app' },
      builds: [],
    });
    const run = async (id: number, ref: string) => {
      await hooked.deliver(train(id, ref), GITLAB);
      return await sdk.ci.getRun(`${hooked.connectionId}:1:${id}`);
    };
    const queued = { branch: 'main', mergeQueue: true, environmentIds: named('staging', 'production') };
    expect(await run(1, 'refs/merge-requests/12/train')).toMatchObject(queued);
    expect(await run(2, 'refs/merge-requests/12/head')).toMatchObject({ branch: 'topic', mergeQueue: false });
    const report = { ciConnectionId: hooked.connectionId, branch: 'topic', mergeQueueOf: 'main' };
    expect(await ci.ci.report({ ...report, externalRunId: '1' })).toMatchObject(queued);
    expect(await ci.ci.report({ ...report, externalRunId: '3' })).toMatchObject(queued);
  });

  it('in none when nothing fits, and says why and where it is seen', async () => {
    const { id: connectionId } = await sdk.ci.createConnection(w.teamId, {
      provider: 'github',
      repositoryHost: 'github.com',
      repositoryPath: 'acme/unknown',
      projectId: w.projectId,
    });
    await sdk.environments.delete(environments.get('bare') ?? '');
    environments.delete('bare');
    const reported = async (externalRunId: string, more: object = {}) =>
      await ci.ci.report({ ciConnectionId: connectionId, externalRunId, ...more });
    const other = await reported('a', { branch: 'main' });
    expect(other.environmentIds).toEqual([]);
    expect(other.unplaced).toBe(
      `the run stands in no timeline: no environment of the project ${w.projectId} builds the branch "main" of github.com/acme/unknown, those with this branch have another repository; it is seen with "svc ci runs list --connection ${connectionId}"`,
    );
    expect((await reported('b', { branch: 'topic' })).unplaced).toContain('builds the branch "topic" of');
    expect((await reported('c', { tag: 'v1' })).unplaced).toContain('it has no branch');
    const ended = await ci.ci.complete(other.id, 'success');
    expect(ended.unplaced).toBe(other.unplaced);

    const runs = await sdk.ci.listRunsForConnection(connectionId);
    expect(runs.map(({ externalRunId }) => externalRunId)).toEqual(['c', 'b', 'a']);
    const stranger = await w.stranger();
    await expect(stranger.sdk.ci.listRunsForConnection(connectionId)).rejects.toMatchObject({ status: 404 });

    const ofTeam = async (params: { status?: 'running' | 'success'; limit?: number; cursor?: string }) => {
      const page = await sdk.ci.listRunsForTeamPage(w.teamId, params);
      const here = page.runs.filter((run) => run.ciConnectionId === connectionId);
      return { ids: here.map(({ externalRunId }) => externalRunId), next: page.nextCursor };
    };
    const newest = await ofTeam({ limit: 2 });
    expect(newest.ids).toEqual(['c', 'b']);
    expect((await ofTeam({ limit: 1, cursor: newest.next ?? '' })).ids).toEqual(['a']);
    expect((await ofTeam({ status: 'success' })).ids).toEqual(['a']);
    expect((await ofTeam({ status: 'running' })).ids).not.toContain('a');
    await expect(stranger.sdk.ci.listRunsForTeam(w.teamId)).rejects.toMatchObject({ status: 404 });
  });
});
