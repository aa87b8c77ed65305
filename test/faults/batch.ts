/**
 * Many short schedules with rising seeds, several at once, each worker with a broker, a PostgreSQL and a rig
 * of its own. A rig carries some schedules, one after the other, and only what their faults killed is started
 * again; each has teams, runners, journals and a verdict of its own. After a broken one the rig is thrown
 * away, so that nothing of it is held against the next.
 */
import { describeViolations } from './checker.ts';
import { playOn, seconds, startRigFor, type Scenario, type Verdict } from './scenario.ts';
import { shortScenario } from './scenarios.ts';
import type { Rig } from './rig.ts';
import { BROKER_NODES, needsCluster, needsPair, type FaultName } from './schedule.ts';
import { summarise } from './summary.ts';
import { prepareSurroundings, type SharedSurroundings } from './surroundings.ts';
import { isClean, isStarved, type Tally } from './tally.ts';

export interface Batch {
  readonly firstSeed: number;
  readonly schedules: number;
  readonly rows: readonly FaultName[];
  readonly atOnce: number;
  /** No schedule begins later; by this process's own clock. */
  readonly until: number;
  /** Also journals and logs of schedules that were kept. */
  readonly keep: boolean;
}

/**
 * Bounds what a rig has lived through when something breaks; its start costs about as much as one schedule.
 */
const SCHEDULES_PER_RIG = 20;
/**
 * A schedule that was late on a starved machine is played again, on a new rig; the last time counts whatever
 * the machine does.
 */
const TRIES_MAX = 4;

export async function runBatch(batch: Batch, tally: Tally, say: (line: string) => void): Promise<void> {
  let taken = 0;
  const take = (): readonly number[] => {
    const left = performance.now() < batch.until ? batch.schedules - taken : 0;
    // The last rigs carry less, so that the workers end together.
    const count = Math.min(SCHEDULES_PER_RIG, Math.ceil(left / batch.atOnce));
    taken += count;
    return Array.from({ length: count }, (_, i) => batch.firstSeed + taken - count + i);
  };
  // They are prepared one after the other: several brokers that start at once take the processors from each
  // other and are all late.
  let prepared: Promise<unknown> = Promise.resolve();
  const prepare = async (): Promise<SharedSurroundings> => {
    const own = prepared.then(
      async () =>
        await prepareSurroundings(() => undefined, {
          size: needsPair(batch.rows) ? 'pair' : 'one',
          brokerNodes: needsCluster(batch.rows) ? BROKER_NODES : 1,
        }),
    );
    prepared = own;
    return await own;
  };
  const work = async (): Promise<void> => {
    const shared = await prepare();
    if (batch.keep) shared.keep();
    try {
      for (let seeds = take(); seeds.length > 0; seeds = take())
        await runSeeds(shared, seeds, { ...batch, tally, say });
    } finally {
      await shared.stop();
    }
  };
  await Promise.all(Array.from({ length: batch.atOnce }, work));
}

async function runSeeds(
  shared: SharedSurroundings,
  seeds: readonly number[],
  { rows, until, keep, tally, say }: Batch & { readonly tally: Tally; readonly say: (line: string) => void },
): Promise<void> {
  let rig: Rig | undefined;
  let before: number[] = [];
  const renew = async (): Promise<void> => {
    await rig?.stop();
    rig = undefined;
    before = [];
  };
  const play = async (scenario: Scenario): Promise<Verdict | Error> => {
    try {
      rig ??= await startRigFor(scenario, shared, `rig-of-${scenario.name}`);
      return await playOn(rig, scenario, shared);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  };
  const playSeed = async (seed: number, tries: number): Promise<void> => {
    const scenario = shortScenario(seed, rows, tries);
    const startedAt = performance.now();
    const verdict = await play(scenario);
    const took = seconds(performance.now() - startedAt);
    const clean = isClean(verdict);
    if (clean) {
      tally.add(verdict);
      say(`seed ${seed}: kept, ${describe(verdict)}, ${took}`);
      if (!keep) shared.forget(scenario.name);
      before.push(seed);
      return;
    }
    shared.keep();
    const again = tries < TRIES_MAX && isStarved(verdict);
    say(`seed ${seed}: ${again ? 'late on a starved machine' : 'BROKEN'}, ${describe(verdict)}, ${took}`);
    explain(verdict, say);
    say(
      `  seeds before it on its rig: ${before.join(', ') || 'none'}; journals and logs stay in ${shared.folder}/${scenario.name}`,
    );
    await renew();
    if (!again) return tally.add(verdict);
    tally.starved();
    await playSeed(seed, tries + 1);
  };
  try {
    for (const seed of seeds) {
      if (performance.now() >= until) break;
      await playSeed(seed, 1);
    }
  } finally {
    await renew();
  }
}

function describe(verdict: Verdict | Error): string {
  if (verdict instanceof Error) return 'not judged';
  return `${verdict.history.items.length} items, a second of work took ${verdict.slowness.toFixed(1)} s`;
}

function explain(verdict: Verdict | Error, say: (line: string) => void): void {
  if (verdict instanceof Error) return say(`  it could not be judged: ${verdict.stack}`);
  for (const line of summarise(verdict)) say(`  ${line}`);
  for (const crash of verdict.crashes) say(`  crash: ${crash}`);
  say(describeViolations(verdict.violations));
}
