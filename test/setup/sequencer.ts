/**
 * Begins with the dearest files: begun last, they would run alone at the end while the other workers rest.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { knownTimes } from './times.ts';

const root = new URL('../..', import.meta.url).pathname;

export class DearestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const times = knownTimes();
    const secondsOf = ({ moduleId }: TestSpecification): number => times.get(relative(root, moduleId)) ?? 0;
    return (await super.sort(files)).toSorted((a, b) => secondsOf(b) - secondsOf(a));
  }
}
