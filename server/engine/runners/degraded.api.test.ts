/**
 * A team without a runner, from the first run that gets stuck to the machine that takes it: by the workers of
 * a real server.
 */
import { createSvcSDK } from '@svc/sdk';
import { expect, it } from 'vitest';
import { createIndependentRunner } from '../../../test/e2e/independent-runner.ts';
import { has } from '../../../test/setup/needs.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';

const there = await has('postgres');

it.skipIf(!there)('a team is told that its work is stuck, and that it is not any more', async () => {
  const server = await startTestServer({ env: { RUNNER_STUCK_MS: '200', RUNNER_WATCH_EVERY_MS: '50' } });
  try {
    const sdk = createSvcSDK({ baseUrl: server.baseUrl, apiKey: server.first.apiKey });
    const staff = createSvcSDK({ baseUrl: server.baseUrl, apiKey: server.first.staffApiKey });
    const { id: teamId } = await sdk.teams.create('lonely');
    const region = (await staff.regions.list()).find(({ operator }) => operator === 'customer');
    await staff.adminTeams.setRegion(teamId, region?.id ?? '');
    const run = await sdk.sandboxRuns.create(teamId, { command: ['true'] });
    const health = async () => await sdk.runners.health(teamId);
    const stuck = await waitFor('the degraded state', health, { holds: ({ degraded }) => degraded === true });
    expect(stuck).toMatchObject({
      reason: { reason: 'no_live_runner' },
      stuckWork: { runs: 1, builds: 0, items: [{ id: run.id, waiting: { reason: 'no_live_runner' } }] },
    });
    const listKinds = async () => (await sdk.notifications.list()).map(({ kind }) => kind);
    await waitFor('the notification', listKinds, { holds: (kinds) => kinds.length > 0 });

    const runner = createIndependentRunner(server.baseUrl);
    await runner.enroll((await sdk.runners.createEnrollToken(teamId)).token, 'box');
    await waitFor(
      'the recovery',
      async () => {
        await runner.call('heartbeat', {});
        return await health();
      },
      { holds: ({ degraded }) => degraded === false },
    );
    expect(await waitFor('its notification', listKinds, { holds: (kinds) => kinds.length > 1 })).toEqual([
      'runner.recovered',
      'runner.degraded',
    ]);
    const { events } = await sdk.runners.diagnose(teamId);
    expect((events ?? []).map(({ kind }) => kind)).toEqual([
      'runner.recovered',
      'runner.enrolled',
      'runner.degraded',
    ]);
  } finally {
    await server.stop();
  }
});
