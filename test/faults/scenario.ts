/**
 * One run of the fault test: start everything, submit, do the faults at their times, let it heal and come to rest, then judge. The verdict
 * comes from the checker alone; what is counted here is for people.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Broker } from './broker.ts';
import type { Bundles } from './bundles.ts';
import { check } from './checker.ts';
import type { Violation } from './checker.ts';
import { loadHistory } from './history.ts';
import type { History } from './history.ts';
import { pileUp } from './pile-up.ts';
import type { PileUp } from './pile-up.ts';
import type { Cluster } from './postgres.ts';
import { RIG_TIMES, startRig } from './rig.ts';
import type { Rig, SimBehaviour } from './rig.ts';
import { describeFault } from './schedule.ts';
import type { TimedFault } from './schedule.ts';

export interface Scenario {
  readonly name: string;
  readonly seed: number;
  readonly runs: number;
  readonly runsPerSecond: number;
  readonly projectsPerHundred: number;
  /** A submission is repeated for this long at most; then its outcome stays unknown. */
  readonly patienceMs: number;
  readonly faults: readonly TimedFault[];
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
  /** How long everything has to come to rest after the last fault was healed. 0: it is not waited for, and runs need not have ended. */
  readonly restMs: number;
}

export interface Rest {
  /** `done`: nothing is left. `stuck`: something is, and nothing goes on any more. `late`: the time was up. */
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
  readonly tookMs: number;
}

export const SERVERS = 2;
export const GATEWAYS = 2;
/** A lease that is over may be worked under for so long by a runner that is awake: it learns it by its next heartbeat or by its own clock. */
const STALE_MS = RIG_TIMES.leaseMs;
const TOLERANCE_MS = 100;
/** After the last fault was healed: what was lost goes through a lease, the pause after several losses, and one more execution. */
const RECOVER_MS = 60_000;
const OFFERS_MAX = 20;

export async function runScenario(
  scenario: Scenario,
  { folder, bundles, broker, cluster, serverBundle, say }: Surroundings,
): Promise<Verdict> {
  const startedAt = performance.now();
  const { seed, runners, sims, databaseConnections } = scenario;
  const rig = await startRig({
    folder: join(folder, scenario.name),
    bundles,
    ...(serverBundle === undefined ? {} : { serverBundle }),
    broker,
    cluster,
    seed,
    servers: SERVERS,
    gateways: GATEWAYS,
    runners,
    otherRunners: scenario.otherRunners ?? 0,
    environments: scenario.environments ?? 0,
    times: RIG_TIMES,
    sims,
    databaseConnections,
  });
  try {
    say(
      `${scenario.name}: everything is up after ${seconds(performance.now() - startedAt)}; seed ${seed}, ${scenario.faults.length} faults`,
    );
    if (scenario.pileUp !== undefined) await pileUp(rig, join(folder, scenario.name), scenario.pileUp);
    await rig.startRunners();
    if (scenario.runs > 0) await stress(rig, scenario, say);
    await rig.journal.append({ event: 'healed' });
    const rest = await comeToRest(rig, scenario.restMs);
    await rig.stopRunners();
    const times = {
      ...RIG_TIMES,
      offersMax: OFFERS_MAX,
      toleranceMs: TOLERANCE_MS,
      staleMs: STALE_MS,
      recoverMs: RECOVER_MS,
    };
    const history = await loadHistory(rig.databaseUrl, join(folder, scenario.name), times);
    const violations = check(history, { atRest: scenario.restMs > 0 });
    return { violations, crashes: rig.crashes, history, rest, tookMs: performance.now() - startedAt };
  } finally {
    await rig.stop();
  }
}

/** Submits and does the faults side by side; ends when the submitter has and every fault is healed. */
async function stress(
  rig: Rig,
  { runs, runsPerSecond, projectsPerHundred, buildsPerHundred = 0, patienceMs, faults }: Scenario,
  say: (line: string) => void,
): Promise<void> {
  const submitter = await rig.startSubmitter({
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
    await rig.inject(fault);
  });
  const code = await submitter.exited();
  if (code !== 0) throw new Error(`the submitter ended with ${code}:\n${submitter.output().slice(-2_000)}`);
  say(`  ${seconds(performance.now() - startedAt).padStart(6)} all submitted`);
  await Promise.all(healing);
}

/** Without any change for so long, nothing will come: longer than an offer, a lease, and a sweep. */
const STUCK_MS = RIG_TIMES.leaseMs + RIG_TIMES.offerMs + 2_000;

async function comeToRest(rig: Rig, withinMs: number): Promise<Rest> {
  const startedAt = performance.now();
  let changedAt = startedAt;
  let last = '';
  for (;;) {
    const { items, reports, waiting, sign } = await rig.unfinished();
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
