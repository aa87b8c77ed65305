/**
 * Strikes for durations that differ, as a runner and its team see them: what is compared is the time between
 * claim and report by the control plane's clock, and nothing is held against a runner for time in which the
 * two could not talk.
 */
import type { SvcSDK } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { createIndependentRunner, type IndependentRunner } from '../../../test/e2e/independent-runner.ts';
import { has } from '../../../test/setup/needs.ts';
import { join } from '../../../test/setup/people.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';

describe.skipIf(!(await has('postgres')))('strikes', () => {
  const env = { RUNNER_DURATION_DIVERGENCE_STRIKE_THRESHOLD: '2' };
  const own = ownServer({ env });
  const { server } = own;
  let sdk: SvcSDK;
  let teamId: string;
  let runner: IndependentRunner;
  let runnerId: string;
  beforeAll(async () => {
    sdk = own.sdk();
    teamId = await own.customer('strict');
    runner = createIndependentRunner(server.baseUrl);
    runnerId = await runner.enroll((await sdk.runners.createEnrollToken(teamId)).token!, 'box');
  });

  interface HeldLease {
    readonly id: string;
    readonly epoch: number;
  }
  const take = async (): Promise<HeldLease> => {
    await sdk.sandboxRuns.create(teamId, { command: ['true'] });
    const { body } = await runner.call('poll', { slots: 1, waitMs: 20_000 });
    const { id, epoch } = body['run'] as HeldLease;
    await runner.call('heartbeat', { leases: [{ id, epoch }] });
    return { id, epoch };
  };
  const report = async (held: HeldLease, more: Record<string, unknown>): Promise<void> => {
    const { status } = await runner.call('report', {
      ...held,
      reportId: `r-${held.id}`,
      reason: 'exit',
      exitCode: 0,
      ...more,
    });
    expect(status).toBe(200);
  };
  const strikes = async (): Promise<number> => (await sdk.runners.get(teamId, runnerId)).strikes ?? 0;

  it('are none for a report that waited in the outbox, however much it differs then', async () => {
    const held = await take();
    // It ran for a second, and the control plane heard of it 10 minutes later.
    await server.db
      .sql`update work_items set claimed_at = claimed_at - interval '601 s' where id = ${held.id}`;
    await report(held, { durationMs: 1_000, waitedMs: 600_000 });
    expect(await strikes()).toBe(0);
    expect(await sdk.sandboxRuns.get(held.id)).toMatchObject({ state: 'succeeded', selfReportedMs: 1_000 });
  });

  it('are none after a gap in contact', async () => {
    const held = await take();
    await server.db
      .sql`update work_leases set last_contact_at = last_contact_at - interval '45 s' where work_id = ${held.id}`;
    await report(held, { durationMs: 600_000 });
    expect(await strikes()).toBe(0);
    const [lease] = await sdk.runners.history(teamId, runnerId);
    expect(lease).toMatchObject({ workId: held.id, outcome: 'succeeded', selfReportedMs: 600_000 });
  });

  it('are none for a report without a duration, or with one that is near enough', async () => {
    await report(await take(), {});
    await report(await take(), { durationMs: 19_000 });
    expect(await strikes()).toBe(0);
  });

  it('add up to a flag, which is told, stops new work and no work that is held, and is cleared by an owner', async () => {
    const admin = await join(server, server.first.apiKey, { teamId, role: 'admin' });
    await report(await take(), { durationMs: 600_000 });
    expect(await strikes()).toBe(1);
    const [last, kept] = [await take(), await take()];
    await report(last, { durationMs: 600_000 });
    expect(await sdk.runners.get(teamId, runnerId)).toMatchObject({
      strikes: 2,
      flagged: true,
      health: 'flagged',
    });

    const waiting = await sdk.sandboxRuns.create(teamId, { command: ['true'] });
    expect(await runner.call('poll', { slots: 1, waitMs: 0 })).toMatchObject({ status: 200, body: {} });
    expect((await sdk.sandboxRuns.get(waiting.id)).waiting).toMatchObject({ reason: 'flagged' });
    const { body } = await runner.call('heartbeat', { leases: [kept] });
    expect(body).toMatchObject({ leases: [{ state: 'ok' }], directives: { flagged: true } });
    await report(kept, { durationMs: 1 });

    const inbox = own.sdk(admin.token);
    const told = await waitFor('the notification', async () => await inbox.notifications.list(), {
      holds: (list) => list.length > 0,
    });
    expect(told).toMatchObject([{ kind: 'runner.flagged', title: 'The runner box is refused new work' }]);

    await expect(inbox.runners.clearDivergenceFlag(teamId, runnerId)).rejects.toMatchObject({
      code: 'role_insufficient',
    });
    expect(await sdk.runners.clearDivergenceFlag(teamId, runnerId)).toMatchObject({
      strikes: 0,
      flagged: false,
    });
    const offered = await runner.call('poll', { slots: 1, waitMs: 5_000 });
    expect((offered.body['run'] as HeldLease).id).toBe(waiting.id);
    const { events } = await sdk.runners.diagnose(teamId);
    expect(events!.map(({ kind }) => kind).slice(0, 3)).toEqual([
      'runner.divergence_cleared',
      'runner.duration_divergence',
      'runner.duration_divergence',
    ]);
  });
});
