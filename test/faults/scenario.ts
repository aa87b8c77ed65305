/**
 * This is one run of the fault test: it starts everything, submits, does the faults at their times, lets it
 * heal and come to rest, then judges. The verdict comes from the checker alone; what is counted here is for
 * people.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Broker } from './broker.ts';
import type { Bundles } from './bundles.ts';
import { check } from './checker.ts';
import type { Violation } from './findings.ts';
import { loadHistory, type History } from './history.ts';
import { pileUp, type PileUp } from './pile-up.ts';
import type { Cluster } from './postgres.ts';
import { RIG_TIMES, startRig, type Rig } from './rig.ts';
import { describeFault, type TimedFault } from './schedule.ts';
import type { SimBehaviour, Stage } from './stage.ts';

export interface Scenario {
  readonly name: string;
  readonly seed: number;
  readonly runs: number;
  readonly runsPerSecond: number;
  readonly projectsPerHundred: number;
  /** A submission is repeated for this long at most; then its outcome stays unknown. */
  readonly patienceMs: number;
  readonly faults: readonly TimedFault[];
  /** Commits do not wait for the standby. */
  readonly asynchronous?: boolean;
  /** Comes first, before there are any runners. */
  readonly pileUp?: PileUp;
  readonly runners: number;
  /** So many of them are of another team, which submits too. */
  readonly otherRunners?: number;
  /** Builds are submitted for so many environments. */
  readonly environments?: number;
  readonly buildsPerHundred?: number;
  readonly sims: SimBehaviour;
  readonly databaseConnections: number;
  /**
   * How long everything has to come to rest after the last fault was healed. 0: it is not waited for, and
   * runs need not have ended.
   */
  readonly restMs: number;
}

export interface Rest {
  /**
   * `done`: nothing is left. `stuck`: something is, and nothing goes on any more. `late`: the time was up.
   */
  readonly how: 'done' | 'stuck' | 'late';
  readonly ms: number;
}

export interface Surroundings {
  readonly folder: string;
  readonly bundles: Bundles;
  readonly broker: Broker;
  readonly cluster: Cluster;
  readonly serverBundle?: string;
  readonly say: (line: string) => void;
}

export interface Verdict {
  readonly violations: readonly Violation[];
  readonly crashes: readonly string[];
  readonly history: History;
  readonly rest: Rest;
  /** That were to be submitted. */
  readonly runs: number;
  readonly tookMs: number;
  /**
   * Seconds that a second of this process's work took: what it waited for a processor and what it ran, by
   * what it ran.
   */
  readonly slowness: number;
}

export const SERVERS = 2;
export const GATEWAYS = 2;
/**
 * A lease that is over may be worked under for so long by a runner that is awake: it learns it by its next
 * heartbeat or by its own clock.
 */
const STALE_MS = RIG_TIMES.leaseMs;
const TOLERANCE_MS = 100;
/**
 * After the last fault was healed: what was lost goes through a lease, the pause after several losses, and
 * one more execution.
 */
const RECOVER_MS = 60_000;
const TIMES = {
  ...RIG_TIMES,
  offersMax: 20,
  toleranceMs: TOLERANCE_MS,
  staleMs: STALE_MS,
  recoverMs: RECOVER_MS,
};

/** The scenario is run on a rig of its own. */
export async function runScenario(scenario: Scenario, surroundings: Surroundings): Promise<Verdict> {
  await surroundings.cluster.pair?.commitsWait(scenario.asynchronous !== true);
  const rig = await startRigFor(scenario, surroundings, `${scenario.name}-rig`);
  try {
    return await playOn(rig, scenario, surroundings);
  } finally {
    await rig.stop();
  }
}

export async function startRigFor(
  { runners, databaseConnections }: Scenario,
  { folder, bundles, serverBundle, broker, cluster }: Surroundings,
  name: string,
): Promise<Rig> {
  return await startRig({
    bundles,
    ...(serverBundle === undefined ? {} : { serverBundle }),
    broker,
    cluster,
    folder: join(folder, name),
    servers: SERVERS,
    // Only runners speak to them.
    gateways: runners === 0 ? 0 : GATEWAYS,
    runners,
    times: RIG_TIMES,
    databaseConnections,
  });
}

