import { expect, it } from 'vitest';
import { overBounds } from './bounds.ts';

it('names each file that takes four times what its kind and its tests may', () => {
  const times = new Map([
    ['server/a/a.api.test.ts', 36],
    ['server/b/b.api.test.ts', 37],
    ['runner/build/build.test.ts', 479],
    ['test/console/a.test.ts', 113],
    ['test/tidy/resource.test.ts', 203],
  ]);
  const testsOf = new Map([...times.keys()].map((path) => [path, 10]));
  expect(overBounds(times, testsOf)).toEqual([
    'server/b/b.api.test.ts took 37.0 s, and an API test of its size may take 9.0 s',
    'test/console/a.test.ts took 113.0 s, and a console test of its size may take 28.0 s',
  ]);
});
