import { describe, expect, it } from 'vitest';
import { createQueueRoom } from './queue-room.ts';

describe('createQueueRoom()', () => {
  it('has the first submit count, and then one a second', () => {
    let nowMs = 0;
    const room = createQueueRoom(() => nowMs);
    expect(room.mustCount('team')).toBe(true);
    room.counted('team', { count: 0, limit: 10, sinceMs: 0 });
    expect(room.mustCount('team')).toBe(false);
    nowMs = 999;
    expect(room.mustCount('team')).toBe(false);
    nowMs = 1_000;
    expect(room.mustCount('team')).toBe(true);
  });

  it('has every submit count once the limit seems reached', () => {
    const room = createQueueRoom(() => 0);
    room.counted('team', { count: 8, limit: 10, sinceMs: 0 });
    room.added('team');
    expect(room.mustCount('team')).toBe(false);
    room.added('team');
    expect(room.mustCount('team')).toBe(true);
  });

  it('is not set back by a count that began before items were added', () => {
    let nowMs = 10;
    const room = createQueueRoom(() => nowMs);
    room.counted('team', { count: 0, limit: 3, sinceMs: 0 });
    room.added('team');
    room.added('team');
    nowMs = 20;
    room.counted('team', { count: 0, limit: 3, sinceMs: 5 });
    room.added('team');
    expect(room.mustCount('team')).toBe(true);
    room.counted('team', { count: 1, limit: 3, sinceMs: 20 });
    expect(room.mustCount('team')).toBe(false);
  });

  it('keeps queues apart', () => {
    const room = createQueueRoom(() => 0);
    room.counted('one', { count: 0, limit: 10, sinceMs: 0 });
    expect(room.mustCount('other')).toBe(true);
  });
});
