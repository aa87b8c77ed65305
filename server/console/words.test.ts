import { describe, expect, it } from 'vitest';
import { counted, duration } from './words.ts';

describe('duration()', () => {
  it.each([
    [-5, '0 ms'],
    [850, '850 ms'],
    [999.6, '1 s'],
    [12_400, '12 s'],
    [59_600, '1 min'],
    [243_000, '4 min 3 s'],
    [7_500_000, '2 h 5 min'],
    [7_200_000, '2 h'],
  ])('says %d ms as %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });
});

describe('counted()', () => {
  it('agrees in number and groups thousands', () => {
    const shown = [0, 1, 2, 1_200].map((count) => counted(count, 'run', 'runs'));
    expect(shown).toEqual(['0 runs', '1 run', '2 runs', '1,200 runs']);
  });
});
