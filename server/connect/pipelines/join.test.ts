import { describe, expect, it } from 'vitest';
import { joinPipelines, type KnownPipeline, type SeenPipelines } from './join.ts';
import type { FoundPipeline } from '../providers/index.ts';

const known = (id: string, name: string, path = ''): KnownPipeline => ({
  id,
  name,
  path,
  defined: path !== '',
});
const found = (path: string, name = path): FoundPipeline => ({
  provider: 'github',
  name,
  path,
  jobs: [],
  triggers: [],
  deployDetected: false,
  evidence: [],
  partial: false,
  includes: [],
});
const seen = (...pipelines: readonly FoundPipeline[]): SeenPipelines => ({
  found: pipelines,
  complete: true,
  unreadable: new Set(),
});

/** `id=name@path` of those that were matched, then those that are made, then those that are gone. */
function outcome(rows: readonly KnownPipeline[], what: SeenPipelines): string {
  const { matched, made, gone } = joinPipelines(rows, what);
  const parts = [
    ...matched.map(({ id, name, found: { path } }) => `${id}=${name}@${path}`),
    ...made.map(({ name, path }) => `+${name}@${path}`),
    ...gone.map((id) => `-${id}`),
  ];
  return parts.join(' ');
}

describe('joinPipelines()', () => {
  it.each<[string, readonly KnownPipeline[], SeenPipelines, string]>([
    ['the same file and name', [known('1', 'CI', 'a')], seen(found('a', 'CI')), '1=CI@a'],
    ['a new file', [], seen(found('a', 'CI')), '+CI@a'],
    ['a renamed workflow', [known('1', 'CI', 'a')], seen(found('a', 'Build')), '1=Build@a'],
    ['runs by name alone', [known('1', 'CI')], seen(found('a', 'CI')), '1=CI@a'],
    ['a moved file', [known('1', 'CI', 'a')], seen(found('b', 'CI')), '1=CI@b'],
    [
      'two files of one name',
      [known('1', 'CI', 'a')],
      seen(found('a', 'CI'), found('b', 'CI')),
      '1=CI@a +CI@b',
    ],
    [
      'names that changed places',
      [known('1', 'A', 'a'), known('2', 'B', 'b')],
      seen(found('a', 'B'), found('b', 'A')),
      '1=B@a 2=A@b',
    ],
    [
      'several of one file, of which one is new',
      [known('1', 'test', 'c'), known('2', 'old', 'c')],
      seen(found('c', 'test'), found('c', 'new')),
      '1=test@c 2=new@c',
    ],
    [
      'several of one file, of which it cannot be said which is which',
      [known('1', 'x', 'c'), known('2', 'y', 'c')],
      seen(found('c', 'v'), found('c', 'w')),
      '+v@c +w@c -1 -2',
    ],
    [
      'a file without a name, and the one pipeline of the runs',
      [known('1', 'acme/app')],
      seen(found('.gitlab-ci.yml')),
      '1=acme/app@.gitlab-ci.yml',
    ],
    [
      'a file without a name, again',
      [known('1', 'acme/app', '.gitlab-ci.yml')],
      seen(found('.gitlab-ci.yml')),
      '1=acme/app@.gitlab-ci.yml',
    ],
    [
      'a file without a name, and two that runs told of',
      [known('1', 'x'), known('2', 'y')],
      seen(found('f')),
      '+f@f',
    ],
    ['a file that is gone', [known('1', 'CI', 'a')], seen(), '-1'],
    ['what was never defined', [known('1', 'CI')], seen(), ''],
    ['a list that was cut', [known('1', 'CI', 'a')], { ...seen(found('b', 'CI')), complete: false }, '+CI@b'],
    [
      'a file that cannot be read now',
      [known('1', 'CI', 'a')],
      { ...seen(found('b', 'CI')), unreadable: new Set(['a']) },
      '+CI@b',
    ],
  ])('joins %s', (_, rows, what, expected) => {
    expect(outcome(rows, what)).toBe(expected);
  });
});
