import { describe, expect, it } from 'vitest';
import { createWatches, fingerprint } from './watch.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

/** A thing that is looked at: what it says now, how often it was asked, by how many. */
function thing(everyMs = 5) {
  const seen = { value: 'a', looks: 0, watchers: [] as string[], failing: false };
  interface State {
    readonly value: string;
  }
  const watches = createWatches<string, State>(async (watchers, before) => {
    seen.looks += 1;
    seen.watchers = [...watchers];
    await new Promise((resolve) => setImmediate(resolve));
    if (seen.failing) throw new Error('no database');
    return before?.value === seen.value ? before : { value: seen.value };
  }, everyMs);
  return { seen, watches };
}

const next = async <T>(stream: AsyncGenerator<T>): Promise<T | undefined> => (await stream.next()).value as T;
const LONG_MS = 60_000;

describe('createWatches()', () => {
  it('tells the present, then each change, and nothing while nothing changes', async () => {
    const { seen, watches } = thing();
    const leaving = new AbortController();
    const stream = watches.watch('k', 'w', leaving.signal);
    expect(await next(stream)).toEqual({ value: 'a' });
    const waiting = next(stream);
    const looks = seen.looks;
    await waitFor('the watch', () => seen.looks > looks + 3);
    seen.value = 'b';
    expect(await waiting).toEqual({ value: 'b' });
    leaving.abort();
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('looks once for all who watch the same, and apart for what is not the same', async () => {
    const { seen, watches } = thing(LONG_MS);
    const leaving = new AbortController();
    const streams = ['k', 'k', 'k', 'other'].map((key, n) => watches.watch(key, `w${n}`, leaving.signal));
    await Promise.all(streams.map(async (stream) => await next(stream)));
    // The first of a room begins its look alone; the two that came meanwhile share the one after it.
    expect(seen.looks).toBe(3);
    expect(seen.watchers).toEqual(['w0', 'w1', 'w2']);
    leaving.abort();
    await Promise.all(streams.map(async (stream) => await stream.return(undefined)));
  });

  it('answers whoever comes from a look that began after their coming', async () => {
    const { seen, watches } = thing(LONG_MS);
    const leaving = new AbortController();
    const early = watches.watch('k', 'early', leaving.signal);
    await next(early);
    seen.value = 'b';
    const late = watches.watch('k', 'late', leaving.signal);
    expect([await next(late), await next(early)]).toEqual([{ value: 'b' }, { value: 'b' }]);
    leaving.abort();
    await Promise.all([early.return(undefined), late.return(undefined)]);
  });

  it('looks no more when the last one has left', async () => {
    const { seen, watches } = thing();
    const stream = watches.watch('k', 'w', new AbortController().signal);
    await next(stream);
    await stream.return(undefined);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { looks } = seen;
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(seen.looks).toBe(looks);
  });

  it('ends all streams of a room when a look fails, and begins anew with whoever comes back', async () => {
    const { seen, watches } = thing();
    const { signal } = new AbortController();
    const streams = [watches.watch('k', 'a', signal), watches.watch('k', 'b', signal)];
    await Promise.all(streams.map(async (stream) => await next(stream)));
    seen.failing = true;
    for (const stream of streams) await expect(stream.next()).rejects.toThrow('no database');
    seen.failing = false;
    const again = watches.watch('k', 'a', signal);
    expect(await next(again)).toEqual({ value: 'a' });
    await again.return(undefined);
  });

  it('spares whoever reads slowly what lay in between', async () => {
    const { seen, watches } = thing();
    const stream = watches.watch('k', 'w', new AbortController().signal);
    await next(stream);
    for (const value of ['b', 'c', 'd']) {
      seen.value = value;
      const { looks } = seen;
      await waitFor('the watch', () => seen.looks > looks + 1);
    }
    expect(await next(stream)).toEqual({ value: 'd' });
    await stream.return(undefined);
  });
});

describe('fingerprint()', () => {
  it('is equal for equal things, times of messages included', () => {
    const at = { seconds: 5n, nanos: 0 };
    expect(fingerprint({ at })).toBe(fingerprint({ at: { seconds: 5n, nanos: 0 } }));
    expect(fingerprint({ at })).not.toBe(fingerprint({ at: { seconds: 6n, nanos: 0 } }));
    expect(fingerprint([])).toMatch(/^[\w-]{22}$/);
  });
});
