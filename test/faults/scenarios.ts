/**
 * The loads and faults that are run: the great one, and one for each mutant that provokes what it does wrong
 * within seconds. The smaller ones hold nothing that the great one does not hold too; the sound server must
 * pass all of them.
 */
import type { MutantName } from './mutants.ts';
import { RIG_TIMES } from './rig.ts';
import { GATEWAYS, SERVERS, type Scenario } from './scenario.ts';
import { MIXED_ROWS, needsCluster, scheduleOf, type FaultName, type TimedFault } from './schedule.ts';
import type { SimBehaviour } from './stage.ts';

const { leaseMs, graceMs } = RIG_TIMES;

const SIMS: SimBehaviour = {
  slots: 10,
  workMs: 200,
  longShare: 0.02,
  lateShare: 0.03,
  lateMs: [leaseMs * 0.8, leaseMs * 1.5],
  failShare: 0.03,
  outputShare: 0.1,
};

const RUNNERS = 4;
const FAULT_EVERY_MS = 1_400;
const RUNS_PER_SECOND = 60;

function faultsOf(
  seed: number,
  durationMs: number,
  {
    everyMs,
    only,
    runners = RUNNERS,
  }: { readonly everyMs: number; readonly only?: readonly FaultName[]; readonly runners?: number },
): TimedFault[] {
  return scheduleOf({
    seed,
    durationMs,
    everyMs,
    servers: SERVERS,
    gateways: GATEWAYS,
    runners,
    leaseMs,
    ...(only === undefined ? {} : { only }),
  });
}

export function greatScenario(seed: number, runs: number): Scenario {
  return {
    name: `faults-${seed}`,
    seed,
    runs,
    runsPerSecond: RUNS_PER_SECOND,
    projectsPerHundred: 5,
    patienceMs: 60_000,
    faults: faultsOf(seed, (runs / RUNS_PER_SECOND) * 1_000, { everyMs: FAULT_EVERY_MS }),
    runners: RUNNERS,
    sims: SIMS,
    databaseConnections: 10,
    restMs: 90_000,
  };
}

const SHORT = { runs: 150, runsPerSecond: 40, faultEveryMs: 1_200 };

/** One fault, and longer than a cluster takes to notice it. */
const CLUSTER = { runs: 120, runsPerSecond: 8, faultEveryMs: 15_000 };

/**
 * A few seconds under three faults of all kinds, or of those that are named; a second team works beside the
 * first.
 */
export function shortScenario(seed: number, rows: readonly FaultName[] = MIXED_ROWS, tries = 1): Scenario {
  const { runs, runsPerSecond, faultEveryMs } = needsCluster(rows) ? CLUSTER : SHORT;
  return {
    // Two scenarios of one seed must not share their journals, and their folder has this name.
    name: ['short', seed, ...(rows === MIXED_ROWS ? [] : rows), ...(tries === 1 ? [] : [`try${tries}`])].join(
      '-',
    ),
    seed,
    runs,
    runsPerSecond,
    projectsPerHundred: 5,
    patienceMs: 60_000,
    faults: faultsOf(seed, (runs / runsPerSecond) * 1_000, { everyMs: faultEveryMs, only: rows }),
    runners: RUNNERS,
    otherRunners: 1,
    environments: 6,
    buildsPerHundred: 12,
    // Each slot polls, which is most of what an idle rig does.
    sims: { ...SIMS, slots: 6, buildSlots: 2 },
    databaseConnections: 10,
    restMs: 90_000,
  };
}

/** Returns what each mutant is met with. `restMs` bounds how long lost work is waited for. */
export function mutantScenario(name: MutantName, seed: number): Scenario {
  const common = {
    name: `${name}-${seed}`,
    seed,
    projectsPerHundred: 0,
    patienceMs: 8_000,
    databaseConnections: 10,
    restMs: 6_000,
  };
  switch (name) {
    case 'no-epoch-check':
      // One runner gets back what it lost, and its late reports come while it holds the next grant.
      return {
        ...common,
        runs: 120,
        runsPerSecond: 60,
        faults: faultsOf(seed, 3_000, { everyMs: 1_500, only: ['gateway', 'exchanges-deleted'], runners: 1 }),
        runners: 1,
        sims: {
          ...SIMS,
          slots: 8,
          longShare: 0.1,
          lateShare: 0.3,
          lateMs: [leaseMs, leaseMs * 2],
          outputShare: 0.3,
        },
      };
    case 'early-ack':
      // Now and then a server dies in the middle of some grants.
      return {
        ...common,
        runs: 300,
        runsPerSecond: 30,
        faults: [1_500, 5_000, 8_500].map((atMs, i) => ({
          kind: 'kill',
          role: 'server',
          index: (seed + i) % SERVERS,
          downMs: 100,
          atMs,
        })),
        runners: RUNNERS,
        sims: { ...SIMS, workMs: 30, longShare: 0, lateShare: 0, outputShare: 0 },
        // Long enough to tell what is stuck from what is late.
        restMs: 40_000,
      };
    case 'scan-then-update':
      // Reports come when the lease has just ended and the sweepers have just looked.
      return {
        ...common,
        runs: 200,
        runsPerSecond: 80,
        faults: faultsOf(seed, 3_000, { everyMs: 1_500, only: ['exchanges-deleted', 'gateway'] }),
        runners: 2,
        sims: {
          ...SIMS,
          slots: 8,
          longShare: 0,
          lateShare: 0.4,
          lateMs: [leaseMs - 200, leaseMs + graceMs + 800],
        },
      };
    case 'asynchronous-standby':
      return {
        ...common,
        runs: 200,
        runsPerSecond: 60,
        asynchronous: true,
        faults: [{ kind: 'promote', lagMs: 1_000, downMs: 100, atMs: 1_000 }],
        runners: RUNNERS,
        sims: { ...SIMS, longShare: 0, lateShare: 0, outputShare: 0 },
      };
    case 'no-generation':
      // There is more work than runners, so that what is granted in the time that is lost had been submitted
      // before.
      return {
        ...common,
        runs: 150,
        runsPerSecond: 60,
        asynchronous: true,
        faults: [{ kind: 'promote', lagMs: 1_500, downMs: 100, atMs: 2_500 }],
        runners: RUNNERS,
        sims: { ...SIMS, slots: 4, workMs: 1_000, longShare: 0, lateShare: 0, failShare: 0, outputShare: 0 },
        restMs: 20_000,
      };
    case 'shared-connection':
      // Connections are full to the brim when a transaction comes, others roll back, and all are cut soon
      // after. What is acknowledged must be there; nobody executes it.
      return {
        ...common,
        runs: 0,
        runsPerSecond: 1,
        databaseConnections: 2,
        pileUp: { rounds: 4, depth: 198, behind: 60 },
        faults: [],
        runners: 0,
        sims: SIMS,
        restMs: 0,
      };
  }
}

/** The same load and faults for a server that is meant to pass: it gets the time to end everything. */
export function soundScenario(name: MutantName, seed: number): Scenario {
  const scenario = mutantScenario(name, seed);
  const restMs = scenario.restMs === 0 ? 0 : 90_000;
  return { ...scenario, name: `sound-${scenario.name}`, restMs, asynchronous: false };
}
