import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { createNoted } from './noted.ts';

describe('noting runners', () => {
  it('happens once in half of the interval, and at once when what a runner says changes', () => {
    const clock = createFakeClock();
    const isDue = createNoted(20_000, clock);
    expect([isDue('rnr_a', []), isDue('rnr_a', []), isDue('rnr_b', [])]).toEqual([true, false, true]);
    expect([isDue('rnr_a', ['disk full']), isDue('rnr_a', ['disk full']), isDue('rnr_a', [])]).toEqual([
      true,
      false,
      true,
    ]);
    clock.advance(9_999);
    expect(isDue('rnr_a', [])).toBe(false);
    clock.advance(1);
    expect(isDue('rnr_a', [])).toBe(true);
  });
});
