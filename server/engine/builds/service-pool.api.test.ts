/**
 * Builds of teams that the service operates: they go to the service's own pool while JOB_RUNNER_ENABLED is
 * set, and to nobody else.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import type { TestServer } from '../../../test/setup/server.ts';
import { scriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import type { ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';

const COMMIT = 'c'.repeat(40);

describe.skipIf(!(await has('postgres')))('builds of a service-operated team', () => {
  let server: TestServer;
  const start = async (env: Readonly<Record<string, string>>): Promise<void> => {
    server = await startTestServer({ env: { LEASE_MS: '3600000', OFFER_MS: '3600000', ...env } });
  };

  const ok = async <T = Record<string, unknown>>(
    route: string,
    body?: unknown,
    as = server.first.apiKey,
  ): Promise<T> => {
    const answer = await server.call(route, { as, body });
    expect(answer.status, `${route}: ${answer.text}`).toBeLessThan(300);
    return answer.body as T;
  };
  const runnerOf = async (teamId: string, as?: string): Promise<ScriptedRunner> => {
    const { token } = await ok<{ token: string }>(`POST /teams/${teamId}/runners/enroll-tokens`, {}, as);
    return await scriptedRunner(server.baseUrl, token);
  };
  /**
   * Makes a service-operated team with runners of its own, a customer's team with one, and one in the pool.
   */
  const world = async () => {
    const team = async (name: string) => (await ok<{ id: string }>('POST /teams', { name })).id;
    const [teamId, customer] = [await team('served'), await team('customer')];
    const { regions } = await ok<{ regions: Array<{ id: string; operator: string }> }>('GET /regions');
    const regionId = regions.find(({ operator }) => operator === 'customer')?.id;
    await ok(`PUT /admin/teams/${customer}/region`, { regionId }, server.first.staffApiKey);
    const [pool] = await server.db.sql<Array<{ id: string }>>`select id from teams where service_pool`;
    const others = [await runnerOf(teamId), await runnerOf(customer)];
    const ofPool = await runnerOf(pool?.id ?? '', server.first.staffApiKey);
    const project = await ok<{ id: string }>('POST /projects', { name: 'web', teamId });
    const environment = await ok<{ id: string }>(`POST /projects/${project.id}/environments`, {
      name: 'production',
      repository: 'https://git.example.com/acme/web',
    });
    const path = `/environments/${environment.id}/builds`;
    const build = await ok<{ id: string }>(`POST ${path}`, { commit: COMMIT });
    const get = async () => await ok(`GET ${path}/${build.id}`);
    return { teamId, others, ofPool, build, get, path };
  };

  describe('where JOB_RUNNER_ENABLED is set', () => {
    beforeAll(async () => await start({ JOB_RUNNER_ENABLED: 'true' }), 120_000);
    afterAll(async () => await server?.stop());
    it('are offered to the runners of the pool alone, and end as builds do', async () => {
      const { teamId, others, ofPool, build, get } = await world();
      for (const runner of others) expect(await runner.poll()).toBeUndefined();
      expect(await get()).toMatchObject({ state: 'queued' });
      const offer = await ofPool.take();
      expect(offer).toMatchObject({
        id: build.id,
        source: { repository: 'https://git.example.com/acme/web', commit: COMMIT },
        image: { namespace: teamId, username: teamId, guarded: true },
      });
      for (const runner of others) expect(await runner.poll()).toBeUndefined();
      await ofPool.finish(offer);
      expect(await get()).toMatchObject({ state: 'succeeded', commit: COMMIT, attempt: 1 });
      const [row] = await server.db.sql<Array<{ served: boolean }>>`
      select r.team_id = (select id from teams where service_pool) as served
      from work_items w join runners r on r.id = w.runner_id where w.build_id = ${build.id}`;
      expect(row?.served).toBe(true);
    });

    it('are deployed by the runner of the pool that deployed their environment last, which the team is not told by name', async () => {
      const { ofPool, path, build } = await world();
      await ok(`POST ${path}/${build.id}/cancel`, {});
      await ok(`PATCH ${path.replace('/builds', '')}`, { deploy: { kind: 'container', app: 'web' } });
      const [pool] = await server.db.sql<Array<{ id: string }>>`select id from teams where service_pool`;
      const other = await runnerOf(pool?.id ?? '', server.first.staffApiKey);
      await ok(`POST ${path}`, {});
      await ofPool.finish(await ofPool.take());
      const next = await ok<{ id: string }>(`POST ${path}`, {});
      expect(await other.poll()).toBeUndefined();
      await server.db
        .sql`update runners set last_seen_at = now() - interval '1 hour' where id = ${ofPool.runnerId}`;
      expect(await ok(`GET ${path}/${next.id}`)).toMatchObject({
        waiting: {
          reason: 'no_live_runner',
          detail:
            "it waits for the one of the service's own runners on which its environment is deployed, which takes no work at the moment; it starts when that one does, or ask the service's operator to revoke that runner",
        },
      });
      await ok(`DELETE /teams/${pool?.id}/runners/${ofPool.runnerId}`, undefined, server.first.staffApiKey);
      expect((await other.take()).id).toBe(next.id);
    });
  });

  describe('where it is not', () => {
    beforeAll(async () => await start({}), 120_000);
    afterAll(async () => await server?.stop());
    it('wait where the variable is not set, and say that the service’s runners are off and what to do', async () => {
      const { others, ofPool, get, path, build } = await world();
      for (const runner of [ofPool, ...others]) expect(await runner.poll()).toBeUndefined();
      expect(await get()).toMatchObject({
        state: 'queued',
        attempt: 0,
        waiting: {
          reason: 'pool_off',
          detail:
            "the service's own runners are switched off; ask its operator, or move the team to a region with runners of your own",
        },
      });
      await ok(`POST ${path}/${build.id}/cancel`, {});
      expect(await get()).toMatchObject({ state: 'cancelled' });
    });
  });
});
