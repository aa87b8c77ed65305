/** These tests call environments over HTTP: whose credentials go where, and whose app is whose. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { join } from '../../../test/setup/people.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { appOnHost } from '../hosting/index.ts';
import { scriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';

const TOKEN = 'canary-9a1f03be77';
const HOME = 'https://git.example.com/acme/web';
const ELSEWHERE = 'https://evil.example.org/acme/web';

describe.skipIf(!(await has('postgres')))('environments', () => {
  let server: TestServer;
  let as: string;
  let teamId: string;
  let projectId: string;
  let names = 0;

  const call = async (route: string, body?: unknown, who = as) => await server.call(route, { as: who, body });
  const ok = async <T = Record<string, unknown>>(route: string, body?: unknown): Promise<T> => {
    const answer = await call(route, body);
    expect(answer.status, `${route}: ${answer.text}`).toBeLessThan(300);
    return answer.body as T;
  };
  const create = async (more: object = {}): Promise<string> => {
    const body = { name: `e${(names += 1)}`, ...more };
    return (await ok<{ id: string }>(`POST /projects/${projectId}/environments`, body)).id;
  };
  /** Sends the team's work to a region that is operated so. */
  const operated = async (operator: string): Promise<void> => {
    const { regions } = await ok<{ regions: Array<{ id: string; operator: string }> }>('GET /regions');
    const regionId = regions.find((region) => region.operator === operator)?.id;
    const { status } = await call(
      `PUT /admin/teams/${teamId}/region`,
      { regionId },
      server.first.staffApiKey,
    );
    expect(status).toBe(200);
  };

  beforeAll(async () => {
    server = await startTestServer({
      env: { LEASE_MS: '3600000', OFFER_MS: '3600000', JOB_RUNNER_ENABLED: 'true' },
    });
    as = server.first.apiKey;
  });
  afterAll(async () => await server?.stop());
  beforeEach(async () => {
    teamId = (await ok<{ id: string }>('POST /teams', { name: `team ${(names += 1)}` })).id;
    await operated('customer');
    projectId = (await ok<{ id: string }>('POST /projects', { name: 'web', teamId })).id;
  });

  describe('with git credentials', () => {
    it('keep them from another host, whoever names it, and say what to do', async () => {
      const id = await create({ repository: HOME, gitCredentials: { token: TOKEN } });
      const { token } = await join(server, as, { teamId, role: 'developer' });
      const refused = await call(`PATCH /environments/${id}`, { repository: ELSEWHERE, branch: 'x' }, token);
      expect(refused).toMatchObject({ status: 400, code: 'validation_failed' });
      expect(refused.text).toContain('https://evil.example.org');
      expect(refused.text).toMatch(/send gitCredentials .* or an empty gitCredentials object/);
      expect(await ok(`GET /environments/${id}`)).toMatchObject({ repository: HOME, branch: 'main' });

      const moved = { repository: 'https://git.example.com/acme/api' };
      expect(await ok(`PATCH /environments/${id}`, moved)).toMatchObject({ hasGitCredentials: true });
      await ok(`POST /environments/${id}/builds`, {});
      const enroll = await ok<{ token: string }>(`POST /teams/${teamId}/runners/enroll-tokens`, {});
      const runner = await scriptedRunner(server.baseUrl, enroll.token);
      expect(await runner.take()).toMatchObject({ source: { ...moved, token: TOKEN } });
    });

    it('go to another host with new ones, or with none', async () => {
      const id = await create({ repository: HOME, gitCredentials: { token: TOKEN } });
      const path = `PATCH /environments/${id}`;
      expect(await ok(path, { repository: ELSEWHERE, gitCredentials: { token: 'other' } })).toMatchObject({
        repository: ELSEWHERE,
        hasGitCredentials: true,
      });
      expect(await ok(path, { repository: HOME, gitCredentials: {} })).toMatchObject({
        hasGitCredentials: false,
      });
      expect(await ok(path, { repository: ELSEWHERE })).toMatchObject({ repository: ELSEWHERE });
    });

    it('go to no other host either when both are changed at once', async () => {
      for (let round = 0; round < 8; round += 1) {
        const id = await create({ repository: HOME });
        await Promise.all([
          ok(`PATCH /environments/${id}`, { gitCredentials: { token: TOKEN } }),
          call(`PATCH /environments/${id}`, { repository: ELSEWHERE }),
        ]);
        const { repository, hasGitCredentials } = await ok(`GET /environments/${id}`);
        // Credentials that came after the move were sent for whatever is there then.
        expect(hasGitCredentials).toBe(true);
        const [last] = await server.db.sql<Array<{ fields: string[] }>>`
          select details -> 'fields' as fields from audit_entries where target = ${id} order by seq desc limit 1`;
        if (repository === ELSEWHERE) expect(last?.fields).toEqual(['gitCredentials']);
      }
    });
  });

  it('have a name of their own in their project, and the refusal is a sentence', async () => {
    const name = `e${(names += 1)}`;
    await create({ name });
    const taken = await call(`POST /projects/${projectId}/environments`, { name });
    expect(taken).toMatchObject({ status: 409, code: 'name_taken' });
    expect(taken.text).toContain('there is an environment with the name');
  });

  it('whose builds ask for approval go on asking, unless an admin says otherwise', async () => {
    const id = await create({ deployApproval: true });
    const developer = await join(server, as, { teamId, role: 'developer' });
    const off = { deployApproval: false };
    const refused = await call(`PATCH /environments/${id}`, off, developer.token);
    expect([refused.status, refused.code]).toEqual([403, 'role_insufficient']);
    expect(await ok(`GET /environments/${id}`)).toMatchObject({ deployApproval: true });
    expect(await ok(`PATCH /environments/${id}`, off)).toMatchObject({ deployApproval: false });
    expect((await call(`PATCH /environments/${id}`, { deployApproval: true }, developer.token)).status).toBe(
      200,
    );
  });

  describe('that deploy', () => {
    const deploy = (app?: string, kind = 'container') => ({
      deploy: { kind, ...(app === undefined ? {} : { app }) },
    });

    it('have their app to themselves in their team, and the refusal names who has it', async () => {
      const id = await create(deploy('shop'));
      const other = await create(deploy('shop', 'dokku'));
      const route = `POST /projects/${projectId}/environments`;
      const { name } = await ok<{ name: string }>(`GET /environments/${id}`);
      for (const refused of [
        await call(route, { name: 'late', ...deploy('shop') }),
        await call(`PATCH /environments/${other}`, deploy('shop')),
      ]) {
        expect(refused).toMatchObject({ status: 409, code: 'name_taken' });
        expect(refused.body).toMatchObject({ error: { details: { environmentId: id } } });
        expect(refused.text).toContain(name);
      }
      await ok(`PATCH /environments/${id}`, { ...deploy('shop'), branch: 'next' });
      await ok(`PATCH /environments/${id}`, deploy(undefined, 'none'));
      await ok(`PATCH /environments/${other}`, deploy('shop'));
    });

    it('get a name of their own when none is given, also when another one has taken that', async () => {
      const id = await create(deploy());
      const mine = id.replace('_', '-');
      expect(await ok(`GET /environments/${id}`)).toMatchObject({ deploy: { app: mine } });
      await ok(`PATCH /environments/${id}`, deploy('shop'));
      const squatter = await create(deploy(mine));
      const refused = await call(`PATCH /environments/${id}`, deploy());
      expect(refused.body).toMatchObject({
        error: { code: 'name_taken', details: { environmentId: squatter } },
      });
    });

    it('get an app once also when three ask for it at the same time', async () => {
      const projects = await Promise.all(
        [1, 2, 3].map(async (n) => await ok<{ id: string }>('POST /projects', { name: `p${n}`, teamId })),
      );
      const answers = await Promise.all(
        projects.map(
          async (project) =>
            await call(`POST /projects/${project.id}/environments`, { name: 'a', ...deploy('shop') }),
        ),
      );
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409]);
    });

    it('go by an app of their team alone on the runners of the service, wherever the team was before', async () => {
      const [pool] = await server.db.sql<Array<{ id: string }>>`select id from teams where service_pool`;
      const staff = server.first.staffApiKey;
      const runnerOf = async (id: string | undefined, who = as) =>
        await scriptedRunner(
          server.baseUrl,
          String((await call(`POST /teams/${id ?? ''}/runners/enroll-tokens`, {}, who)).body['token']),
        );
      const [mine, served] = [await runnerOf(teamId), await runnerOf(pool?.id, staff)];
      const id = await create({ repository: HOME, ...deploy('shop') });
      await ok(`POST /environments/${id}/builds`, {});
      await operated('service');
      const offer = await served.take();
      expect(offer.deploy).toMatchObject({ kind: 'container', app: appOnHost('shop', teamId, true) });
      await served.finish(offer);
      expect(await ok(`GET /environments/${id}`)).toMatchObject({ deploy: { app: 'shop' } });
      await operated('customer');
      await ok(`POST /environments/${id}/builds`, {});
      expect((await mine.take()).deploy).toMatchObject({ app: 'shop' });
    });

    it('share no app with another team in a pool of both', () => {
      const [mine, theirs] = ['team_a', 'team_b'];
      expect(appOnHost('shop', mine, false)).toBe('shop');
      const pooled = appOnHost('shop', mine, true);
      expect(pooled).toMatch(/^shop-[0-9a-f]{20}$/);
      expect(appOnHost('shop', mine, true)).toBe(pooled);
      expect(appOnHost('shop', theirs, true)).not.toBe(pooled);
      // Whoever gives his app the name of another's.
      expect(appOnHost(pooled, theirs, true)).not.toBe(pooled);
      const long = 'a'.repeat(62);
      const [one, two] = [appOnHost(`${long}1`, mine, true), appOnHost(`${long}2`, mine, true)];
      expect(one).not.toBe(two);
      for (const app of [one, two, appOnHost(`${'a'.repeat(41)}-b`, mine, true)])
        expect(app).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
    });
  });
});
