import { describe, expect, it } from 'vitest';
import { freeSlug, slugOf } from './slug.ts';
import { TIMED } from '../../../test/setup/timed.ts';

describe('slugOf()', () => {
  it.each([
    ['Hello World', 'hello-world'],
    ['  --Überblick & Co.--  ', 'uberblick-co'],
    ['日本', 'project'],
    ['prj_123', 'prj-123'],
    ['x'.repeat(100), 'x'.repeat(48)],
    ['a'.repeat(47) + ' b', 'a'.repeat(47)],
  ])('makes %j into %j', (name, slug) => {
    expect(slugOf(name)).toBe(slug);
  });

  it('is quick on long hostile names', TIMED, () => {
    const began = performance.now();
    slugOf('-'.repeat(100_000));
    slugOf('\u0300'.repeat(100_000));
    expect(performance.now() - began).toBeLessThan(200);
  });
});

describe('freeSlug()', () => {
  it('adds the first free number', () => {
    expect(freeSlug('a', new Set())).toBe('a');
    expect(freeSlug('a', new Set(['a', 'a-2', 'a-4']))).toBe('a-3');
  });
});
