/** The features of the engine share this, with the jobs that keep waiting work moving. */
import type { SettingsOf } from '@svc/proto/process/settings.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { agentsFeature, agentWork } from '../../access/agents/index.ts';
import { teamsFeature, teamWork } from '../../access/teams/index.ts';
import { environmentsFeature } from '../../apps/environments/index.ts';
import { hostingFeature, hostParts } from '../../apps/hosting/index.ts';
import { declareFeature, fill, filledOnce, port } from '../../kit/feature.ts';
import { switchesFeature } from '../../switches/index.ts';
import { evidenceFeature } from '../evidence/index.ts';
import { limitsFeature } from '../limits/index.ts';
import { createAgentRuns } from './agent-runs.ts';
import { createAgentWork } from './agents.ts';
import { createDispatch, type DispatchDeps, type TakeHostLogs } from './dispatch.ts';
import { createTeamWork } from './team-work.ts';
import { settings as workSettings } from './work.settings.ts';
import { eachStep, startLoop, type Loop } from '../../base/loop.ts';
import { startLogRetention } from './log-retention.ts';
import { startNonceRotation } from './nonces.ts';
import { rerouteStrays } from './pool.ts';
import { startRelay } from './relay.ts';
import { purgeRoutes } from './routes.ts';
import { checkWorkSettings, defaultWorkSettings, type WorkSettings } from './settings.ts';
import { createSubmit, type Submit } from './submit.ts';
import { startSweeper } from './sweeper.ts';
import { beginMissedTurns, settleTurns } from './turns.ts';
import { createWake, type Wake } from './wake.ts';

const STRAYS_EVERY_MS = 30_000;

export interface Engine {
  readonly settings: WorkSettings;
  readonly submit: Submit;
  readonly wake: Wake;
  /** Something is due for a hint. The relay of another process looks every second. */
  wakeRelay(): void;
}

/** Runners enroll a machine, builds make an offer: dispatch hands both on. */
export const enrollPort = port<DispatchDeps['enroll']>('enrollment of runners');
/** What machines have logged is kept by a feature above. */
export const hostLogsPort = port<TakeHostLogs>('logs of machines');
export const buildOfferPort = port<DispatchDeps['buildOffer']>('offers of builds');

/** Settings that contradict each other are refused when they are read. */
function checkTimes({ dispatch }: SettingsOf<typeof workSettings>, problem: (text: string) => void): void {
  if (dispatch.leaseMs < 3 * dispatch.heartbeatMs)
    problem(
      `LEASE_MS is ${dispatch.leaseMs} and HEARTBEAT_MS ${dispatch.heartbeatMs}, expected a lease of at least three heartbeats`,
    );
  if (dispatch.silentMs < 2 * dispatch.heartbeatMs)
    problem(
      `RUNNER_SILENT_MS is ${dispatch.silentMs} and HEARTBEAT_MS ${dispatch.heartbeatMs}, expected at least two heartbeats`,
    );
}

export const workFeature = declareFeature({
  name: 'work',
  on: {
    switches: switchesFeature,
    teams: teamsFeature,
    agents: agentsFeature,
    environments: environmentsFeature,
    hosting: hostingFeature,
    limits: limitsFeature,
    evidence: evidenceFeature,
  },
  contracts: ['runner', 'dispatch'],
  settings: workSettings,
  check: (settings, { problem }) => checkTimes(settings, problem),
  prefixes: ['lse'],
  owns: ['nonces', 'nonce_store'],
  reads: ['work_items'],
  start: (system, { switches: { switches, feedServicePool }, limits: { limits } }, of) => {
    const { db, queue, onError } = system;
    const { sql } = db;
    const { dispatch: times, strikesMax, minVersion, recommendedVersion, logRetentionDays } = of;
    const settings = checkWorkSettings({
      ...defaultWorkSettings,
      ...times,
      strikesMax,
      minVersion,
      recommendedVersion,
      feedServicePool,
      queuedMax: limits.queuedRunsPerTeamMax,
      runnersOn: () => switches.gate.state('host.runners') === 'open',
    });
    const wake = createWake();
    let relay: Loop | undefined;
    const wakeRelay = (): void => relay?.wake();
    const onSwept = (items: ReadonlyArray<{ readonly id: string }>): void => {
      wakeRelay();
      for (const { id } of items) wake.notify(id);
    };
    const submit = createSubmit({ sql, queue, settings, onError });
    const engine: Engine = { settings, submit, wake, wakeRelay };
    return {
      engine,
      dispatch: createDispatch({
        ...system,
        ...engine,
        features: switches,
        enroll: async (...asked) => await filledOnce(system, enrollPort)(...asked),
        hostParts: () => system.filled(hostParts),
        takeHostLogs: async (input) => await filledOnce(system, hostLogsPort)(input),
        buildOffer: async (...asked) => await filledOnce(system, buildOfferPort)(...asked),
      }),
      loops: [
        () => (relay = startRelay({ sql, queue, settings, onError })),
        () => startSweeper({ sql, settings, onSwept, onError }),
        () => startNonceRotation(sql, onError),
        () => startLogRetention(sql, logRetentionDays, onError),
        () =>
          startLoop({
            everyMs: STRAYS_EVERY_MS,
            run: async () => await lookForStrays(sql, onError),
            onError,
          }),
      ],
      purges: [async () => await purgeRoutes(sql)],
      services: [createAgentRuns()],
      fills: [
        fill(teamWork, createTeamWork({ ...system, ...engine })),
        fill(agentWork, createAgentWork({ ...system, wake })),
      ],
    };
  },
});

async function lookForStrays(sql: SqlTag, onError: (error: unknown) => void): Promise<void> {
  const steps = [rerouteStrays, beginMissedTurns, settleTurns];
  await eachStep(
    steps.map((step) => async () => await step(sql)),
    onError,
  );
}
