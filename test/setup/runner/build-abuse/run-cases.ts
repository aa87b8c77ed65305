/** Registers cases of abuse as tests, with one bench for all of them. */
import { expect, it } from 'vitest';
import { findProgram } from '../../../../runner/executor/command.ts';
import type { AbuseCase } from '../abuse.ts';
import { tempDir } from '../temp-dir.ts';
import { sharedByFile } from '../when-done.ts';
import { createBench, type Bench } from './bench.ts';

/** @param caseMs Time limit of one case; a case takes some ten seconds on an idle machine. */
export function runCases(cases: readonly AbuseCase<Bench>[], caseMs: number): void {
  const runtime = findProgram('runc') === undefined ? undefined : 'runc';
  const shared = sharedByFile(async () => await createBench(tempDir(), runtime), caseMs);

  for (const { abuse, held, act } of cases)
    it(
      `${abuse} → ${held}`,
      async () => {
        const bench = shared();
        await act(bench);
        expect(await bench.leftovers()).toEqual([]);
      },
      caseMs,
    );
}
