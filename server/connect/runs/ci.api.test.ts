/** These tests call connections and direct reports over HTTP. */
import { beforeAll, describe, expect, it } from 'vitest';
import { setFeature } from '../../../test/setup/features.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, stranger } from '../../../test/setup/people.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';

const SHA = 'c'.repeat(40);

describe.skipIf(!(await has('postgres')))('external CI', () => {
  const { server, call, made: makes, connection } = ownServer();
  let teamId: string;
  beforeAll(() => void ({ teamId } = server.first));

  const connect = async (repositoryPath: string, more: object = {}) => {
    const body = { provider: 'github', repositoryHost: 'github.com', repositoryPath, ...more };
    return await call(`POST /teams/${teamId}/ci/connections`, body);
  };
  const post = async (path: string, body: unknown) => await call(`POST ${path}`, body);
  const patch = async (path: string, body: unknown) => await call(`PATCH ${path}`, body);
  const get = async (path: string) => await call(`GET ${path}`);

  describe('connections', () => {
    it('are made with defaults, listed, changed and deleted, and the ledger tells of it', async () => {
      const id = await connection('acme/first');
      const shown = (await get(`/ci/connections/${id}`)).body;
      expect(shown).toMatchObject({
        provider: 'github',
        repositoryHost: 'github.com',
        repositoryPath: 'acme/first',
        defaultBranch: 'main',
        ingestMode: 'direct',
        status: 'active',
      });
      expect(shown).not.toHaveProperty('projectId');
      const list = await get(`/teams/${teamId}/ci/connections`);
      expect(list.body['connections']).toContainEqual(shown);
      const changed = await patch(`/ci/connections/${id}`, { ingestMode: 'both', status: 'paused' });
      expect(changed.body).toMatchObject({ ingestMode: 'both', status: 'paused', defaultBranch: 'main' });
      expect((await patch(`/ci/connections/${id}`, { status: 'error' })).code).toBe('validation_failed');
      expect((await call(`DELETE /ci/connections/${id}`)).status).toBe(204);
      expect((await get(`/ci/connections/${id}`)).code).toBe('not_found');
      const acts = await server.db
        .sql`select action, details from audit_entries where target = ${id} order by seq`;
      const of = { provider: 'github', repository: 'github.com/acme/first' };
      expect(acts).toMatchObject([
        { action: 'ci_connection.created' },
        {
          action: 'ci_connection.updated',
          details: {
            ...of,
            before: { ingestMode: 'direct', status: 'active' },
            after: { ingestMode: 'both', status: 'paused' },
          },
        },
        {
          action: 'ci_connection.deleted',
          details: { ...of, before: { status: 'paused', projectId: null } },
        },
      ]);
    });

    it('are the same for every spelling of a repository, also when made at once', async () => {
      const id = await connection('Acme/Spelled');
      for (const path of ['acme/spelled', '/acme/spelled.git', 'ACME//Spelled/']) {
        const again = await connect(path, { repositoryHost: 'GitHub.com', defaultBranch: 'other' });
        expect([again.status, again.body['id'], again.body['defaultBranch']]).toEqual([200, id, 'main']);
      }
      const many = await Promise.all(Array.from({ length: 8 }, async () => await connect('acme/at-once')));
      expect(new Set(many.map(({ body }) => body['id'])).size).toBe(1);
      expect(many.filter(({ status }) => status === 201)).toHaveLength(1);
      // Another provider is another connection.
      expect((await connect('acme/spelled', { provider: 'circleci' })).status).toBe(201);
    });

    it('say what was not taken, and take a project once, with the runs that came before it', async () => {
      const project = async (name: string) => await makes('POST /projects', { name, teamId });
      const [first, second] = [await project('late'), await project('later')];
      const place = { name: 'production', branch: 'main', repository: 'https://github.com/acme/late' };
      const environmentId = (await post(`/projects/${first}/environments`, place)).body['id'];
      const made = await connect('acme/late');
      const id = String(made.body['id']);
      const update = `svc ci connections update ${id}`;
      expect(made.body).not.toHaveProperty('notTaken.0');
      const [aboutProject, aboutMode] = made.body['nextSteps'] as string[];
      expect(aboutProject).toContain(`${update} --project`);
      expect(aboutMode).toContain(`${update} --ingest-mode both`);
      expect(aboutMode).toContain(`svc ci webhook rotate-secret ${id}`);
      await post('/ci/runs', { ciConnectionId: id, externalRunId: '1', branch: 'main' });
      await post('/ci/runs', { ciConnectionId: id, externalRunId: '2', branch: 'feature' });
      const timeline = async () =>
        ((await get(`/environments/${String(environmentId)}/timeline`)).body['entries'] as unknown[]).length;
      expect(await timeline()).toBe(0);

      const given = { projectId: first, defaultBranch: 'next', ingestMode: 'both' };
      const again = await connect('acme/late', given);
      expect([again.status, again.body['projectId'], again.body['ingestMode']]).toEqual([
        200,
        undefined,
        'direct',
      ]);
      expect(again.body['notTaken']).toEqual([
        { field: 'projectId', given: first, command: `${update} --project ${first}` },
        { field: 'defaultBranch', given: 'next', kept: 'main', command: `${update} --default-branch next` },
        { field: 'ingestMode', given: 'both', kept: 'direct', command: `${update} --ingest-mode both` },
      ]);
      const set = async (projectId: string) => await patch(`/ci/connections/${id}`, { projectId });
      expect((await set('prj_00000000000000000000000000')).code).toBe('not_found');
      for (let n = 0; n < 2; n += 1) {
        const changed = await set(first);
        expect([changed.status, changed.body['projectId']], changed.text).toEqual([200, first]);
      }
      expect(await timeline()).toBe(1);
      const refused = await set(second);
      expect([refused.status, refused.code]).toEqual([409, 'state_conflict']);
      expect(refused.text).toContain(
        `belongs to the project ${first} and stays there, asked for was ${second}`,
      );
      const other = await connect('acme/late', { projectId: second, ingestMode: 'direct' });
      expect(other.body['notTaken']).toEqual([{ field: 'projectId', given: second, kept: first }]);
      const hooked = await connect('acme/with-webhooks', { ingestMode: 'webhook', projectId: first });
      expect(hooked.body['nextSteps']).toEqual([expect.stringContaining('svc ci webhook rotate-secret')]);
      expect((await get(`/ci/connections/${id}`)).body).not.toHaveProperty('nextSteps.0');
    });

    it.each(['/', '.git', '../up', 'a/./b', 'with space'])('refuse the path %j', async (path) => {
      expect((await connect(path)).code).toBe('validation_failed');
    });

    it.each([
      ['github', 'github.com', 'acme', 'owner/name'],
      ['github', 'github.com', 'acme/app/x', 'owner/name'],
      ['github', 'ghe.example.com', '/app.git', 'owner/name'],
      ['circleci', 'github.com', 'acme', 'owner/name'],
      ['gitlab', 'gitlab.com', 'app', 'group/name'],
      ['bitbucket', 'bitbucket.org', 'w/p/app', 'workspace/name'],
      ['azure', 'dev.azure.com', 'org', 'organisation/project/_git/name'],
      ['azure', 'dev.azure.com', 'org/a/b/_git/name', 'organisation/project/_git/name'],
    ])('of %s at %s refuse the path %s', async (provider, repositoryHost, path, form) => {
      const refused = await connect(path, { provider, repositoryHost });
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(`expected ${form}`)]);
    });

    it.each([
      ['gitlab', 'gitlab.com', 'a/b/c/app'],
      ['azure', 'dev.azure.com', 'org/project/_git/name'],
      ['azure', 'dev.azure.com', 'org/_git/name'],
      ['jenkins', 'git.example.com', 'app'],
      ['bitbucket', 'bitbucket.org', 'workspace/app.git'],
    ])('of %s at %s take the path %s', async (provider, repositoryHost, path) => {
      expect((await connect(path, { provider, repositoryHost })).status).toBe(201);
    });

    it('are not shown to another team, nor is their project', async () => {
      const { token } = await stranger(server);
      const id = await connection('acme/ours');
      for (const verb of ['GET', 'DELETE'])
        expect((await call(`${verb} /ci/connections/${id}`, undefined, token)).status).toBe(404);
      expect((await connect('acme/strange', { projectId: 'prj_00000000000000000000000000' })).status).toBe(
        404,
      );
    });

    it('belong to a project of their own team', async () => {
      const second = await makes('POST /teams', { name: 'second' });
      const projectId = await makes('POST /projects', { name: 'elsewhere', teamId: second });
      expect((await connect('acme/elsewhere', { projectId })).code).toBe('not_found');
    });

    it('are made by admins, not by developers; sessions of people report no runs', async () => {
      const { token } = await join(server, server.first.apiKey, { teamId, role: 'developer' });
      const body = { provider: 'github', repositoryHost: 'github.com', repositoryPath: 'acme/dev' };
      const made = await call(`POST /teams/${teamId}/ci/connections`, body, token);
      expect([made.status, made.code]).toEqual([403, 'role_insufficient']);
      const ciConnectionId = await connection('acme/people');
      const reported = await call('POST /ci/runs', { ciConnectionId, externalRunId: '1' }, token);
      expect([reported.status, reported.code]).toEqual([403, 'scope_missing']);
    });
  });

  describe('runs', () => {
    it('are the same for the same name, and another for another attempt', async () => {
      const ciConnectionId = await connection('acme/runs');
      const body = { ciConnectionId, externalRunId: '7', status: 'running', commitSha: SHA, branch: 'main' };
      const first = await post('/ci/runs', body);
      expect(first.status, first.text).toBe(201);
      expect(first.body).toMatchObject({ externalAttempt: 1, status: 'running', pipelineName: 'default' });
      const again = await post('/ci/runs', body);
      expect([again.status, again.body['id']]).toEqual([200, first.body['id']]);
      const retry = await post('/ci/runs', { ...body, externalAttempt: 2 });
      expect(retry.status).toBe(201);
      expect(retry.body['id']).not.toBe(first.body['id']);
      const at = await Promise.all(
        Array.from({ length: 8 }, async () => await post('/ci/runs', { ...body, externalAttempt: 3 })),
      );
      expect(new Set(at.map(({ body: run }) => run['id'])).size, at.map(({ text }) => text).join()).toBe(1);
      const pipelines = (await get(`/ci/connections/${ciConnectionId}/pipelines`)).body['pipelines'];
      const [pipeline] = pipelines as Array<{ id: string; name: string }>;
      expect(pipelines).toHaveLength(1);
      const listed = await get(`/ci/pipelines/${pipeline?.id}/runs?limit=2`);
      expect(listed.body['runs']).toHaveLength(2);
      const rest = await get(
        `/ci/pipelines/${pipeline?.id}/runs?limit=2&cursor=${encodeURIComponent(String(listed.body['nextCursor']))}`,
      );
      expect(rest.body['runs']).toHaveLength(1);
    });

    it('name what cannot change, and take what was not told before', async () => {
      const ciConnectionId = await connection('acme/conflicts');
      const named = { ciConnectionId, externalRunId: '1' };
      await post('/ci/runs', { ...named, commitSha: SHA, pipelineName: 'CI' });
      const more = await post('/ci/runs', { ...named, branch: 'main', externalUrl: 'https://ci.example/1' });
      expect(more.body).toMatchObject({
        commitSha: SHA,
        branch: 'main',
        externalUrl: 'https://ci.example/1',
      });
      const other = await post('/ci/runs', {
        ...named,
        commitSha: 'd'.repeat(40),
        branch: 'x',
        pipelineName: 'CI',
      });
      expect([other.status, other.code]).toEqual([409, 'ci_run_conflict']);
      const { error } = other.body as { error: { details: { fields: Array<{ field: string }> } } };
      expect(error.details.fields.map(({ field }) => field)).toEqual(['commitSha', 'branch']);
      // Two first reports at once: one of them is not true.
      const both = await Promise.all(
        ['a', 'b'].map(async (letter) => {
          const commitSha = letter.repeat(40);
          return await post('/ci/runs', { ciConnectionId, externalRunId: 'both', commitSha });
        }),
      );
      expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
      // Neither HEAD nor zeros name a commit: the run takes the first that is one.
      for (const [n, nothing] of ['HEAD', '0'.repeat(40), '0'.repeat(64)].entries()) {
        const run = { ciConnectionId, externalRunId: `no-commit-${n}` };
        expect((await post('/ci/runs', { ...run, commitSha: nothing })).body).not.toHaveProperty('commitSha');
        expect((await post('/ci/runs', { ...run, commitSha: SHA })).body['commitSha']).toBe(SHA);
        const late = await post('/ci/runs', { ...run, commitSha: nothing });
        expect([late.status, late.body['commitSha']]).toEqual([200, SHA]);
      }
    });

    it('move only forward, and tell who contradicts', async () => {
      const ciConnectionId = await connection('acme/forward');
      const named = { ciConnectionId, externalRunId: '1' };
      const id = await makes('POST /ci/runs', { ...named, status: 'queued' });
      expect((await patch(`/ci/runs/${id}`, { status: 'running' })).body['status']).toBe('running');
      const done = await post(`/ci/runs/${id}/complete`, { status: 'success', durationMs: 1_200 });
      expect(done.body).toMatchObject({ status: 'success', durationMs: 1_200 });
      expect(done.body).toHaveProperty('finishedAt');
      const again = await post(`/ci/runs/${id}/complete`, { status: 'success', durationMs: 1_200 });
      expect(again.body).toEqual(done.body);
      for (const late of ['queued', 'running'])
        expect((await patch(`/ci/runs/${id}`, { status: late })).body['status']).toBe('success');
      expect((await post('/ci/runs', { ...named, status: 'running' })).body['status']).toBe('success');
      const other = await post(`/ci/runs/${id}/complete`, { status: 'failed' });
      expect([other.status, other.code]).toEqual([409, 'state_conflict']);
      expect((await get(`/ci/runs/${id}`)).body).toEqual(done.body);
      // In words, as they are written, at each door.
      for (const [path, status] of [
        [`/ci/runs/${id}/complete`, 'running'],
        [`/ci/runs/${id}/complete`, 2],
        [`/ci/runs/${id}/complete`, 'done'],
        ['/svc.ci.v1.CiService/Complete', 'CI_STATUS_RUNNING'],
        ['/svc.ci.v1.CiService/Complete', 2],
      ] as const) {
        const open = await post(path, path.startsWith('/svc') ? { runId: id, status } : { status });
        expect([open.status, open.text]).toEqual([
          400,
          expect.stringMatching(/status: .*success, failed, cancelled, unknown/),
        ]);
        expect(open.text).not.toMatch(/\[\d|is \d/);
      }
    });

    it('may end before they were reported, by the name that their provider has for them', async () => {
      const ciConnectionId = await connection('acme/early', { provider: 'jenkins' });
      const external = 'https://ci.example/job/a/1/';
      const ref = encodeURIComponent(`${ciConnectionId}:1:${external}`);
      const ended = await post(`/ci/runs/${ref}/complete`, { status: 'cancelled' });
      expect(ended.status, ended.text).toBe(200);
      const reported = await post('/ci/runs', { ciConnectionId, externalRunId: external, commitSha: SHA });
      expect(reported.status).toBe(200);
      expect(reported.body).toMatchObject({ id: ended.body['id'], status: 'cancelled', commitSha: SHA });
      expect((await get(`/ci/runs/${ref}`)).body).toEqual(reported.body);
    });

    it('are not taken by a paused connection, nor for an environment of others', async () => {
      const ciConnectionId = await connection('acme/paused');
      const other = await stranger(server);
      const { token, teamId: theirs } = other;
      const projectId = await makes('POST /projects', { name: 'p', teamId: theirs }, token);
      const environmentId = await makes(`POST /projects/${projectId}/environments`, { name: 'e' }, token);
      const body = { ciConnectionId, externalRunId: '1' };
      expect((await post('/ci/runs', { ...body, environmentId })).code).toBe('not_found');
      await patch(`/ci/connections/${ciConnectionId}`, { status: 'paused' });
      expect((await post('/ci/runs', body)).code).toBe('ci_connection_paused');
    });

    it('belong to the environment that was named, else to the one of the project that builds their branch', async () => {
      const projectId = await makes('POST /projects', { name: 'placed', teamId });
      const environment = async (name: string, branch: string, repository?: string) =>
        await makes(`POST /projects/${projectId}/environments`, { name, branch, repository });
      const bare = await environment('bare', 'main');
      const own = await environment('own', 'main', 'git@github.com:Acme/Placed.git');
      await environment('foreign', 'main', 'https://github.com/acme/other');
      const next = await environment('next', 'next');
      const ciConnectionId = await connection('acme/placed', { projectId });
      const placed = async (externalRunId: string, more: object) =>
        (await post('/ci/runs', { ciConnectionId, externalRunId, ...more })).body['environmentId'];
      expect(await placed('1', { branch: 'main' })).toBe(own);
      expect(await placed('2', { branch: 'next' })).toBe(next);
      expect(await placed('3', { branch: 'next', environmentId: bare })).toBe(bare);
      expect(await placed('4', { branch: 'feature' })).toBeUndefined();
      expect(await placed('4', { branch: 'feature', environmentId: bare })).toBe(bare);
    });
  });

  describe('jobs', () => {
    it('are known by external id or by name and index, and end with their run', async () => {
      const ciConnectionId = await connection('acme/jobs');
      const id = await makes('POST /ci/runs', { ciConnectionId, externalRunId: '1' });
      const jobs = [
        { externalJobId: 'a', name: 'build', status: 'success' },
        { name: 'test', index: 0 },
        { name: 'test', index: 1, status: 'queued' },
      ];
      const first = await post(`/ci/runs/${id}/jobs`, { jobs });
      expect(first.status, first.text).toBe(200);
      const again = await post(`/ci/runs/${id}/jobs`, {
        jobs: [...jobs, { externalJobId: 'a', name: 'build' }],
      });
      expect(again.body).toEqual(first.body);
      await post(`/ci/runs/${id}/complete`, { status: 'failed' });
      const statuses = async () =>
        ((await get(`/ci/runs/${id}/jobs`)).body['jobs'] as Array<{ status: string; reason?: string }>).map(
          ({ status, reason }) => [status, reason],
        );
      expect(await statuses()).toEqual([
        ['success', undefined],
        ['failed', 'run_ended'],
        ['failed', 'run_ended'],
      ]);
      // Its own end counts, also when it is reported late.
      await post(`/ci/runs/${id}/jobs`, { jobs: [{ name: 'test', index: 1, status: 'success' }] });
      expect(await statuses()).toEqual([
        ['success', undefined],
        ['failed', 'run_ended'],
        ['success', undefined],
      ]);
    });

    it('are bounded, all or none', async () => {
      const ciConnectionId = await connection('acme/many');
      const id = await makes('POST /ci/runs', { ciConnectionId, externalRunId: '1' });
      const many = (count: number, from = 0) =>
        Array.from({ length: count }, (_, n) => ({ name: 'leg', index: from + n }));
      expect((await post(`/ci/runs/${id}/jobs`, { jobs: many(501) })).status).toBe(400);
      for (let n = 0; n < 10; n += 1)
        expect((await post(`/ci/runs/${id}/jobs`, { jobs: many(500, n * 500) })).status).toBe(200);
      const over = await post(`/ci/runs/${id}/jobs`, { jobs: many(2, 4_999) });
      expect([over.status, over.code]).toEqual([409, 'limit_reached']);
      const page = await get(`/ci/runs/${id}/jobs?limit=500`);
      expect((page.body['jobs'] as Array<{ index: number }>).map(({ index }) => index)).toEqual(
        Array.from({ length: 500 }, (_, n) => n),
      );
    });
  });

  it('is refused while the feature is off', async () => {
    const ciConnectionId = await connection('acme/gated');
    await setFeature(server, 'host.ci', 'disabled');
    try {
      const calls = [
        await get(`/teams/${teamId}/ci/connections`),
        await get(`/ci/connections/${ciConnectionId}`),
        await post('/ci/runs', { ciConnectionId, externalRunId: '1' }),
      ];
      expect(calls.map(({ status, code }) => [status, code])).toEqual(
        calls.map(() => [403, 'feature_disabled']),
      );
    } finally {
      await setFeature(server, 'host.ci', 'enabled');
    }
  });
});
