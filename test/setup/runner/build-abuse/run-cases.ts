/** Registers cases of abuse as tests, with one bench for all of them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findProgram } from '../../../../runner/executor/command.ts';
import { makeDataDir } from '../executor-fixtures.ts';
import { createBench, type Bench } from './bench.ts';

export interface AbuseCase {
  abuse: string;
  held: string;
  act: (bench: Bench) => Promise<void>;
}

/** @param caseMs Time limit of one case; a case takes some ten seconds on an idle machine. */
export function runCases(cases: readonly AbuseCase[], caseMs: number): void {
  let bench: Bench;
  let dataDir: Awaited<ReturnType<typeof makeDataDir>>;

  beforeAll(async () => {
    dataDir = await makeDataDir();
    bench = await createBench(dataDir.path, findProgram('runc') === undefined ? undefined : 'runc');
  }, caseMs);
  afterAll(async () => {
    await bench.close();
    await dataDir.remove();
  }, caseMs);

  for (const { abuse, held, act } of cases)
    it(
      `${abuse} → ${held}`,
      async () => {
        await act(bench);
        expect(await bench.leftovers()).toEqual([]);
      },
      caseMs,
    );
}
