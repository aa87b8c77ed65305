/**
 * Runners switched off under work, and on again: with the programs as they are shipped, a real daemon and
 * real tasks. What must hold: nothing is lost and nothing counts twice, the daemon neither ends nor enrolls
 * anew, and nobody has to touch it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rawHttp1 } from '@svc/proto/http/testing/raw.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AMQP_URL, has } from '../setup/needs.ts';
import { freePort } from '../setup/registry.ts';
import { createIndependentRunner } from './independent-runner.ts';
import { startPlatform, startSplit, type Platform } from './platform.ts';
import { startProgram, type Program } from './processes.ts';
import { waitFor } from '../setup/wait-for.ts';

const FEATURE = 'host.runners';
const LEASE_MS = 8_000;
/** The daemon's second try comes 20 s after the first at the latest. */
const PATIENCE_MS = 60_000;
const GONE = 'the control plane serves no runners here at present';
const BACK = 'the control plane serves runners here again; going on';

const set = async ({ staff }: Platform, state: 'enabled' | 'disabled') =>
  await staff.platformFeatures.setState(FEATURE, { state, reason: 'switched under work by a test' });
const count = (program: Program, text: string) => program.output().split(text).length - 1;

/** Returns what each grant wrote, in the order of the grants. */
async function outputsOf({ sdk }: Platform, runId: string): Promise<string[]> {
  const texts = new Map<number, string>();
  for await (const { epoch, text } of sdk.sandboxRuns.streamLogs(runId, { follow: false }))
    texts.set(epoch, (texts.get(epoch) ?? '') + text);
  return [...texts.values()];
}

describe('runners switched off under work, and on again', () => {
  let platform: Platform;
  let teamId: string;
  let daemon: Awaited<ReturnType<Platform['startRunner']>>;

  beforeAll(async () => {
    platform = await startPlatform(
      {
        HEARTBEAT_MS: '1000',
        LEASE_MS: String(LEASE_MS),
        SWEEP_EVERY_MS: '200',
        LOG_LEVEL: 'error',
      },
      'machine',
    );
    teamId = await platform.customerTeam('switched');
    daemon = await platform.startRunner(teamId, 'machine', ['--slots', '2']);
  }, 120_000);
  afterAll(async () => await platform?.stop());

  const begun = async (script: string): Promise<string> => {
    const { id } = await platform.sdk.sandboxRuns.create(teamId, { command: ['sh', '-c', script] });
    await waitFor('the task to begin', async () =>
      (await outputsOf(platform, id)).join('').includes('begun'),
    );
    return id;
  };
  const inState = async (runId: string, states: readonly string[], withinMs?: number) =>
    await waitFor(
      `${runId} to be ${states.join(' or ')}`,
      async () => {
        const run = await platform.sdk.sandboxRuns.get(runId);
        return states.includes(run.state) ? run : undefined;
      },
      { withinMs: withinMs },
    );
  const state = () =>
    JSON.parse(readFileSync(join(daemon.dataDir, 'state.json'), 'utf8')) as {
      outbox: number;
      away?: { since: string; nextTryAt: string };
    };

  it('delivers a result that came while they were off, once, under the lease that it had', async () => {
    const runId = await begun('echo begun; sleep 2; echo ended; exit 3');
    await set(platform, 'disabled');
    await waitFor('the outbox', () => state().outbox === 1);
    expect((await platform.sdk.sandboxRuns.get(runId)).state).toBe('running');
    await set(platform, 'enabled');
    const run = await inState(runId, ['succeeded', 'failed', 'dead'], PATIENCE_MS);
    expect(run).toMatchObject({ state: 'failed', reason: 'exit', exitCode: 3, attempt: 1 });
    expect(await outputsOf(platform, runId)).toEqual(['begun\nended\n']);
    await waitFor('an empty outbox', () => state().outbox === 0);
    expect([count(daemon, GONE), count(daemon, BACK)]).toEqual([1, 1]);
    expect(count(daemon, 'result delivered')).toBe(1);
  }, 120_000);

  it('kills what outlives its lease, requeues it, and runs it and what came meanwhile when they are on', async () => {
    const accepted = count(daemon, 'run accepted');
    const delivered = count(daemon, 'result delivered');
    const long = await begun('echo begun; sleep 15; echo ended');
    await set(platform, 'disabled');
    await expect(platform.sdk.runners.list(teamId)).rejects.toMatchObject({ status: 404 });
    await inState(long, ['queued'], LEASE_MS + 10_000);
    await waitFor('the kill', () =>
      daemon.output().includes('the control plane cannot be reached and the lease ends'),
    );
    // Work is taken in all the while: the queue is the team's, not the runners'.
    const later = (await platform.sdk.sandboxRuns.create(teamId, { command: ['echo', 'later'] })).id;
    const { away } = state();
    expect(Date.parse(away?.nextTryAt ?? '')).toBeGreaterThan(Date.parse(away?.since ?? ''));
    const seen = startProgram('runner/bin/svc-runner.mjs', ['status', '--data-dir', daemon.dataDir]);
    expect(await seen.exited).toBe(0);
    expect(seen.output()).toMatch(/no runners are served at that address since .*next try in \d+ s/);

    await set(platform, 'enabled');
    const run = await inState(long, ['succeeded', 'failed', 'dead'], PATIENCE_MS);
    expect(run).toMatchObject({ state: 'succeeded', attempt: 2, exitCode: 0 });
    expect(await outputsOf(platform, long)).toEqual(['begun\n', 'begun\nended\n']);
    expect(await inState(later, ['succeeded', 'failed', 'dead'])).toMatchObject({
      state: 'succeeded',
      attempt: 1,
    });
    expect([count(daemon, GONE), count(daemon, BACK)]).toEqual([2, 2]);
    expect(count(daemon, 'run accepted') - accepted).toBe(3);
    expect(count(daemon, 'result delivered') - delivered).toBe(2);
    expect(daemon.child.exitCode).toBeNull();
    expect(await platform.sdk.runners.list(teamId)).toMatchObject([{ id: daemon.runnerId, health: 'live' }]);
  }, 180_000);
});

