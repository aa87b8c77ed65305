/**
 * The server is behind a PgBouncer in session mode: what dispatch needs of a session holds there, from the
 * submission to the output, and LISTEN too. `SVC_TEST_POOLER=1` puts one before every test database, so that
 * any other test file can be run through it.
 */
import { createSvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../setup/database.ts';
import { has } from '../setup/needs.ts';
import { runsItself } from '../setup/own-runners.ts';
import { startPooler, type Pooler } from '../setup/pooler.ts';
import { startTestServer, type TestServer } from '../setup/server.ts';
import { waitFor } from '../setup/wait-for.ts';
import { createIndependentRunner, FACTS } from './independent-runner.ts';

interface Offer {
  readonly id: string;
  readonly epoch: number;
}

describe.skipIf(!(await has('postgres')) || !(await has('pgbouncer')))(
  'behind a pooler in session mode',
  () => {
    let pooler: Pooler;
    let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
    let server: TestServer;
    beforeAll(async () => {
      [pooler, database] = await Promise.all([startPooler('session'), createEmptyDatabase()]);
      server = await startTestServer({ env: { DATABASE_URL: pooler.through(database.url) } });
    });
    afterAll(async () => {
      await server?.stop();
      await pooler?.stop();
      await database?.drop();
    });

    it('a run is submitted, offered to a poll that waits, renewed, written to and reported', async () => {
      const { baseUrl, first } = server;
      const sdk = createSvcSDK({ baseUrl, apiKey: first.apiKey });
      const staff = createSvcSDK({ baseUrl, apiKey: first.staffApiKey });
      const { id: teamId } = await sdk.teams.create('behind a pooler');
      await runsItself(staff, teamId);
      const runner = createIndependentRunner(baseUrl);
      await runner.enroll((await sdk.runners.createEnrollToken(teamId)).token, 'pooled');
      expect(await runner.call('heartbeat', { facts: FACTS })).toMatchObject({ status: 200 });

      const held = runner.call('poll', { waitMs: 10_000 });
      const { id: runId } = await sdk.sandboxRuns.create(teamId, { command: ['true'] });
      const offer = (await held).body['run'] as Offer;
      expect(offer.id).toBe(runId);
      const lease = { id: runId, epoch: offer.epoch };
      expect(await runner.call('heartbeat', { leases: [lease] })).toMatchObject({
        body: { leases: [{ state: 'ok' }] },
      });
      const data = Buffer.from('through the pooler\n').toString('base64');
      expect(
        await runner.call('logs', { ...lease, offset: 0, chunks: [{ stream: 'stdout', data }] }),
      ).toMatchObject({ status: 200 });
      const report = { ...lease, reportId: 'report-0001', reason: 'exit', exitCode: 0 };
      expect(await runner.call('report', report)).toMatchObject({ status: 200, body: { accepted: true } });
      expect((await sdk.sandboxRuns.get(runId)).state).toBe('succeeded');
      let text = '';
      for await (const event of sdk.sandboxRuns.streamLogs(runId, { follow: false })) text += event.text;
      expect(text).toBe('through the pooler\n');
    });

    it('what is notified is heard', async () => {
      const heard: string[] = [];
      const listener = await server.db.listen(
        'story',
        (payload) => heard.push(payload),
        () => undefined,
      );
      await server.db.sql`select pg_notify('story', 'through the pooler')`;
      await waitFor('the notification', () => heard.length > 0);
      expect(heard).toEqual(['through the pooler']);
      await listener.stop();
    });

    it('it works under its role', async () => {
      expect(await server.db.sql`select current_user::text as role`).toMatchObject([{ role: 'svc_work' }]);
      expect((await fetch(`${server.baseUrl}/readyz`)).status).toBe(200);
    });
  },
);
