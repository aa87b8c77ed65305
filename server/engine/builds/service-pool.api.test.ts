/**
 * Builds of teams that the service operates: they go to the service's own pool while JOB_RUNNER_ENABLED is
 * set, and to nobody else.
 */
import { describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { ownServer, type OwnServer } from '../../../test/setup/engine/own-server.ts';

const COMMIT = 'c'.repeat(40);

const LONG = { LEASE_MS: '3600000', OFFER_MS: '3600000' };

/**
 * Makes a service-operated team with runners of its own, a customer's team with one, and one in the pool.
 */
const world = async ({ server, ok, made, customer, environment, runner }: OwnServer) => {
  const teamId = await made('POST /teams', { name: 'served' });
  const [pool] = await server.db.sql<Array<{ id: string }>>`select id from teams where service_pool`;
  const poolId = pool?.id ?? '';
  const ofThePool = async () => await runner(poolId, server.first.staffApiKey);
  const others = [await runner(teamId), await runner(await customer('customer'))];
  const ofPool = await ofThePool();
  const path = `/environments/${await environment(teamId)}/builds`;
  const buildId = await made(`POST ${path}`, { commit: COMMIT });
  const get = async () => await ok(`GET ${path}/${buildId}`);
  return { teamId, poolId, ofThePool, others, ofPool, buildId, get, path };
};

describe.skipIf(!(await has('postgres')))('builds of a service-operated team', () => {
  describe('where JOB_RUNNER_ENABLED is set', () => {
    const own = ownServer({ env: { ...LONG, JOB_RUNNER_ENABLED: 'true' } });
    const { server, ok, made } = own;

    it('are offered to the runners of the pool alone, and end as builds do', async () => {
      const { teamId, others, ofPool, buildId, get } = await world(own);
      for (const runner of others) expect(await runner.poll()).toBeUndefined();
      expect(await get()).toMatchObject({ state: 'queued' });
      const offer = await ofPool.take();
      expect(offer).toMatchObject({
        id: buildId,
        source: { repository: 'https://git.example.com/acme/web', commit: COMMIT },
        image: { namespace: teamId, username: teamId, guarded: true },
      });
      for (const runner of others) expect(await runner.poll()).toBeUndefined();
      await ofPool.finish(offer);
      expect(await get()).toMatchObject({ state: 'succeeded', commit: COMMIT, attempt: 1 });
      const [row] = await server.db.sql<Array<{ served: boolean }>>`
      select r.team_id = (select id from teams where service_pool) as served
      from work_items w join runners r on r.id = w.runner_id where w.build_id = ${buildId}`;
      expect(row?.served).toBe(true);
    });

    it('are deployed by the runner of the pool that deployed their environment last, which the team is not told by name', async () => {
      const { ofPool, ofThePool, poolId, path, buildId } = await world(own);
      await ok(`POST ${path}/${buildId}/cancel`, {});
      await ok(`PATCH ${path.replace('/builds', '')}`, { deploy: { kind: 'container', app: 'web' } });
      const other = await ofThePool();
      await ok(`POST ${path}`, {});
      await ofPool.finish(await ofPool.take());
      const next = await made(`POST ${path}`, {});
      expect(await other.poll()).toBeUndefined();
      await server.db
        .sql`update runners set last_seen_at = now() - interval '1 hour' where id = ${ofPool.runnerId}`;
      expect(await ok(`GET ${path}/${next}`)).toMatchObject({
        waiting: {
          reason: 'no_live_runner',
          detail:
            "it waits for the one of the service's own runners on which its environment is deployed, which takes no work at the moment; it starts when that one does, or ask the service's operator to revoke that runner",
        },
      });
      await ok(`DELETE /teams/${poolId}/runners/${ofPool.runnerId}`, undefined, server.first.staffApiKey);
      expect((await other.take()).id).toBe(next);
    });
  });

  describe('where it is not', () => {
    const own = ownServer({ env: LONG });

    it('wait where the variable is not set, and say that the service’s runners are off and what to do', async () => {
      const { others, ofPool, get, path, buildId } = await world(own);
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
      await own.ok(`POST ${path}/${buildId}/cancel`, {});
      expect(await get()).toMatchObject({ state: 'cancelled' });
    });
  });
});
