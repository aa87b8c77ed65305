import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Api } from './api.ts';
import { startHeartbeatLoop, type HeartbeatLoop } from './heartbeat-loop.ts';
import type { FromHeartbeat } from './heartbeat-protocol.ts';
import { CallError } from './retryable.ts';
import type { HeartbeatReply, HeartbeatRequest } from './wire.ts';
import { monotonicMs } from '../platform/clock.ts';

interface Call {
  request: HeartbeatRequest;
  answer(reply?: HeartbeatReply): void;
  fail(verdict: 'retry' | 'revoked' | 'boot_superseded' | 'refused'): void;
  /** Answers like a control plane that serves no runners. */
  unserved(): void;
  aborted(): boolean;
}

/** Calls that a test answers by hand, and all messages of the loop. Time is vitest's. */
function start(): { loop: HeartbeatLoop; calls: Call[]; posted: FromHeartbeat[]; states: () => string[] } {
  const calls: Call[] = [];
  const posted: FromHeartbeat[] = [];
  const api = {
    call: async (_name: string, request: HeartbeatRequest, options: { signal?: AbortSignal } = {}) => {
      const sentMonotonicMs = monotonicMs();
      return await new Promise((resolve, reject) => {
        const failure = (verdict: 'retry' | 'revoked' | 'boot_superseded' | 'refused' | 'aborted') =>
          reject(new CallError({ verdict, code: verdict, message: verdict }));
        options.signal?.addEventListener('abort', () => failure('aborted'));
        calls.push({
          request,
          answer: (value = {}) => resolve({ value, sentMonotonicMs }),
          fail: failure,
          unserved: () =>
            reject(new CallError({ verdict: 'retry', code: 'not_found', message: 'no', unserved: true })),
          aborted: () => options.signal?.aborted === true,
        });
      });
    },
  } as unknown as Pick<Api, 'call'>;
  const setup = {
    bootId: 'boot',
    facts: { version: '1', os: 'linux', arch: 'x64' },
    labels: { a: 'b' },
    intervals: { heartbeatMs: 15_000, leaseMs: 60_000 },
  };
  const loop = startHeartbeatLoop({ setup, api, post: (message) => void posted.push(message) });
  const states = () =>
    posted.flatMap((message) => (message.type === 'lease' ? [`${message.ref.id} ${message.state}`] : []));
  return { loop, calls, posted, states };
}

const ref = { id: 'run_1', epoch: 1 };
const ok: HeartbeatReply = { leases: [{ ...ref, state: 'ok', leaseMs: 60_000 }] };
const tick = async (ms: number) => await vi.advanceTimersByTimeAsync(ms);

/** Answers a call and lets the loop go on. */
async function answer(call: Call | undefined, reply?: HeartbeatReply): Promise<void> {
  call?.answer(reply);
  await tick(0);
}

/** Tells the loop of an offer. */
async function hold(loop: HeartbeatLoop, offered = ref): Promise<void> {
  loop.receive({ type: 'hold', ref: offered, leaseMs: 15_000 });
  await tick(0);
}

/** A loop whose first beat was answered. */
async function begun(): Promise<ReturnType<typeof start>> {
  const started = start();
  await tick(0);
  started.calls[0]?.answer();
  return started;
}

