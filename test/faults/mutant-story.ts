/** The proof that the judge can see: a server that is wrong on purpose, which it must catch. */
import { expect } from 'vitest';
import { describeViolations } from './checker.ts';
import { damageOf, type MutantName } from './mutants.ts';
import { runScenario } from './scenario.ts';
import { mutantScenario } from './scenarios.ts';
import { summarise } from './summary.ts';
import type { SharedSurroundings } from './surroundings.ts';

/** FAULTS_SEED repeats a run that failed. */
export const SEED = Number(process.env['FAULTS_SEED'] ?? 20_261_120);
/** So many schedules has a mutant to be caught by. */
const MUTANT_SEEDS = 3;
/** Far beyond what it takes: the machine may be busy with the other tests. */
export const LIMIT_MS = 300_000;

/** Plays the next seed where nothing was caught, because what goes wrong depends on what meets what. */
export async function catchMutant(name: MutantName, shared: SharedSurroundings): Promise<void> {
  const found: string[] = [];
  for (let seed = SEED; seed < SEED + MUTANT_SEEDS; seed += 1) {
    const verdict = await runScenario(mutantScenario(name, seed), await shared.withMutant(name));
    const damage = damageOf(name, verdict);
    console.log(
      `${summarise(verdict).join('\n')}\n${name}: caught by ${damage.length} violations, the first:\n${describeViolations(damage.slice(0, 1))}`,
    );
    if (damage.length > 0) return;
    found.push(`seed ${seed}:\n${describeViolations(verdict.violations)}`);
  }
  expect.fail(`not caught; all that was found:\n${found.join('\n')}`);
}
