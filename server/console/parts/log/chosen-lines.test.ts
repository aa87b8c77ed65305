import { describe, expect, it } from 'vitest';
import { hashOf, linesOf } from './chosen-lines.ts';

describe('linesOf()', () => {
  it.each([
    ['#L120', [120, 121]],
    ['#L120-L140', [120, 141]],
    ['#L140-120', [120, 141]],
    ['#L0', undefined],
    ['#L1-L', undefined],
    ['#L9999999999', undefined],
    ['#top', undefined],
  ] as const)('%s', (hash, span) => expect(linesOf(hash)).toEqual(span));

  it('is what hashOf() says', () => {
    expect(hashOf([7, 8])).toBe('#L7');
    expect(linesOf(hashOf([7, 10]))).toEqual([7, 10]);
  });
});