const splitPossible = (await has('postgres')) && (await has('rabbitmq'));

describe.runIf(splitPossible)('runners switched off at gateways of their own', () => {
  const INTERNAL_TOKEN = 'switched-off-internal-token';
  let platform: Platform;
  const gateways: Program[] = [];
  let dispatchUrl: string;

  beforeAll(async () => {
    const internalPort = await freePort();
    dispatchUrl = `grpc://127.0.0.1:${internalPort}`;
    platform = await startSplit(internalPort, INTERNAL_TOKEN);
  }, 120_000);
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    await platform?.stop();
  });

  const startGateway = async (env: Record<string, string> = {}): Promise<string> => {
    const gateway = startProgram('gateway/dist/main.js', [], {
      HOST: '127.0.0.1',
      PORT: '0',
      DISPATCH_URLS: dispatchUrl,
      INTERNAL_TOKEN,
      METRICS_TOKEN: INTERNAL_TOKEN,
      AMQP_URL,
      LOG_LEVEL: 'error',
      ...env,
    });
    gateways.push(gateway);
    return (await gateway.says(/listening on (http:\/\/\S+)/))[1] ?? '';
  };
  const unknown = { status: 404, body: { error: { code: 'not_found', message: 'there is nothing here' } } };

  it('ends held polls and hides the routes within a second, and shows them again', async () => {
    const url = await startGateway();
    const teamId = await platform.customerTeam('split');
    const runner = createIndependentRunner(url);
    const { token } = await platform.sdk.runners.createEnrollToken(teamId);
    const runnerId = await runner.enroll(token, 'split');
    const tookMs: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const held = runner.call('poll', { waitMs: 40_000 });
      const headers = { authorization: `Bearer ${INTERNAL_TOKEN}` };
      await waitFor('the poll to be held', async () => {
        const metrics = await (await fetch(`${url}/metrics`, { headers })).text();
        return metrics.includes('svc_gateway_polls_parked 1');
      });
      await set(platform, 'disabled');
      const switchedMs = performance.now();
      // One that asks at this very moment, as when its queue has just been bound, is told nothing: the next
      // one gets the gate's own answer.
      const answer = await held;
      if (answer.status === 200) expect(answer.body).toEqual({});
      else expect(answer).toMatchObject(unknown);
      await waitFor('the gate', async () => (await runner.call('heartbeat', {})).status === 404);
      tookMs.push(performance.now() - switchedMs);
      expect(await runner.call('heartbeat', {})).toMatchObject(unknown);
      const ask = async (base: string, path: string) =>
        await rawHttp1(Number(new URL(base).port), {
          method: 'POST',
          path,
          headers: { 'x-request-id': 'the-same-for-both' },
        });
      // Behind one proxy nothing tells the hidden route at a gateway from an unknown one at a server.
      expect(await ask(url, '/runners/enroll')).toEqual(await ask(platform.url, '/runnerz/enroll'));
      await set(platform, 'enabled');
      await waitFor('the routes', async () => (await runner.call('heartbeat', {})).status === 200);
    }
    const told = `held polls ended after ${tookMs.map(Math.round).join(', ')} ms`;
    expect(tookMs.toSorted((a, b) => a - b)[2], told).toBeLessThan(1_000);
    // One of them may meet a machine that is busy with other things.
    expect(Math.max(...tookMs), told).toBeLessThan(3_000);
    expect(await platform.sdk.runners.get(teamId, runnerId)).toMatchObject({ health: 'live' });
  }, 120_000);

  it('stays closed at a gateway whose own RUNNERS_ENABLED is false, whatever the servers say', async () => {
    const url = await startGateway({ RUNNERS_ENABLED: 'false' });
    const teamId = await platform.customerTeam('killed');
    const { token } = await platform.sdk.runners.createEnrollToken(teamId);
    await expect(createIndependentRunner(url).enroll(token, 'never')).rejects.toThrow(
      /404.*there is nothing here/,
    );
  });
});
