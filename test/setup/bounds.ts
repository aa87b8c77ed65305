/**
 * Bounds the processor time of a test file by its kind. docs/contributing.md says what a new one should cost;
 * a machine that is busy, or slow, has taken four times as much for the same work as a bound here, and a file
 * over that fails the run.
 */
import { NIGHTLY } from '../nightly.ts';
import type { Times } from './times.ts';

interface Kind {
  readonly name: string;
  readonly of: RegExp;
  /** Seconds of processor time that a file and each of its tests may take. */
  readonly fileS: number;
  readonly testS: number;
}

const NIGHT = new RegExp(`^(${NIGHTLY.map(({ path }) => path).join('|')})$`);

/** The first that fits counts. */
const KINDS: readonly Kind[] = [
  { name: 'a fault', of: /^test\/faults\//, fileS: 40, testS: 5 },
  { name: 'a runner', of: /^runner\/|^test\/setup\/runner\//, fileS: 40, testS: 8 },
  { name: 'an end-to-end', of: /^test\/(e2e|complaints)\/|^test\/docs/, fileS: 20, testS: 10 },
  { name: 'a console', of: /^test\/console\//, fileS: 8, testS: 2 },
  { name: 'a contract', of: /^test\/contract\//, fileS: 20, testS: 0.05 },
  { name: 'an API', of: /\.api\.test\.ts$/, fileS: 5, testS: 0.4 },
  { name: 'a nightly', of: NIGHT, fileS: 50, testS: 0.1 },
  { name: 'a unit', of: /./, fileS: 15, testS: 0.1 },
];
const SLOW = 4;

/** Returns a line for each file that took more than its kind may. */
export function overBounds(times: Times, testsOf: ReadonlyMap<string, number>): readonly string[] {
  return [...times].flatMap(([path, seconds]) => {
    const kind = KINDS.find(({ of }) => of.test(path));
    if (kind === undefined) return [];
    const boundS = kind.fileS + kind.testS * (testsOf.get(path) ?? 0);
    if (seconds <= boundS * SLOW) return [];
    return [
      `${path} took ${seconds.toFixed(1)} s, and ${kind.name} test of its size may take ${boundS.toFixed(1)} s`,
    ];
  });
}