/** The scenario is played on a rig that is up, and that earlier scenarios may have lived through. */
export async function playOn(
  rig: Rig,
  scenario: Scenario,
  { folder: parent, say }: Surroundings,
): Promise<Verdict> {
  const startedAt = performance.now();
  const before = processorTimes();
  const folder = join(parent, scenario.name);
  const { seed, sims, otherRunners = 0, environments = 0 } = scenario;
  const stage = await rig.open({ folder, seed, otherRunners, environments, sims });
  say(`${scenario.name}: seed ${seed}, ${scenario.faults.length} faults`);
  if (scenario.pileUp !== undefined) await pileUp(stage, folder, scenario.pileUp);
  await stage.startRunners();
  if (scenario.runs > 0) await stress(stage, scenario, say);
  await stage.journal.append({ event: 'healed' });
  const rest = await comeToRest(stage, scenario.restMs);
  await stage.stopRunners();
  const history = await loadHistory(rig.databaseUrl, folder, { times: TIMES, judged: rig.judged });
  const violations = check(history, { atRest: scenario.restMs > 0 });
  if (violations.length > 0) writeFileSync(join(folder, 'history.json'), JSON.stringify(history, withMaps));
  const tookMs = performance.now() - startedAt;
  const slowness = slownessSince(before);
  return { violations, crashes: rig.takeCrashes(), history, rest, runs: scenario.runs, tookMs, slowness };
}

/**
 * Returns how long the main thread ran and waited, in nanoseconds. Waiting is being able to run and not being
 * let. Both are zero where the system does not say.
 */
function processorTimes(): { readonly ran: number; readonly waited: number } {
  const [ran = 0, waited = 0] = existsSync(SCHEDSTAT)
    ? readFileSync(SCHEDSTAT, 'utf8').split(' ').map(Number)
    : [];
  return { ran, waited };
}
const SCHEDSTAT = '/proc/self/schedstat';

function slownessSince(before: ReturnType<typeof processorTimes>): number {
  const { ran, waited } = processorTimes();
  return 1 + (waited - before.waited) / Math.max(1, ran - before.ran);
}

const withMaps = (_: string, value: unknown): unknown =>
  value instanceof Map ? Object.fromEntries(value) : value;

/** Submits and does the faults side by side; ends when the submitter has and every fault is healed. */
async function stress(
  stage: Stage,
  { runs, runsPerSecond, projectsPerHundred, buildsPerHundred = 0, patienceMs, faults }: Scenario,
  say: (line: string) => void,
): Promise<void> {
  const submitter = await stage.startSubmitter({
    runs,
    runsPerSecond,
    projectsPerHundred,
    buildsPerHundred,
    patienceMs,
  });
  const startedAt = performance.now();
  const healing = faults.map(async (fault) => {
    await pause(Math.max(0, fault.atMs - (performance.now() - startedAt)));
    say(`  ${seconds(performance.now() - startedAt).padStart(6)} ${describeFault(fault)}`);
    await stage.inject(fault);
  });
  const submitted = async (): Promise<void> => {
    const code = await submitter.exited();
    if (code !== 0) throw new Error(`the submitter ended with ${code}:\n${submitter.output().slice(-2_000)}`);
    say(`  ${seconds(performance.now() - startedAt).padStart(6)} all submitted`);
  };
  await Promise.all([submitted(), ...healing]);
}

/**
 * Without any change for so long, nothing will come: longer than an offer, a lease, and a sweep on a busy
 * machine.
 */
const STUCK_MS = RIG_TIMES.leaseMs + RIG_TIMES.offerMs + 6_000;

async function comeToRest(stage: Stage, withinMs: number): Promise<Rest> {
  const startedAt = performance.now();
  let changedAt = startedAt;
  let last = '';
  for (;;) {
    const { items, reports, waiting, sign } = await stage.unfinished();
    const atMs = performance.now();
    if (sign !== last || waiting > 0) changedAt = atMs;
    last = sign;
    const ms = atMs - startedAt;
    if (items === 0 && reports === 0) return { how: 'done', ms };
    if (atMs - changedAt > STUCK_MS) return { how: 'stuck', ms };
    if (ms > withinMs) return { how: 'late', ms };
    await pause(100);
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
