import { describe, expect, it } from 'vitest';
import { mayMeet } from './target.ts';

describe('two selections of runners', () => {
  it.each([
    [null, { group: 'prod' }, true],
    [{ group: 'prod' }, { group: 'prod', labels: { zone: 'a' } }, true],
    [{ group: 'prod' }, { labels: { zone: 'a' } }, true],
    [{ labels: { zone: 'a' } }, { labels: { disk: 'fast' } }, true],
    [{ group: 'prod' }, { group: 'staging' }, false],
    [{ labels: { zone: 'a', disk: 'fast' } }, { labels: { zone: 'b' } }, false],
  ])('%j and %j may meet on one machine: %j', (one, other, may) => {
    expect(mayMeet(one, other)).toBe(may);
    expect(mayMeet(other, one)).toBe(may);
  });
});
