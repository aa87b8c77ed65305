/**
 * `npm run faults -- [--seed N] [--runs N] [--minutes N] [--mutant name | --provoke name] [--keep]` `npm run
 * faults -- --schedules N | --row name [--at-once N] [--seed N] [--minutes N] [--keep]`
 *
 * --schedules runs N short schedules of all kinds of faults with rising seeds, --at-once of them side by side
 * (4), beginning none after --minutes, and prints what was counted; --row takes one kind alone (README.md
 * lists them), and one schedule unless --schedules says how many.
 *
 * One seeded schedule of faults, or with --minutes one after the other with rising seeds until the time is
 * up. --mutant plants a mistake into the server and succeeds when it is caught; --provoke runs the same load
 * and faults against the sound server. --keep leaves journals and logs behind. Exit 0: as expected.
 */
import { parseArgs } from 'node:util';
import { runBatch, type Batch } from './batch.ts';
import { describeViolations } from './checker.ts';
import { damageOf, MUTANT_NAMES, MUTANTS, type MutantName } from './mutants.ts';
import { stopAllRigs } from './rig.ts';
import { runScenario, seconds, type Scenario } from './scenario.ts';
import { MIXED_ROWS, ROWS, type FaultName } from './schedule.ts';
import { greatScenario, mutantScenario, soundScenario } from './scenarios.ts';
import { summarise } from './summary.ts';
import { prepareSurroundings, type SharedSurroundings } from './surroundings.ts';
import { createTally } from './tally.ts';

const say = (line: string): void => console.log(line);
/** Most of a schedule is waiting: so many keep two cores busy. */
const AT_ONCE = 4;
let interrupted = false;
/** Also for who is told to end in the middle. */
let sayWhatCame = (): void => undefined;

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
  {
    mutant,
    provoked,
  }: { readonly mutant: MutantName | undefined; readonly provoked: MutantName | undefined },
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

function rowsNamed(text: string | undefined): readonly FaultName[] {
  if (text === undefined) return MIXED_ROWS;
  const found = ROWS.find((row) => row === text);
  if (found === undefined) throw new Error(`no row "${text}", expected one of ${ROWS.join(', ')}`);
  return [found];
}

/** True when every promise was kept in every schedule. */
async function runSchedules(batch: Batch): Promise<boolean> {
  const tally = createTally();
  const startedAt = performance.now();
  sayWhatCame = () => {
    for (const line of tally.lines()) say(line);
    say(`${seconds(performance.now() - startedAt)} in all, ${batch.atOnce} at once`);
  };
  // What is cut off when this is told to end was not broken.
  await runBatch(batch, tally, (line) => {
    if (!interrupted) say(line);
  });
  sayWhatCame();
  return tally.clean();
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
      schedules: { type: 'string' },
      'at-once': { type: 'string' },
      row: { type: 'string' },
    },
  });
  const firstSeed = numberOf(values.seed, 'seed', Math.floor(Date.now() / 1_000) % 1_000_000);
  const runs = numberOf(values.runs, 'runs', 2_000);
  const until = performance.now() + numberOf(values.minutes, 'minutes', 0) * 60_000;
  const mutant = mutantNamed(values.mutant);
  const provoked = mutantNamed(values.provoke);
  const rows = rowsNamed(values.row);
  const schedules = numberOf(values.schedules, 'schedules', values.row === undefined ? 0 : 1);
  if (schedules > 0) {
    const limit = values.minutes === undefined ? Number.POSITIVE_INFINITY : until;
    const atOnce = Math.min(schedules, numberOf(values['at-once'], 'at-once', AT_ONCE));
    const keep = values.keep === true;
    return await runSchedules({ firstSeed, schedules, rows, atOnce, until: limit, keep });
  }
  const size = mutant === undefined && provoked === undefined ? 'one' : 'pair';
  const shared = await prepareSurroundings(say, { size });
  if (values.keep === true) shared.keep();
  let failed = 0;
  let rounds = 0;
  try {
    do {
      const seed = firstSeed + rounds;
      if (!(await judge(shared, scenarioOf(seed, runs, { mutant, provoked }), mutant))) failed += 1;
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

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupted = true;
    sayWhatCame();
    void stopAllRigs().finally(() => process.exit(130));
  });
}
try {
  process.exit((await main()) ? 0 : 1);
} catch (error) {
  // What was under way fails when everything is taken away from under it.
  if (!interrupted) throw error;
}
