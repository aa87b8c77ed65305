/** Statuses of commits, from a reported run to what a host on loopback is told. */
import { describe, expect, it } from 'vitest';
import { azureStatuses } from '../../../test/setup/forges/azure-statuses.ts';
import { PUBLIC_URL, ownBackground } from '../../../test/setup/forges/background.ts';
import { bitbucketStatuses } from '../../../test/setup/forges/bitbucket-statuses.ts';
import type { Route } from '../../../test/setup/forges/fake-forge.ts';
import { githubStatuses, type FakeCommits } from '../../../test/setup/forges/github-statuses.ts';
import { gitlabStatuses } from '../../../test/setup/forges/gitlab-statuses.ts';
import { has } from '../../../test/setup/needs.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { giveUpLost } from '../runs/health.ts';
import { PROVIDERS } from '../providers/known.ts';
import { POSTS_MAX, wantCommitStatus } from './handler.ts';

const TOKEN = 'token-of-the-host';
const SHA = 'a'.repeat(40);
const HOUR_MS = 3_600_000;

const HOSTS = {
  github: { host: 'github.com', path: 'acme/app', named: 'acme/app', routes: githubStatuses },
  gitlab: { host: 'gitlab.com', path: 'acme/sub/app', named: 'acme/sub/app', routes: gitlabStatuses },
  bitbucket: { host: 'bitbucket.org', path: 'acme/app', named: 'acme/app', routes: bitbucketStatuses },
  azure: { host: 'dev.azure.com', path: 'acme/shop/_git/app', named: 'acme/shop/app', routes: azureStatuses },
} as const;

