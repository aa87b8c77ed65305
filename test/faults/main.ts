/**
 * `npm run faults -- [--seed N] [--runs N] [--minutes N] [--mutant name | --provoke name] [--keep]`
 *
 * One seeded schedule of faults, or with --minutes one after the other with rising seeds until the time is up. --mutant plants a mistake
 * into the server and succeeds when it is caught; --provoke runs the same load and faults against the sound server. --keep leaves journals and logs behind.
 * Exit 0: as expected.
 */
import { parseArgs } from 'node:util';
import { describeViolations } from './checker.ts';
import { damageOf, MUTANT_NAMES, MUTANTS } from './mutants.ts';
import type { MutantName } from './mutants.ts';
import { stopAllRigs } from './rig.ts';
import { runScenario } from './scenario.ts';
import type { Scenario } from './scenario.ts';
import { greatScenario, mutantScenario, soundScenario } from './scenarios.ts';
import { summarise } from './summary.ts';
import { prepareSurroundings } from './surroundings.ts';
import type { SharedSurroundings } from './surroundings.ts';

const say = (line: string): void => console.log(line);

function mutantNamed(text: string | undefined): MutantName | undefined {
  if (text === undefined) return undefined;
  const found = MUTANT_NAMES.find((name) => name === text);
  if (found === undefined) throw new Error(`no mutant "${text}", expected one of ${MUTANT_NAMES.join(', ')}`);
  return found;
}

function numberOf(text: string | undefined, name: string, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!Number.isFinite(value) || value < 0)
    throw new Error(`--${name} is "${text}", expected a number from 0`);
  return value;
}

function scenarioOf(
  seed: number,
  runs: number,
  mutant: MutantName | undefined,
  provoked: MutantName | undefined,
): Scenario {
  if (mutant !== undefined) return mutantScenario(mutant, seed);
  return provoked === undefined ? greatScenario(seed, runs) : soundScenario(provoked, seed);
}

/** True when what should be found was found. */
async function judge(
  shared: SharedSurroundings,
  scenario: Scenario,
  mutant: MutantName | undefined,
): Promise<boolean> {
  const verdict = await runScenario(
    scenario,
    mutant === undefined ? shared : await shared.withMutant(mutant),
  );
  for (const line of summarise(verdict)) say(line);
  for (const crash of verdict.crashes) say(`crash: ${crash}`);
  if (verdict.violations.length > 0) say(describeViolations(verdict.violations));
  const clean = verdict.violations.length === 0 && verdict.crashes.length === 0;
  if (mutant === undefined) {
    if (!clean) shared.keep();
    say(
      clean
        ? `seed ${scenario.seed}: every promise was kept`
        : `seed ${scenario.seed}: BROKEN; journals and logs stay in ${shared.folder}`,
    );
    return clean;
  }
  const damage = damageOf(mutant, verdict);
  say(
    `${mutant} (${MUTANTS[mutant].what}): ${damage.length > 0 ? `caught by ${damage.length} violations` : 'NOT CAUGHT'}`,
  );
  return damage.length > 0;
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      runs: { type: 'string' },
      minutes: { type: 'string' },
      mutant: { type: 'string' },
      provoke: { type: 'string' },
      keep: { type: 'boolean' },
    },
  });
  const firstSeed = numberOf(values.seed, 'seed', Math.floor(Date.now() / 1_000) % 1_000_000);
  const runs = numberOf(values.runs, 'runs', 2_000);
  const until = performance.now() + numberOf(values.minutes, 'minutes', 0) * 60_000;
  const mutant = mutantNamed(values.mutant);
  const provoked = mutantNamed(values.provoke);
  const shared = await prepareSurroundings(say);
  if (values.keep === true) shared.keep();
  let failed = 0;
  let rounds = 0;
  try {
    do {
      const seed = firstSeed + rounds;
      if (!(await judge(shared, scenarioOf(seed, runs, mutant, provoked), mutant))) failed += 1;
      rounds += 1;
    } while (performance.now() < until);
  } finally {
    await shared.stop();
  }
  if (values.keep === true) say(`journals and logs stay in ${shared.folder}`);
  say(
    `${rounds - failed} of ${rounds} schedules as expected, seeds ${firstSeed} to ${firstSeed + rounds - 1}`,
  );
  return failed === 0;
}

let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupted = true;
    void stopAllRigs().finally(() => process.exit(130));
  });
}
try {
  process.exit((await main()) ? 0 : 1);
} catch (error) {
  // What was under way fails when everything is taken away from under it.
  if (!interrupted) throw error;
}
