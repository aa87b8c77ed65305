import { describe, expect, it } from 'vitest';
import { inBatches, type Batching } from './batches.ts';

interface Rig {
  readonly add: (item: string) => Promise<string>;
  /** Items of each run, and how to end it. */
  readonly runs: Array<{
    readonly items: readonly string[];
    end(answers?: ReadonlyArray<string | Error>): void;
    fail(error: Error): void;
  }>;
}

function rig(options: Partial<Batching<string, string>> = {}): Rig {
  const runs: Rig['runs'] = [];
  const add = inBatches<string, string>({
    parallel: 1,
    itemsMax: 100,
    waitingMax: 1_000,
    overfull: () => new Error('overfull'),
    run: async (items) =>
      await new Promise((resolve, reject) => {
        runs.push({
          items,
          end: (answers = items.map((item) => `${item}!`)) => resolve(answers),
          fail: reject,
        });
      }),
    ...options,
  });
  return { add, runs };
}

const turn = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

describe('inBatches()', () => {
  it('runs one item at once, and what comes meanwhile together', async () => {
    const { add, runs } = rig();
    const first = add('a');
    await turn();
    const others = ['b', 'c', 'd'].map(async (item) => await add(item));
    await turn();
    expect(runs.map(({ items }) => items)).toEqual([['a']]);
    runs[0]!.end();
    expect(await first).toBe('a!');
    await turn();
    await turn();
    expect(runs[1]!.items).toEqual(['b', 'c', 'd']);
    runs[1]!.end();
    expect(await Promise.all(others)).toEqual(['b!', 'c!', 'd!']);
  });

  it('runs the first before its turn has ended, and what a turn brings meanwhile together', async () => {
    const { add, runs } = rig({ parallel: 2 });
    void add('a');
    await Promise.resolve();
    expect(runs.map(({ items }) => items)).toEqual([['a']]);
    void add('b');
    await Promise.resolve();
    void add('c');
    await turn();
    expect(runs.map(({ items }) => items)).toEqual([['a'], ['b', 'c']]);
  });

  it('keeps to the number of runs, of items, and to their size', async () => {
    const { add, runs } = rig({ parallel: 2, itemsMax: 3, sizeMax: 4, sizeOf: (item) => item.length });
    for (const item of ['aaaaaaaa', 'b', 'bb', 'bb', 'c', 'c', 'c', 'c']) void add(item);
    await turn();
    // The first goes whatever its size; then 1 + 2 fit, and 2 more would not.
    expect(runs.map(({ items }) => items)).toEqual([['aaaaaaaa'], ['b', 'bb']]);
    runs[1]!.end();
    await turn();
    await turn();
    expect(runs[2]!.items).toEqual(['bb', 'c', 'c']);
  });

  it('never runs two of one key together, and lets none of them overtake another', async () => {
    const { add, runs } = rig({ keysOf: (item) => item.slice(0, -1).split('') });
    void add('x0');
    await turn();
    for (const item of ['x1', 'xy2', 'y3', 'z4']) void add(item);
    const keys: string[][] = [];
    for (let n = 0; n < 4; n += 1) {
      keys.push([...runs[n]!.items]);
      runs[n]!.end();
      await turn();
      await turn();
    }
    expect(keys).toEqual([['x0'], ['x1', 'z4'], ['xy2'], ['y3']]);
  });

  it('gives each its own answer or error', async () => {
    const { add, runs } = rig();
    const outcomes = Promise.allSettled([add('a'), add('b'), add('c')]);
    await turn();
    runs[0]!.end(['a!', new Error('b is bad'), 'c!']);
    expect(await outcomes).toMatchObject([
      { value: 'a!' },
      { reason: { message: 'b is bad' } },
      { value: 'c!' },
    ]);
  });

  it('runs what failed together one by one, so that the bad one fails alone', async () => {
    const ran: string[][] = [];
    const { add } = rig({
      divides: (error) => (error as Error).message === 'bad',
      run: async (items) => {
        ran.push([...items]);
        if (items.includes('x')) throw new Error('bad');
        return items.map((item) => `${item}!`);
      },
    });
    const outcomes = await Promise.allSettled(['a', 'b', 'x', 'c', 'd'].map(async (item) => await add(item)));
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(ran.map(({ length }) => length)).toEqual([5, 1, 1, 1, 1, 1]);
  });

  it('holds nobody up for the one of a divided run that waits', async () => {
    let endWait = (): void => undefined;
    const waited = new Promise<readonly string[]>((resolve) => (endWait = () => resolve(['x!'])));
    const { add } = rig({
      divides: () => true,
      run: async (items) => {
        if (items.length > 1) throw new Error('one of them waits too long');
        return items[0] === 'x' ? await waited : [`${items[0]}!`];
      },
    });
    const [slow, ...others] = ['x', 'a', 'b'].map(async (item) => await add(item));
    expect(await Promise.all(others)).toEqual(['a!', 'b!']);
    endWait();
    expect(await slow).toBe('x!');
  });

  it('fails all together when nothing says that it may be divided', async () => {
    const { add, runs } = rig();
    const outcomes = Promise.allSettled([add('a'), add('b')]);
    await turn();
    runs[0]!.fail(new Error('the connection is gone'));
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(runs).toHaveLength(1);
  });

  it('refuses what is more than may wait', async () => {
    const { add, runs } = rig({ waitingMax: 2 });
    void add('a');
    await turn();
    const waiting = [add('b'), add('c')];
    await expect(add('d')).rejects.toThrow('overfull');
    runs[0]!.end();
    await turn();
    await turn();
    runs[1]!.end();
    expect(await Promise.all(waiting)).toEqual(['b!', 'c!']);
  });
});
