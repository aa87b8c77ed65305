/**
 * What `npm run nightly` runs and `npm test` leaves out, because it costs far more than it finds on a day:
 * whoever changes what it covers runs it, and a machine runs it each night. Of mistakes that are planted one
 * is played in `npm test`, another one each day, and all others here.
 */

/** Seconds are those on the clock on two cores with nothing beside. */
export const NIGHTLY: ReadonlyArray<{
  readonly path: string;
  readonly seconds: number;
  readonly what: string;
}> = [
  {
    path: 'test/faults/great.test.ts',
    seconds: 160,
    what: '2,000 runs while everything is killed, and the mutants of dispatch',
  },
  {
    path: 'test/console/long-lists.test.ts',
    seconds: 30,
    what: 'a list of 10,000 rows of the console beside one of ten, by their time of the main thread',
  },
  {
    path: 'test/faults/story-mutants.nightly.test.ts',
    seconds: 50,
    what: 'stories that catch a planted mistake',
  },
  { path: 'test/e2e/broker-cluster.test.ts', seconds: 45, what: 'three nodes of a broker' },
  { path: 'test/e2e/survivors.test.ts', seconds: 10, what: 'bytes that a request leaves on the heap' },
  {
    path: 'test/tidy/resource.test.ts',
    seconds: 50,
    what: 'the plain resource of the guide in a copy of the repository',
  },
];

const DAY_MS = 86_400_000;

/** Returns the one that is of today, in UTC. */
export function ofToday<T>(all: readonly T[]): T {
  const today = all[Math.floor(Date.now() / DAY_MS) % all.length];
  if (today === undefined) throw new Error('there is nothing to choose from');
  return today;
}

export const others = <T>(all: readonly T[]): readonly T[] => all.filter((each) => each !== ofToday(all));
