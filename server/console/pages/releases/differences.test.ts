import { describe, expect, it } from 'vitest';
import { artifactDifferences, packageDifferences } from './differences.ts';

const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;

describe('artifactDifferences()', () => {
  it('counts what is added, removed and changed', () => {
    const image = { kind: 'image', name: 'web' } as const;
    expect(
      artifactDifferences([
        { ...image, before: digest('1'), after: digest('2') },
        { ...image, after: digest('3') },
      ]),
    ).toEqual({
      summary: '1 added, 1 changed',
      named: [
        { ...image, before: '1'.repeat(12), after: '2'.repeat(12) },
        { ...image, before: undefined, after: '3'.repeat(12) },
      ],
      more: 0,
    });
    expect(artifactDifferences([]).summary).toBe('none differs');
  });
});

describe('packageDifferences()', () => {
  it('names the first versions, and counts what has no name', () => {
    const change = { type: 'npm', name: 'left', before: [''], after: ['1', '2', '3', '4'] };
    expect(packageDifferences({ added: 1_200, removed: 1, changed: 1, changes: [change] })).toEqual({
      summary: '1,200 added, 1 removed, 1 changed',
      named: [{ name: 'left', kind: 'npm', before: 'of no known version', after: '1, 2, 3, …' }],
      more: 1_201,
    });
  });
});
