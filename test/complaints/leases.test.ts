/**
 * Complaints about work that is lost, doubled, stuck or forgotten; told from the side of who submitted it.
 * Numbers are those of the list of complaints.
 */
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { gated, offerOf, script, TIMES, useWorld, waitFor } from './world.ts';

/** Longer than a busy machine takes between two lines of a story. */
const world = useWorld({ OFFER_MS: '5000' });

describe('complaints about leases', () => {
  it('2.1 task lost in flight: an offer whose answer never arrived is offered again, and counts as no attempt', async () => {
    const teamId = await world.team();
    const network = world.network();
    const deaf = await world.scripted(teamId, network.url);
    network.impair({ how: 'lost', directions: ['answers'] });
    const run = await world.submit(teamId, ['echo', 'hi']);
    const held = deaf.call('poll', { pollId: 'poll-0002', waitMs: 2_000 }).catch(() => 'lost');
    await waitFor('the offer that nobody hears', async () => {
      const [row] = await world.server.asOwner(`select state from work_items where id = '${run.id}'`);
      return row?.['state'] === 'offered';
    });
    network.heal({ reset: true });
    expect(await held).toBe('lost');
    // It asks again under the same poll id: the same offer, at once.
    const again = await deaf.call('poll', { pollId: 'poll-0002', waitMs: 2_000 });
    expect(offerOf(again.body)).toMatchObject({ id: run.id, epoch: 1 });
    // And when it never asks again, somebody else gets it.
    const other = await world.scripted(teamId);
    const offer = await waitFor('the offer to go on', async () =>
      offerOf((await other.call('poll', { waitMs: 1_000 })).body),
    );
    expect(offer).toMatchObject({ id: run.id, epoch: 2 });
    expect((await other.call('heartbeat', { leases: [{ id: offer.id, epoch: 2 }] })).status).toBe(200);
    expect(await world.until(run.id, 'running')).toMatchObject({ attempt: 1 });
  });

  it('2.2 stuck in cancelling: a run is cancelled although its runner died and never answers', async () => {
    const teamId = await world.team();
    const { process } = await world.daemon(teamId);
    const run = await world.submit(teamId, script({ out: 'begun' }, { hang: true }));
    await world.until(run.id, 'running');
    process.kill('SIGKILL');
    await process.exited;
    const askedAt = performance.now();
    expect(await world.sdk.sandboxRuns.cancel(run.id)).toMatchObject({ cancelRequested: true });
    // Asking again does not make it live longer.
    await world.sdk.sandboxRuns.cancel(run.id);
    await world.until(run.id, 'cancelled');
    expect(performance.now() - askedAt).toBeLessThan(2 * (TIMES.lease + TIMES.grace));
  });

  it('2.5 lost communication while the job is fine: a starved main thread does not lose the lease', async () => {
    const teamId = await world.team();
    const { home } = await world.daemon(teamId);
    const run = await world.submit(teamId, script({ block: TIMES.lease + 1_500 }, { exit: 0 }));
    expect(await world.until(run.id, 'succeeded', 'failed', 'dead')).toMatchObject({
      state: 'succeeded',
      attempt: 1,
    });
    expect(home.events().filter(({ event }) => event === 'start')).toHaveLength(1);
  });

  it('2.6 SIGTERM kills the job: it drains instead, and the job ends as if nothing had been', async () => {
    const teamId = await world.team();
    const { home, process } = await world.daemon(teamId);
    const run = await world.submit(teamId, gated(home));
    await world.until(run.id, 'running');
    process.kill('SIGTERM');
    await waitFor('word of draining', () => /drain/i.test(process.output()));
    const later = await world.submit(teamId, ['echo', 'later']);
    writeFileSync(home.file('gate'), '');
    expect(await process.exited).toBe(0);
    expect(await world.until(run.id, 'succeeded')).toMatchObject({ attempt: 1, exitCode: 0 });
    expect(await world.sdk.sandboxRuns.get(later.id)).toMatchObject({ state: 'queued', attempt: 0 });
  });

  it('2.7 session conflict after a crash: the next process takes over at once, and a second one is refused', async () => {
    const teamId = await world.team();
    const daemon = await world.daemon(teamId);
    daemon.process.kill('SIGKILL');
    await daemon.process.exited;
    daemon.again();
    const run = await world.submit(teamId, script({ exit: 0 }));
    expect(await world.until(run.id, 'succeeded')).toMatchObject({ runnerName: daemon.name });
    const second = daemon.again();
    expect(await second.exited).not.toBe(0);
    expect(second.output()).toMatch(/already|another|in use|locked/i);
    const [runner, ...others] = await world.sdk.runners.list(teamId);
    expect(others).toEqual([]);
    expect(runner?.health).toBe('live');
  });

  it('2.9 orphan containers: what a killed daemon left behind is gone before new work begins', async () => {
    const teamId = await world.team();
    const daemon = await world.daemon(teamId);
    const run = await world.submit(teamId, gated(daemon.home));
    await world.until(run.id, 'running');
    await waitFor('the container', () => daemon.home.events().length > 0);
    daemon.process.kill('SIGKILL');
    await daemon.process.exited;
    writeFileSync(daemon.home.file('gate'), '');
    daemon.again();
    await world.until(run.id, 'succeeded');
    const told = daemon.home.events().map(({ event, epoch }) => `${event} ${epoch}`);
    expect(told).toEqual(['start 1', 'reap 1', 'start 2', 'end 2']);
  });

  it('2.10 finished but the result is lost: it waits on the disk until it is delivered, once', async () => {
    const teamId = await world.team();
    const network = world.network();
    const { home } = await world.daemon(teamId, { url: network.url });
    const run = await world.submit(teamId, script({ out: 'x' }, { await: home.file('gate') }, { exit: 7 }));
    await world.until(run.id, 'running');
    await waitFor('the task', () => home.events().length > 0);
    network.impair({ how: 'lost', directions: ['answers'] });
    writeFileSync(home.file('gate'), '');
    await waitFor('the end of the task', () => home.events().some(({ event }) => event === 'end'));
    network.heal({ reset: true });
    expect(await world.until(run.id, 'failed', 'succeeded', 'dead')).toMatchObject({
      state: 'failed',
      reason: 'exit',
      exitCode: 7,
      attempt: 1,
    });
    expect(home.events().filter(({ event }) => event === 'start')).toHaveLength(1);
    expect(await world.outputOf(run.id)).toBe('x');
  });

  it('2.11 double execution: who was cut off kills its task and its result does not count, who took over reports', async () => {
    const teamId = await world.team();
    const network = world.network();
    const cutOff = await world.daemon(teamId, { url: network.url });
    const run = await world.submit(teamId, gated(cutOff.home));
    await world.until(run.id, 'running');
    await waitFor('the task', () => cutOff.home.events().length > 0);
    const second = await world.scripted(teamId);
    network.impair({ how: 'lost', directions: ['requests', 'answers'] });
    const offer = await waitFor('the next grant', async () =>
      offerOf((await second.call('poll', { waitMs: 1_000 })).body),
    );
    expect(offer).toMatchObject({ id: run.id, epoch: 2 });
    const lease = { id: offer.id, epoch: 2 };
    await second.call('heartbeat', { leases: [lease] });
    // By its own clock, before anybody else could begin.
    expect(cutOff.home.events().map(({ event, reason }) => `${event} ${reason ?? ''}`.trim())).toContain(
      'end lease_lost',
    );
    network.heal({ reset: true });
    const report = { ...lease, reportId: 'report-0002', reason: 'exit', exitCode: 5, durationMs: 5 };
    expect(await second.call('report', report)).toMatchObject({ status: 200, body: { accepted: true } });
    expect(await second.call('report', { ...report, epoch: 1, reportId: 'report-0001' })).toMatchObject({
      body: { error: { code: 'stale_epoch' } },
    });
    expect(await world.until(run.id, 'failed')).toMatchObject({ exitCode: 5, attempt: 2 });
  });
});
