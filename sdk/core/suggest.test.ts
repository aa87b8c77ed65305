import { describe, expect, it } from 'vitest';
import { editDistance, nearest } from './suggest.ts';

describe('editDistance()', () => {
  it('counts insertions, deletions, replacements and swaps', () => {
    expect(editDistance('list', 'list')).toBe(0);
    expect(editDistance('lst', 'list')).toBe(1);
    expect(editDistance('lists', 'list')).toBe(1);
    expect(editDistance('lisp', 'list')).toBe(1);
    expect(editDistance('lsit', 'list')).toBe(1);
    expect(editDistance('', 'list')).toBe(4);
    expect(editDistance('kitten', 'sitting')).toBe(3);
  });
});

describe('nearest()', () => {
  const known = ['list', 'logs', 'create', 'cancel', 'request-diagnostics'];

  it('finds the typo', () => {
    expect(nearest('lst', known)).toBe('list');
    expect(nearest('craete', known)).toBe('create');
    expect(nearest('CREATE', known)).toBe('create');
  });

  it('finds the only word that goes on like this', () => {
    expect(nearest('request', known)).toBe('request-diagnostics');
  });

  it('stays silent when it would be a guess', () => {
    expect(nearest('xyz', known)).toBeUndefined();
    expect(nearest('deploy', known)).toBeUndefined();
    expect(nearest('', known)).toBeUndefined();
  });
});
