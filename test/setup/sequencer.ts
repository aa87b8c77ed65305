/** Long stories first: begun last, they would run alone at the end while the other workers rest. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of half a minute and more, the longest first. */
const LONG = [
  'test/faults/faults.test.ts',
  'runner/build/daemon-build.test.ts',
  'runner/build/daemon-build-crash.test.ts',
  'runner/executor/executor.test.ts',
  'runner/executor/abuse.test.ts',
  'test/e2e/runners-switched-off.test.ts',
  'test/console/runners.test.ts',
  'test/contract/gates.test.ts',
  'test/e2e/builds-server.test.ts',
  'test/console/timeline.test.ts',
  'test/console/features.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((path) => moduleId.endsWith(`/${path}`));
      return at === -1 ? LONG.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
