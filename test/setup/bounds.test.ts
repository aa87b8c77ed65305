import { expect, it } from 'vitest';
import { overBounds } from './bounds.ts';

it('names each file that takes three times what its kind and its tests may', () => {
  const times = new Map([
    ['server/a/a.api.test.ts', 18],
    ['server/b/b.api.test.ts', 19],
    ['runner/build/build.test.ts', 68],
    ['test/console/a.test.ts', 46],
  ]);
  const testsOf = new Map([...times.keys()].map((path) => [path, 10]));
  expect(overBounds(times, testsOf)).toEqual([
    'server/b/b.api.test.ts took 19.0 s, and an API test of its size may take 6.0 s',
    'test/console/a.test.ts took 46.0 s, and a console test of its size may take 15.0 s',
  ]);
});
