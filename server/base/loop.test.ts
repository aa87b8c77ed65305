import { describe, expect, it } from 'vitest';
import { waitFor } from '../../test/setup/wait-for.ts';
import { eachStep, startLoop } from './loop.ts';

describe('a background job', () => {
  it('runs at once, again at once while there is more, and then waits until it is woken', async () => {
    let runs = 0;
    const loop = startLoop({
      everyMs: 60_000,
      run: async () => {
        runs += 1;
        return runs < 3;
      },
      onError: () => undefined,
    });
    await waitFor('three runs', () => runs, { holds: (n) => n === 3 });
    loop.wake();
    await waitFor('the fourth run', () => runs, { holds: (n) => n === 4 });
    await loop.stop();
    expect(runs).toBe(4);
  });

  it('survives a failed run and says so', async () => {
    const errors: unknown[] = [];
    let runs = 0;
    const loop = startLoop({
      everyMs: 1,
      run: async () => {
        runs += 1;
        if (runs === 1) throw new Error('once');
        return false;
      },
      onError: (error) => errors.push(error),
    });
    await waitFor('a second run', () => runs, { holds: (n) => n >= 2 });
    await loop.stop();
    expect(errors).toEqual([new Error('once')]);
  });

  it('never runs twice at once, however often it is woken, and stops after the running pass', async () => {
    let running = 0;
    let most = 0;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const loop = startLoop({
      everyMs: 1,
      run: async () => {
        running += 1;
        most = Math.max(most, running);
        await held;
        running -= 1;
        return false;
      },
      onError: () => undefined,
    });
    for (let i = 0; i < 10; i += 1) loop.wake();
    let stopped = false;
    const stopping = loop.stop().then(() => {
      stopped = true;
    });
    await Promise.resolve();
    expect(stopped).toBe(false);
    release();
    await stopping;
    expect(most).toBe(1);
  });
});

it('does each step, also behind one that fails', async () => {
  const told: string[] = [];
  const steps = ['a', 'b', 'c'].map((name) => async (): Promise<void> => {
    if (name === 'b') throw new Error('b fails');
    told.push(name);
    return await Promise.resolve();
  });
  await eachStep(steps, (error) => void told.push((error as Error).message));
  expect(told).toEqual(['a', 'b fails', 'c']);
});