describe('heartbeat loop', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'hrtime', 'Date'] }));
  afterEach(() => void vi.useRealTimers());

  it('beats at once and then at its interval, introducing itself until it was answered', async () => {
    const { calls } = start();
    await tick(0);
    calls[0]?.fail('retry');
    await tick(0);
    expect(calls[1]?.request).toMatchObject({ bootId: 'boot', labels: { a: 'b' }, facts: { version: '1' } });
    calls[1]?.answer();
    await tick(14_999);
    expect(calls).toHaveLength(2);
    await tick(1);
    expect(calls[2]?.request).toEqual({ bootId: 'boot', leases: [] });
  });

  it('names a new offer at once, and passes its acceptance on', async () => {
    const { loop, calls, states } = await begun();
    await tick(100);
    await hold(loop);
    expect(calls[1]?.request.leases).toEqual([ref]);
    await answer(calls[1], ok);
    expect(states()).toEqual(['run_1 ok']);
  });

  it('2.11 names the phase of a build at once, and takes it for confirmed by the answer to that call only', async () => {
    const { loop, calls, posted } = await begun();
    await hold(loop);
    loop.receive({ type: 'phase', ref, entered: { phase: 'publishing', phaseOffset: 70 } });
    // This call was under way before the phase was known: its answer confirms nothing.
    await answer(calls[1], ok);
    expect(calls[2]?.request.leases).toEqual([{ ...ref, phase: 'publishing', phaseOffset: 70 }]);
    const confirmed = () =>
      posted.filter((message) => message.type === 'lease' && message.phase === 'publishing');
    expect(confirmed()).toEqual([]);
    await answer(calls[2], ok);
    expect(confirmed()).toEqual([{ type: 'lease', ref, state: 'ok', phase: 'publishing' }]);
  });

  it('cuts a beat that hangs when an offer waits for its acceptance, and only then', async () => {
    const { loop, calls } = start();
    await tick(1_000);
    await hold(loop);
    expect(calls[0]?.aborted()).toBe(false);
    await tick(2_000);
    await hold(loop, { id: 'run_2', epoch: 1 });
    expect(calls[0]?.aborted()).toBe(true);
    expect(calls[1]?.request.leases).toHaveLength(2);
  });

  it('2.11 gives a lease up 5 s before its end, counted from when the last answered call was sent, even while a call hangs', async () => {
    const { loop, calls, states } = await begun();
    await hold(loop);
    const sentAt = monotonicMs();
    await tick(3_000);
    await answer(calls[1], ok);
    await tick(54_999 - (monotonicMs() - sentAt));
    expect(states()).toEqual(['run_1 ok']);
    await tick(2);
    expect(states()).toEqual(['run_1 ok', 'run_1 lost']);
  });

  it('lets a log append renew the lease', async () => {
    const { loop, calls, states } = await begun();
    await hold(loop);
    calls[1]?.answer(ok);
    await tick(50_000);
    loop.receive({ type: 'renewed', ref, sentMonotonicMs: monotonicMs() });
    await tick(54_000);
    expect(states()).toEqual(['run_1 ok']);
  });

  it('retries faster than it beats while the control plane does not answer, and says so once at each end', async () => {
    const { calls, posted } = start();
    await tick(0);
    for (let at = 0; at < 6; at += 1) {
      calls[at]?.fail('retry');
      await tick(15_000);
    }
    expect(calls.length).toBeGreaterThanOrEqual(7);
    await answer(calls[6]);
    expect(posted.flatMap((message) => (message.type === 'log' ? [message.message] : []))).toEqual([
      'heartbeat failed, trying again',
      'the control plane answers again',
    ]);
  });

  it('keeps diagnostics until a heartbeat that carried them was answered', async () => {
    const { loop, calls } = await begun();
    await tick(0);
    loop.receive({ type: 'diagnostics', diagnostics: { workspaceFreeMb: 7 } });
    await tick(0);
    calls[1]?.fail('retry');
    await tick(0);
    expect(calls[2]?.request.diagnostics).toEqual({ workspaceFreeMb: 7 });
    calls[2]?.answer();
    await tick(15_000);
    expect(calls[3]?.request.diagnostics).toBeUndefined();
  });

  describe('while the control plane serves no runners', () => {
    const nextIn = (posted: FromHeartbeat[]) =>
      posted.flatMap((message) => (message.type === 'unserved' ? [message.nextInMs] : []));

    it('asks more and more seldom, at random, says when, and complains of nothing else', async () => {
      const { calls, posted } = start();
      await tick(0);
      for (let at = 0; at < 12; at += 1) {
        calls[at]?.unserved();
        await tick(0);
        const [ms = 0] = nextIn(posted).slice(-1);
        expect(ms).toBeGreaterThanOrEqual(5_000);
        expect(ms).toBeLessThanOrEqual(Math.min(60_000, 10_000 * 2 ** at));
        await tick(Math.floor(ms) - 2);
        expect(calls).toHaveLength(at + 1);
        await tick(4);
        expect(calls).toHaveLength(at + 2);
      }
      expect(Math.max(...nextIn(posted))).toBeGreaterThan(15_000);
      calls.at(-1)?.answer();
      await tick(15_000);
      expect(calls).toHaveLength(14);
      expect(posted.filter(({ type }) => type === 'log')).toEqual([]);
      expect(posted.filter(({ type }) => type === 'contact')).toHaveLength(1);
    });

    it('keeps the beat as long as a lease may still be saved, and gives it up on time', async () => {
      const { loop, calls, posted, states } = await begun();
      await hold(loop);
      await answer(calls[1], ok);
      for (let at = 2; at < 5; at += 1) {
        await tick(15_000);
        expect(calls.length).toBeGreaterThan(at);
        for (const call of calls.slice(2)) call.unserved();
        await tick(0);
      }
      for (const ms of nextIn(posted)) expect(ms).toBeLessThanOrEqual(15_000);
      await tick(15_000);
      expect(states()).toEqual(['run_1 ok', 'run_1 lost']);
    });

    it('beats at once when another call found it back, and only then', async () => {
      const { loop, calls } = start();
      await tick(0);
      calls[0]?.unserved();
      await tick(0);
      loop.receive({ type: 'back' });
      await tick(0);
      expect(calls).toHaveLength(2);
      await answer(calls[1]);
      loop.receive({ type: 'back' });
      await tick(1_000);
      expect(calls).toHaveLength(2);
    });
  });

  for (const verdict of ['revoked', 'boot_superseded'] as const) {
    it(`ends for good when ${verdict}`, async () => {
      const { loop, calls, posted } = start();
      await tick(0);
      calls[0]?.fail(verdict);
      await tick(60_000);
      expect(calls).toHaveLength(1);
      expect(posted).toEqual([{ type: 'fatal', verdict, message: verdict }]);
      loop.receive({ type: 'stop' });
      expect(posted.at(-1)).toEqual({ type: 'stopped' });
    });
  }

  it('ends with one more beat that says the latest', async () => {
    const { loop, calls, posted } = await begun();
    await tick(0);
    loop.receive({ type: 'draining' });
    loop.receive({ type: 'hold', ref, leaseMs: 15_000 });
    loop.receive({ type: 'release', ref });
    await tick(0);
    loop.receive({ type: 'stop' });
    await tick(0);
    expect(calls.at(-1)?.request).toMatchObject({ draining: true, leases: [] });
    await answer(calls.at(-1));
    expect(posted.at(-1)).toEqual({ type: 'stopped' });
    await tick(60_000);
    expect(calls.at(-1)?.request.draining).toBe(true);
  });
});
