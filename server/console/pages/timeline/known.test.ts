import { describe, expect, it } from 'vitest';
import type { TimelineEntry } from '@svc/sdk';
import { append, begin, byCommit, change, cursorBehind, WATCHED, type KnownEntries } from './known.ts';

/** Returns an entry that is of a second; the larger it is, the newer is the entry. */
const entry = (second: number, more: Partial<TimelineEntry> = {}): TimelineEntry => ({
  kind: 'ci_run',
  id: `cir_${String(second).padStart(4, '0')}`,
  at: new Date(second * 1_000).toISOString(),
  name: 'tests',
  status: 'running',
  ciStatus: 'running',
  blocked: false,
  soft: false,
  mergeQueue: false,
  attempt: 1,
  ...more,
});
const range = (from: number, to: number): TimelineEntry[] =>
  Array.from({ length: from - to + 1 }, (_each, n) => entry(from - n));
const seconds = ({ entries }: KnownEntries): number[] => entries.map(({ at }) => Date.parse(at) / 1_000);

describe('begin()', () => {
  it('orders what came grouped by commit', () => {
    expect(seconds(begin(undefined, [entry(1), entry(3), entry(2)]))).toEqual([3, 2, 1]);
  });

  it('keeps what was loaded below when nothing can lie between', () => {
    const loaded = append(begin(undefined, range(100, 51)), range(50, 11), false);
    const again = begin(loaded, range(102, 53));
    expect(seconds(again)).toEqual(range(102, 11).map(({ at }) => Date.parse(at) / 1_000));
    expect([again.hasOlder, again.watched.size]).toEqual([false, WATCHED]);
  });

  it('drops it when there may be a gap, and when all there is was told', () => {
    const loaded = append(begin(undefined, range(100, 51)), range(50, 11), false);
    const far = begin(loaded, range(300, 251));
    expect([far.entries.length, far.hasOlder]).toEqual([WATCHED, true]);
    expect(seconds(begin(loaded, [entry(100)]))).toEqual([100]);
  });
});

describe('change()', () => {
  it('puts what is new on top and what changed in its place', () => {
    const known = begin(undefined, range(3, 1));
    const after = change(known, { entries: [entry(4), entry(2, { status: 'success' })], gone: [] });
    expect(seconds(after)).toEqual([4, 3, 2, 1]);
    expect(after.entries.map(({ status }) => status)).toEqual(['running', 'running', 'success', 'running']);
  });

  it('keeps what was pushed out, and drops what was deleted', () => {
    const known = begin(undefined, range(100, 51));
    const pushed = change(known, { entries: [entry(101)], gone: [entry(51).id] });
    expect([pushed.entries.length, pushed.watched.has(entry(51).id)]).toEqual([WATCHED + 1, false]);
    // One in the middle is deleted; the one below takes its place among the watched.
    const deleted = change(pushed, { entries: [entry(51)], gone: [entry(80).id] });
    expect([deleted.entries.length, seconds(deleted).includes(80), deleted.watched.size]).toEqual([
      WATCHED,
      false,
      WATCHED,
    ]);
    expect(seconds(change(begin(undefined, range(3, 1)), { entries: [], gone: [entry(1).id] }))).toEqual([
      3, 2,
    ]);
  });
});

describe('append()', () => {
  it('adds each once, and leads on from the last', () => {
    const known = append(begin(undefined, range(5, 3)), range(3, 1), true);
    expect([seconds(known), known.hasOlder]).toEqual([[5, 4, 3, 2, 1], true]);
    expect(cursorBehind(known)).toBe(`1970-01-01T00:00:01.000Z~cir_0001`);
    expect(cursorBehind(begin(undefined, []))).toBeUndefined();
  });
});

describe('byCommit()', () => {
  it('puts each commit where its newest entry stands, and what has none alone', () => {
    const [a, b] = [{ commitSha: 'a' }, { commitSha: 'b' }];
    const groups = byCommit([entry(5, a), entry(4), entry(3, b), entry(2, a), entry(1)]);
    expect(groups.map(({ sha, entries }) => [sha, entries.length])).toEqual([
      ['a', 2],
      [undefined, 1],
      ['b', 1],
      [undefined, 1],
    ]);
  });
});
