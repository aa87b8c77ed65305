/** A gateway hears of platform features as these tests show. */
import { describe, expect, it } from 'vitest';
import { gatesNow, WATCH_MS, watchGates } from './features.ts';
import { fakeGates } from '../../../test/setup/work/gates.ts';
import { TIMED } from '../../../test/setup/timed.ts';

const timed = async <T>(work: Promise<T>): Promise<{ value: T; ms: number }> => {
  const begunMs = performance.now();
  return { value: await work, ms: performance.now() - begunMs };
};

describe('watching features', () => {
  it('answers at once who knows nothing yet, or another revision', TIMED, async () => {
    const gates = fakeGates();
    gates.runners('hidden');
    for (const known of ['', '0  ', 'garbage']) {
      const { value, ms } = await timed(watchGates(gates, known));
      expect(value).toEqual({ revision: '1  host.runners', disabled: [], hidden: ['host.runners'] });
      expect(ms).toBeLessThan(WATCH_MS / 2);
    }
  });

  it('answers in the moment of a change, also one that comes back to what it was', TIMED, async () => {
    const gates = fakeGates();
    const { revision } = gatesNow(gates);
    const waiting = timed(watchGates(gates, revision));
    gates.runners('hidden');
    const { value, ms } = await waiting;
    expect(value.hidden).toEqual(['host.runners']);
    expect(ms).toBeLessThan(WATCH_MS / 2);
    gates.runners('open');
    expect(gatesNow(gates).revision).not.toBe(revision);
    expect(gates.listeners).toBe(0);
  });

  it('answers the same after a second without one, and leaves no listener behind', async () => {
    const gates = fakeGates();
    const now = gatesNow(gates);
    const { value, ms } = await timed(watchGates(gates, now.revision));
    expect(value).toEqual(now);
    expect(ms).toBeGreaterThan(WATCH_MS - 50);
    expect(gates.listeners).toBe(0);
  });
});
