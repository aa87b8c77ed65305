import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BuildStopped, createControl } from './control.ts';

describe('createControl()', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'hrtime'] }));
  afterEach(() => void vi.useRealTimers());

  it('2.18 ends at the deadline, politely first', () => {
    const control = createControl(1_000);
    vi.advanceTimersByTime(999);
    expect([control.cause, control.term.aborted]).toEqual([undefined, false]);
    vi.advanceTimersByTime(1);
    expect([control.cause, control.term.aborted, control.kill.aborted]).toEqual(['timeout', true, false]);
    vi.advanceTimersByTime(5_000);
    expect(control.kill.aborted).toBe(true);
    control.end();
  });

  it('keeps the first reason, and lets a later one only shorten the grace', () => {
    const control = createControl(60_000);
    control.stop('cancelled', 5_000);
    control.stop('lease_lost', 1_000);
    control.stop('timeout', 9_000);
    vi.advanceTimersByTime(1_000);
    expect([control.cause, control.kill.aborted]).toEqual(['cancelled', true]);
    control.end();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rejects whatever was waited for as soon as it is stopped', async () => {
    const control = createControl(60_000);
    const waiting = control.race(new Promise(() => undefined));
    control.stop('cancelled', 0);
    await expect(waiting).rejects.toThrow(BuildStopped);
    await expect(control.race(Promise.resolve(1))).rejects.toThrow('stopped: cancelled');
    control.end();
  });
});
