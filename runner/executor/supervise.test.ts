/** Tests races that a real sandbox cannot be made to lose on demand, with a fake sandbox and fake time. */
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Running } from './executor.ts';
import {
  SandboxError,
  supervise,
  type Abort,
  type ProcessExit,
  type Sandbox,
  type Verdict,
} from './supervise.ts';

interface Fake extends Sandbox {
  signals: string[];
  cleanups: number;
  exit: (exit: ProcessExit) => void;
  abort: Abort;
  abandoned: number;
  stdout: PassThrough;
}

function fakeSandbox(changes: Partial<Sandbox> & { verdictOf?: Verdict } = {}): Fake {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let exit: (exit: ProcessExit) => void = () => undefined;
  const exited = new Promise<ProcessExit>((resolve) => (exit = resolve));
  void exited.then(() => [stdout.end(), stderr.end()]);
  const fake: Fake = {
    signals: [],
    cleanups: 0,
    abandoned: 0,
    stdout,
    exit,
    abort: () => undefined,
    prepare: () => Promise.resolve(),
    start: (abort) => {
      fake.abort = abort;
      return Promise.resolve({ stdout, stderr, exited, abandon: () => ((fake.abandoned += 1), exit({})) });
    },
    signal: (signal) => {
      fake.signals.push(signal);
      return Promise.resolve();
    },
    verdict: (ended) => Promise.resolve(changes.verdictOf ?? { reason: 'exit', exitCode: ended.code ?? 137 }),
    cleanup: () => {
      fake.cleanups += 1;
      return Promise.resolve();
    },
    ...changes,
  };
  return fake;
}

function run(
  sandbox: Sandbox,
  onOutput: () => void | Promise<void> = () => undefined,
  log = vi.fn(),
): Running {
  return supervise(sandbox, { timeoutSeconds: 10, outputBytes: 1000, onOutput, log });
}

