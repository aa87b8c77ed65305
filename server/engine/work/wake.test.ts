import { describe, expect, it } from 'vitest';
import { createWake } from './wake.ts';

const never = new AbortController().signal;

describe('a follower', () => {
  it('wakes when its item is told of, and not when another one is', async () => {
    const wake = createWake();
    let woken = 0;
    const waits = [wake.wait('run_a', 60_000, never), wake.wait('run_a', 60_000, never)].map(async (wait) => {
      await wait;
      woken += 1;
    });
    wake.notify('run_b');
    await Promise.resolve();
    expect(woken).toBe(0);
    wake.notify('run_a');
    await Promise.all(waits);
    expect(woken).toBe(2);
    wake.notify('run_a'); // Nobody waits any more.
  });

  it('wakes after its time, when it is aborted, and at once when it was', async () => {
    const wake = createWake();
    await wake.wait('run_a', 1, never);
    const abort = new AbortController();
    const waiting = wake.wait('run_a', 60_000, abort.signal);
    abort.abort();
    await waiting;
    await wake.wait('run_a', 60_000, abort.signal);
  });
});
