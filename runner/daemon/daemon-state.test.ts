import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { monotonicMs, wallMs } from '../platform/clock.ts';
import { inContact } from './daemon-state.ts';

describe('inContact()', () => {
  const answeredAgoMs = (ms: number) => ({
    controlPlane: { lastContact: { atMs: wallMs() - ms, sentMonotonicMs: monotonicMs() - ms } },
  });

  it('is true for a minute after a heartbeat that was answered', () => {
    expect(inContact({ controlPlane: { lastContact: undefined } })).toBe(false);
    expect(inContact(answeredAgoMs(50_000))).toBe(true);
    expect(inContact(answeredAgoMs(61_000))).toBe(false);
  });

  it("does not change when somebody sets the machine's clock", () => {
    const [fresh, old] = [answeredAgoMs(1_000), answeredAgoMs(61_000)];
    const now = Date.now();
    const clock = vi.spyOn(Date, 'now');
    onTestFinished(() => clock.mockRestore());
    for (const setMs of [3_600_000, -3_600_000]) {
      clock.mockReturnValue(now + setMs);
      expect([inContact(fresh), inContact(old)]).toEqual([true, false]);
    }
  });
});