describe('supervise()', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('reports exit when the exit comes before the deadline in the same tick', async () => {
    const fake = fakeSandbox();
    const running = run(fake);
    await vi.advanceTimersByTimeAsync(9_999);
    fake.exit({ code: 0 });
    await vi.advanceTimersByTimeAsync(1);
    expect(await running.done).toMatchObject({ reason: 'exit', exitCode: 0, durationMs: 9_999 });
    expect(fake.signals).toEqual([]);
  });

  it('reports timeout when the deadline comes before the exit in the same tick, whatever the exit code', async () => {
    const fake = fakeSandbox();
    const running = run(fake);
    await vi.advanceTimersByTimeAsync(0);
    vi.advanceTimersByTime(10_000);
    fake.exit({ code: 0 });
    expect(await running.done).toMatchObject({ reason: 'timeout', exitCode: 0, durationMs: 10_000 });
  });

  it('keeps the first reason when cancel, lease loss and the deadline all come', async () => {
    const fake = fakeSandbox();
    const running = run(fake);
    await vi.advanceTimersByTimeAsync(9_000);
    running.kill('lease_lost', 5_000);
    running.kill('cancelled', 5_000);
    await vi.advanceTimersByTimeAsync(2_000);
    fake.exit({ signal: 'SIGTERM' });
    expect(await running.done).toMatchObject({ reason: 'lease_lost' });
    expect(fake.signals).toEqual(['SIGTERM']);
  });

  it('climbs from SIGTERM to SIGKILL when the grace is over', async () => {
    const fake = fakeSandbox();
    const running = run(fake);
    await vi.advanceTimersByTimeAsync(100);
    running.kill('cancelled');
    await vi.advanceTimersByTimeAsync(4_999);
    expect(fake.signals).toEqual(['SIGTERM']);
    await vi.advanceTimersByTimeAsync(1);
    expect(fake.signals).toEqual(['SIGTERM', 'SIGKILL']);
    fake.exit({ signal: 'SIGKILL' });
    expect(await running.done).toMatchObject({ reason: 'cancelled' });
  });

  it('shortens the grace when a second kill is in more of a hurry', async () => {
    const fake = fakeSandbox();
    const running = run(fake);
    await vi.advanceTimersByTimeAsync(100);
    running.kill('cancelled', 60_000);
    await vi.advanceTimersByTimeAsync(1_000);
    running.kill('lease_lost', 0);
    await vi.advanceTimersByTimeAsync(0);
    expect(fake.signals).toEqual(['SIGTERM', 'SIGKILL']);
    fake.exit({});
    expect(await running.done).toMatchObject({ reason: 'cancelled' });
  });

  it('repeats a SIGTERM that the engine did not take', async () => {
    let refused = 3;
    const fake = fakeSandbox();
    fake.signal = (signal) => {
      fake.signals.push(signal);
      refused -= 1;
      return refused > 0 ? Promise.reject(new SandboxError('no such container')) : Promise.resolve();
    };
    const running = run(fake);
    await vi.advanceTimersByTimeAsync(0);
    running.kill('cancelled');
    await vi.advanceTimersByTimeAsync(3_000);
    expect(fake.signals).toEqual(['SIGTERM', 'SIGTERM', 'SIGTERM']);
    fake.exit({});
    await running.done;
  });

  it('gives up an engine that ignores SIGKILL and reports an engine error', async () => {
    const fake = fakeSandbox({ signal: () => Promise.reject(new SandboxError('engine did not answer')) });
    const running = run(fake);
    await vi.advanceTimersByTimeAsync(0);
    running.kill('cancelled', 0);
    await vi.advanceTimersByTimeAsync(21_000);
    const outcome = await running.done;
    expect(fake.abandoned).toBe(1);
    expect(outcome.reason).toBe('engine_error');
    expect(outcome.message).toContain('engine did not answer');
  });

  it('never starts what was killed while it was prepared', async () => {
    let prepared: () => void = () => undefined;
    const fake = fakeSandbox({ prepare: () => new Promise((resolve) => (prepared = resolve)) });
    const start = vi.spyOn(fake, 'start');
    const running = run(fake);
    running.kill('cancelled');
    prepared();
    expect(await running.done).toMatchObject({ reason: 'cancelled' });
    expect(start).not.toHaveBeenCalled();
    expect(fake.cleanups).toBe(1);
  });

  it('cleans up after a failed start and says why it failed', async () => {
    const fake = fakeSandbox({ start: () => Promise.reject(new SandboxError('no runtime')) });
    expect(await run(fake).done).toMatchObject({ reason: 'engine_error', message: 'no runtime' });
    expect(fake.cleanups).toBe(1);
  });

  it('logs a failed clean-up without changing the outcome', async () => {
    const log = vi.fn();
    const fake = fakeSandbox({ cleanup: () => Promise.reject(new Error('still there')) });
    const running = run(fake, () => undefined, log);
    await vi.advanceTimersByTimeAsync(0);
    fake.exit({ code: 0 });
    expect(await running.done).toMatchObject({ reason: 'exit', exitCode: 0 });
    expect(log).toHaveBeenCalledWith(expect.stringContaining('not cleaned up'), { error: 'still there' });
  });

  it('kills at once when the memory watchdog fires', async () => {
    const fake = fakeSandbox();
    const running = run(fake);
    await vi.advanceTimersByTimeAsync(0);
    fake.abort('memory', 'too much');
    await vi.advanceTimersByTimeAsync(0);
    expect(fake.signals).toEqual(['SIGKILL']);
    fake.exit({ signal: 'SIGKILL' });
    expect(await running.done).toMatchObject({ reason: 'memory', message: 'too much' });
  });

  it('does not wait for ever for a consumer when the run was killed', async () => {
    const fake = fakeSandbox();
    const running = run(fake, () => new Promise<void>(() => undefined));
    await vi.advanceTimersByTimeAsync(0);
    fake.stdout.write('stuck');
    await vi.advanceTimersByTimeAsync(0);
    running.kill('lease_lost', 0);
    fake.exit({ signal: 'SIGKILL' });
    await vi.advanceTimersByTimeAsync(11_000);
    expect(await running.done).toMatchObject({ reason: 'lease_lost' });
  });
});
