import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TimerEntry, TimerWheel } from './timer-wheel.ts';

class Entry extends TimerEntry {
  readonly #onDue: (entry: Entry) => void;
  firedMs: number[] = [];

  constructor(onDue: (entry: Entry) => void = () => undefined) {
    super();
    this.#onDue = onDue;
  }

  onDue(): void {
    this.firedMs.push(nowMs);
    this.#onDue(this);
  }
}

let nowMs = 0;
let wheel: TimerWheel;

/** Moves time on in small steps, as the process timer would. */
function runTo(ms: number): void {
  while (nowMs < ms) {
    nowMs = Math.min(nowMs + 10, ms);
    wheel.advance();
  }
}

describe('TimerWheel', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    nowMs = 1_000_003;
    wheel = new TimerWheel({ now: () => new Date(nowMs), monotonicMs: () => nowMs });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('fires an entry at most 50 ms early and never after its time', () => {
    const starts = nowMs;
    const entries = [49, 50, 51, 999, 1_000, 30_000, 50_000, 150_000].map((ms) => ({
      ms,
      entry: new Entry(),
    }));
    for (const { ms, entry } of entries) wheel.arm(entry, starts + ms);
    runTo(starts + 200_000);
    for (const { ms, entry } of entries) {
      expect(entry.firedMs).toHaveLength(1);
      expect(entry.firedMs[0]! - starts).toBeGreaterThan(ms - 51);
      expect(entry.firedMs[0]! - starts).toBeLessThanOrEqual(ms < 50 ? 60 : ms + 10);
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not fire what was disarmed, and fires what was armed again at its last time', () => {
    const [gone, moved] = [new Entry(), new Entry()];
    wheel.arm(gone, nowMs + 1_000);
    wheel.arm(moved, nowMs + 1_000);
    wheel.arm(moved, nowMs + 3_000);
    wheel.disarm(gone);
    const starts = nowMs;
    runTo(starts + 2_000);
    expect([gone.firedMs, moved.firedMs]).toEqual([[], []]);
    runTo(starts + 4_000);
    expect(moved.firedMs).toHaveLength(1);
  });

  it('lets an entry disarm its neighbours and arm itself while a slot fires', () => {
    const neighbours = [new Entry(), new Entry(), new Entry()];
    const first = new Entry((entry) => {
      for (const neighbour of neighbours) wheel.disarm(neighbour);
      if (entry.firedMs.length === 1) wheel.arm(entry, nowMs + 500);
    });
    for (const neighbour of [first, ...neighbours]) wheel.arm(neighbour, nowMs + 200);
    runTo(nowMs + 2_000);
    expect(first.firedMs).toHaveLength(2);
    expect(neighbours.flatMap(({ firedMs }) => firedMs)).toEqual([]);
  });

  it('fires everything that came due during a stall, once', () => {
    const entries = Array.from({ length: 5_000 }, () => new Entry());
    entries.forEach((entry, index) => wheel.arm(entry, nowMs + index * 40));
    nowMs += 300_000;
    wheel.advance();
    expect(entries.every(({ firedMs }) => firedMs.length === 1)).toBe(true);
  });

  it('runs the process timer only while something is armed', () => {
    const entry = new Entry();
    expect(vi.getTimerCount()).toBe(0);
    wheel.arm(entry, nowMs + 1_000);
    expect(vi.getTimerCount()).toBe(1);
    wheel.disarm(entry);
    expect(vi.getTimerCount()).toBe(0);
  });
});
