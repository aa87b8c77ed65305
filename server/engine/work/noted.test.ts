import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { createNoted } from './noted.ts';

describe('noting runners', () => {
  it('happens once in half of the interval, and at once when what a runner says changes', () => {
    const clock = createFakeClock();
    const mustNote = createNoted(20_000, clock);
    expect([mustNote('rnr_a', []), mustNote('rnr_a', []), mustNote('rnr_b', [])]).toEqual([
      true,
      false,
      true,
    ]);
    expect([
      mustNote('rnr_a', ['disk full']),
      mustNote('rnr_a', ['disk full']),
      mustNote('rnr_a', []),
    ]).toEqual([true, false, true]);
    clock.advance(9_999);
    expect(mustNote('rnr_a', [])).toBe(false);
    clock.advance(1);
    expect(mustNote('rnr_a', [])).toBe(true);
  });
});