describe.skipIf(!(await has('postgres')))('statuses of commits', () => {
  const background = ownBackground();

  const call: typeof background.call = async (...args) => await background.call(...args);

  /** Makes a connection of a CI system to a repository at a fake host. */
  async function connected(host: keyof typeof HOSTS = 'github', provider = 'jenkins') {
    const { routes, named, ...place } = HOSTS[host];
    const commits: FakeCommits = { token: TOKEN, path: named, shas: new Set([SHA]), posted: [] };
    const forge = await background.startForge(routes(commits) as readonly Route[]);
    const id = await background.connect({ provider, ...place, token: TOKEN, apiUrl: forge.url });
    return { id, forge, posted: commits.posted };
  }
  let runs = 0;
  const report = async (id: string, more: Record<string, unknown> = {}): Promise<string> => {
    runs += 1;
    const body = {
      ciConnectionId: id,
      externalRunId: `run-${runs}`,
      commitSha: SHA,
      pipelineName: 'build',
      ...more,
    };
    const answer = await call('POST /ci/runs', body);
    expect([200, 201], answer.text).toContain(answer.status);
    return String(answer.body['id']);
  };
  const complete = async (run: string, status: string) => {
    const answer = await call(`POST /ci/runs/${run}/complete`, { status });
    expect(answer.status, answer.text).toBe(200);
  };
  /** The same, and the host is told of it. */
  const tell: typeof report = async (...reported) => {
    const run = await report(...reported);
    await background.work();
    return run;
  };
  const end: typeof complete = async (...ended) => {
    await complete(...ended);
    await background.work();
  };
  const loseAll = async () => {
    background.later(8 * HOUR_MS);
    await giveUpLost({ db: background.server.db, follow: wantCommitStatus }, background.clock.now());
    await background.work();
  };
  const connection = async (id: string) => (await call(`GET /ci/connections/${id}`)).body;
  const patch = async (id: string, body: object) =>
    expect((await call(`PATCH /ci/connections/${id}`, body)).status).toBe(200);
  const states = (posted: FakeCommits['posted']) => posted.map(({ state }) => state);
  const openJobs = async () =>
    (await background.server.db.sql`select 1 from jobs where state <> 'dead'`).length;

  it('tells a commit at GitHub that a run runs and how it ended, and no more', async () => {
    const { id, posted } = await connected();
    const url = 'https://jenkins.example.com/job/app/1/';
    const run = await tell(id, { externalUrl: url });
    await call(`PATCH /ci/runs/${run}`, { status: 'running' });
    await background.work();
    await call(`POST /ci/runs/${run}/complete`, { status: 'success', durationMs: 61_000 });
    await background.work();
    await end(run, 'success');
    expect(posted).toEqual([
      { sha: SHA, state: 'pending', context: 'svc/build', description: 'build: runs', target_url: url },
      {
        sha: SHA,
        state: 'success',
        context: 'svc/build',
        description: 'build: succeeded after 1 min 1 s',
        target_url: url,
      },
    ]);
    expect(await openJobs()).toBe(0);
    expect(await connection(id)).not.toHaveProperty('commitStatusDetail');
  });

  it.each([
    ['github', ['pending', 'failure'], ['pending', 'error']],
    ['gitlab', ['running', 'failed'], ['running', 'canceled']],
    ['bitbucket', ['INPROGRESS', 'FAILED'], ['INPROGRESS', 'STOPPED']],
    ['azure', ['pending', 'failed'], ['pending', 'error']],
  ] as const)('has the words of %s', async (host, failed, cancelled) => {
    const { id, posted } = await connected(host);
    for (const status of ['failed', 'cancelled']) {
      const run = await tell(id, { branch: 'main', pipelineName: status });
      await end(run, status);
    }
    expect(states(posted)).toEqual([...failed, ...cancelled]);
  });

  it('names the ref at GitLab, and the pipeline where it is one of its own', async () => {
    const { id, posted } = await connected('gitlab', 'gitlab');
    await patch(id, { commitStatusMode: 'always' });
    await tell(id, { branch: 'feature/x', externalRunId: '4711', status: 'success' });
    expect(posted).toMatchObject([
      { name: 'svc/build', ref: 'feature/x', pipeline_id: 4711, state: 'success' },
    ]);
  });

  it('gives GitLab no address that is longer than it takes', async () => {
    const { id, posted } = await connected('gitlab');
    const url = `https://jenkins.example.com/${'job/deep/'.repeat(30)}`;
    await tell(id, { status: 'success', externalUrl: url });
    expect(posted).toMatchObject([{ state: 'success' }]);
    expect(posted[0]).not.toHaveProperty('target_url');
  });

  it('calls no commit good for pull_request_target, whose job names the commit', async () => {
    const { id, posted } = await connected('github', 'github');
    await patch(id, { commitStatusMode: 'always' });
    await tell(id, { status: 'success', trigger: 'pull_request_target' });
    expect(posted).toEqual([]);
    await tell(id, { status: 'success', trigger: 'pull_request' });
    expect(states(posted)).toEqual(['success']);
  });

  it('takes a move that GitLab says was made already for one that was made', async () => {
    const { id, forge, posted } = await connected('gitlab');
    const run = await tell(id);
    // Told before, by a worker that died before it could say so.
    await background.server.db.sql`update ci_commit_statuses set told_word = null, told_run_id = null`;
    await background.server.db.sql`
      insert into jobs (id, team_id, kind, lane, payload, due_at, created_at)
      select 'job_again', team_id, 'ci_commit_status', 'again', jsonb_build_object('connectionId', connection_id, 'sha', sha, 'context', context),
        'epoch', now()
      from ci_commit_statuses`;
    await background.work();
    expect(forge.asked).toHaveLength(2);
    expect(states(posted)).toEqual(['running']);
    await end(run, 'success');
    expect(states(posted)).toEqual(['running', 'success']);
    expect(await connection(id)).not.toHaveProperty('commitStatusDetail');
  });

  it('keeps keys at Bitbucket short and stable, and gives an address', async () => {
    const { id, posted } = await connected('bitbucket');
    const pipelineName = 'a pipeline with a name that is longer than a key may be';
    const run = await tell(id, { pipelineName });
    await complete(run, 'success');
    await tell(id, { status: 'success' });
    const [first, second, short] = posted;
    expect(first?.['key']).toMatch(/^svc-[0-9a-f]{32}$/);
    expect(second?.['key']).toBe(first?.['key']);
    expect(short?.['key']).toBe('svc/build');
    expect(first?.['url']).toBe(`https://bitbucket.org/acme/app/commits/${SHA}`);
  });

  it('has a genre of its own at Azure', async () => {
    const { id, posted } = await connected('azure');
    await tell(id, { status: 'success' });
    expect(posted).toMatchObject([{ state: 'succeeded', context: { genre: 'svc', name: 'build' } }]);
  });

  it('leads to the timeline of the environment where a run has no page of its own', async () => {
    const { id, posted } = await connected();
    const { teamId } = background.server.first;
    const project = await call('POST /projects', { teamId, name: 'shop' });
    const made = await call(`POST /projects/${String(project.body['id'])}/environments`, {
      name: 'production',
    });
    expect(made.status, made.text).toBe(201);
    await tell(id, { status: 'success', environmentId: made.body['id'] });
    expect(posted).toMatchObject([
      { target_url: `${PUBLIC_URL}/console/environments/${String(made.body['id'])}/timeline` },
    ]);
  });

  it('ends a burst with the last state, told once', async () => {
    const { id, posted } = await connected();
    const run = await report(id, { status: 'queued' });
    expect(await openJobs()).toBe(0);
    await call(`PATCH /ci/runs/${run}`, { status: 'running' });
    await end(run, 'failed');
    expect(states(posted)).toEqual(['failure']);
  });

  it('posts the newest run of a pipeline, whichever is reported last', async () => {
    const { id, posted } = await connected();
    const older = await report(id, { startedAt: '2026-01-01T10:00:00Z' });
    const newer = await report(id, { startedAt: '2026-01-01T11:00:00Z' });
    await complete(newer, 'success');
    await end(older, 'failed');
    expect(states(posted)).toEqual(['success']);
    // The same end of another run is told, since its address is another one.
    await tell(id, {
      startedAt: '2026-01-01T12:00:00Z',
      status: 'success',
      externalUrl: 'https://ci.example.com/3',
    });
    expect(posted.map(({ target_url }) => target_url)).toEqual([undefined, 'https://ci.example.com/3']);
  });

  it('waits for the commit of a run that was reported without one', async () => {
    const { id, posted } = await connected();
    await report(id, { externalRunId: 'late', commitSha: 'HEAD', status: 'success' });
    await tell(id, { externalRunId: 'short', commitSha: 'abc1234', status: 'success' });
    expect(posted).toEqual([]);
    await tell(id, { externalRunId: 'late', status: 'success' });
    expect(states(posted)).toEqual(['success']);
  });

  it('goes on under the name that a run began with', async () => {
    const { id, posted } = await connected();
    const named = async (more: object) => await report(id, { externalRunId: 'named-late', ...more });
    await named({ pipelineName: undefined });
    await background.work();
    await named({ pipelineName: 'nightly', status: 'success' });
    await background.work();
    // And under one name alone, when it became known before anything was told.
    const burst = async (more: object) => await report(id, { externalRunId: 'burst', ...more });
    await burst({ pipelineName: undefined });
    await burst({ pipelineName: 'weekly' });
    await background.work();
    expect(posted.map(({ context, state }) => [context, state])).toEqual([
      ['svc/default', 'pending'],
      ['svc/default', 'success'],
      ['svc/weekly', 'pending'],
    ]);
  });

  it('tells of a lost run only when nobody is left to ask, and again when it lives', async () => {
    const { id, posted } = await connected();
    const run = await tell(id);
    await loseAll();
    await end(run, 'success');
    expect(states(posted)).toEqual(['pending', 'error', 'success']);
    expect(posted[1]).toMatchObject({ description: 'build: how it ended is not known (lost)' });
    await tell(id, { status: 'unknown', pipelineName: 'other' });
    expect(posted).toHaveLength(3);
  });

  it('says nothing of what the host runs itself, of whoever wants it not, or without a token', async () => {
    const own = await connected('github', 'github');
    await tell(own.id, { status: 'success' });
    expect(own.posted).toEqual([]);
    await patch(own.id, { commitStatusMode: 'always' });
    await tell(own.id, { status: 'success' });
    expect(states(own.posted)).toEqual(['success']);

    const never = await connected('gitlab');
    await report(never.id);
    await patch(never.id, { commitStatusMode: 'never' });
    await background.work();
    await tell(never.id, { status: 'success' });
    expect(never.posted).toEqual([]);

    const { id, posted } = await connected('bitbucket');
    await report(id);
    expect((await call(`DELETE /ci/connections/${id}/token`)).status).toBe(204);
    await background.work();
    await tell(id, { status: 'success' });
    expect(posted).toEqual([]);
  });

  it('keeps pipelines of one name apart', async () => {
    const { id, posted } = await connected('gitlab');
    await tell(id, { status: 'success' });
    await background.server.db.sql`
      insert into ci_pipelines (id, team_id, connection_id, name, path, created_at)
      select 'cip_zzz', team_id, connection_id, name, 'ci/second.yml', now() from ci_pipelines where connection_id = ${id}`;
    const second = await report(id, { status: 'running' });
    await background.server.db.sql`update ci_runs set pipeline_id = 'cip_zzz' where id = ${second}`;
    await loseAll();
    expect(posted.map(({ name }) => String(name)).toSorted()).toEqual([
      'svc/build',
      'svc/build (ci/second.yml)',
    ]);
  });

  describe('when the host refuses', () => {
    it.each([
      [401, { message: 'Bad credentials' }],
      [403, { message: 'Resource not accessible by personal access token' }],
      [404, { message: 'Not Found' }],
      [422, { message: 'Validation Failed', errors: [{ message: 'context is reserved' }] }],
    ])('stops after %i, says why, and goes on with a new token or mode', async (status, body) => {
      const { id, forge, posted } = await connected();
      let refuses = true;
      forge.instead(() => (refuses ? { status, body } : undefined));
      const run = await tell(id);
      await complete(run, 'success');
      await tell(id, { pipelineName: 'other' });
      expect(forge.asked).toHaveLength(1);
      expect((await connection(id))['commitStatusDetail']).toContain(
        `was answered with ${status}: ${body.message}`,
      );
      expect((await call(`GET /ci/runs/${run}`)).body['status']).toBe('success');
      refuses = false;
      if (status < 404) {
        const token = { token: TOKEN, apiUrl: forge.url };
        await call(`PUT /ci/connections/${id}/token`, token);
      } else {
        await patch(id, { defaultBranch: 'next' });
        expect(await connection(id)).toHaveProperty('commitStatusDetail');
        // It sets the same mode once more.
        await patch(id, { commitStatusMode: 'auto' });
      }
      expect(await connection(id)).not.toHaveProperty('commitStatusDetail');
      await tell(id, { status: 'success' });
      expect(states(posted)).toEqual(['success']);
    });

    it.each(['github', 'gitlab', 'bitbucket', 'azure'] as const)(
      'goes on at %s with other commits when it does not have one',
      async (host) => {
        const { id, posted } = await connected(host);
        const missing = 'b'.repeat(40);
        await tell(id, { commitSha: missing, status: 'success' });
        expect((await connection(id))['commitStatusDetail']).toMatch(
          new RegExp(`^commit ${missing.slice(0, 12)}: POST .* was answered with 4`),
        );
        await tell(id, { status: 'success' });
        expect(posted).toHaveLength(1);
        expect(await connection(id)).not.toHaveProperty('commitStatusDetail');
      },
    );

    it('tries again what passes, for as long as it is asked to wait, and sends what is true then', async () => {
      const { id, forge, posted } = await connected();
      const answers = [
        { status: 500, body: { message: 'oops' } },
        { status: 429, headers: { 'retry-after': '90' }, body: { message: 'slow down' } },
        // This is GitHub's secondary limit.
        { status: 403, headers: { 'retry-after': '60' }, body: { message: 'secondary rate limit' } },
      ];
      forge.instead(() => answers.shift());
      const run = await tell(id);
      expect(forge.asked).toHaveLength(1);
      background.later(6_000);
      await background.work();
      expect(forge.asked).toHaveLength(2);
      await complete(run, 'failed');
      background.later(80_000);
      await background.work();
      expect(forge.asked).toHaveLength(2);
      background.later(11_000);
      await background.work();
      expect(forge.asked).toHaveLength(3);
      background.later(61_000);
      await background.work();
      expect(states(posted)).toEqual(['failure']);
      expect(await connection(id)).not.toHaveProperty('commitStatusDetail');
    });

    it('says when it gave up, and is tried with the next run', async () => {
      const { id, forge, posted } = await connected();
      let isDown = true;
      forge.instead(() => (isDown ? { status: 502 } : undefined));
      await report(id);
      for (let n = 0; n < 14; n += 1) {
        await background.work();
        background.later(HOUR_MS);
      }
      expect(await openJobs()).toBe(0);
      expect((await connection(id))['commitStatusDetail']).toMatch(/^POST .* was answered with 502$/);
      isDown = false;
      await tell(id, { status: 'success' });
      expect(states(posted)).toEqual(['success']);
      expect(await connection(id)).not.toHaveProperty('commitStatusDetail');
    });

    it('never shows the token, nor what a database cannot store', async () => {
      const { id, forge } = await connected();
      forge.instead(() => ({ status: 403, body: { message: `no access for ${TOKEN}\u0000 here` } }));
      await tell(id);
      expect((await connection(id))['commitStatusDetail']).toMatch(/no access for … here$/);
    });
  });

  it('is done by servers by themselves', async () => {
    const { id, posted } = await connected();
    const { databaseUrl, dataDir } = background.server;
    const env = { WEBHOOKS_ALLOW_PRIVATE: 'true', PUBLIC_URLS: PUBLIC_URL };
    const workers = [1, 2].map(async () => await startTestServer({ databaseUrl, dataDir, env }));
    try {
      await Promise.all(workers);
      const run = await report(id);
      await waitFor('the first', () => posted[0]);
      await complete(run, 'failed');
      await waitFor('the second', () => posted[1]);
      expect(states(posted)).toEqual(['pending', 'failure']);
    } finally {
      for (const worker of workers) await (await worker).stop();
    }
  });

  it(`tells one commit of one pipeline at most ${POSTS_MAX} times`, async () => {
    const { id, posted } = await connected();
    await tell(id, { status: 'success' });
    await background.server.db.sql`update ci_commit_statuses set posts = ${POSTS_MAX - 1}`;
    await tell(id, { status: 'success' });
    expect(posted).toHaveLength(2);
    await tell(id, { status: 'success' });
    expect(posted).toHaveLength(2);
    expect((await connection(id))['commitStatusDetail']).toContain(`was told ${POSTS_MAX} times`);
    await tell(id, { status: 'success', pipelineName: 'other' });
    expect(posted).toHaveLength(3);
  });

  it('ignores its own posts when they come back as webhooks', async () => {
    const github = await connected();
    const bitbucket = await connected('bitbucket');
    for (const { id } of [github, bitbucket])
      for (const pipelineName of ['build', 'x'.repeat(200)])
        await tell(id, { status: 'success', pipelineName });
    expect(github.posted).toHaveLength(2);
    expect(bitbucket.posted).toHaveLength(2);
    for (const { sha, context, state } of github.posted) {
      const payload = { sha, context, state, repository: { id: 1, full_name: 'acme/app' } };
      expect(PROVIDERS.github.normalise({ 'X-GitHub-Event': 'status' }, payload)).toHaveProperty('ignored');
    }
    for (const { key, state, sha } of bitbucket.posted) {
      const payload = {
        commit_status: { key, state, commit: { hash: sha } },
        repository: { full_name: 'acme/app' },
      };
      const headers = { 'X-Event-Key': 'repo:commit_status_created' };
      expect(PROVIDERS.bitbucket.normalise(headers, payload)).toHaveProperty('ignored');
    }
  });
});
