/** What the features of the engine share, and the jobs that keep waiting work moving. */
import type { Config } from '../../config.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';
import type { Feature, System } from '../../kit/feature.ts';
import { eachStep, startLoop } from '../../base/loop.ts';
import type { Loop } from '../../base/loop.ts';
import { startLogRetention } from './log-retention.ts';
import { startNonceRotation } from './nonces.ts';
import { rerouteStrays } from './pool.ts';
import { startRelay } from './relay.ts';
import { purgeRoutes } from './routes.ts';
import { checkWorkSettings, defaultWorkSettings } from './settings.ts';
import type { WorkSettings } from './settings.ts';
import { createSubmit } from './submit.ts';
import type { Submit } from './submit.ts';
import { startSweeper } from './sweeper.ts';
import { beginMissedTurns, settleTurns } from './turns.ts';
import { createWake } from './wake.ts';
import type { Wake } from './wake.ts';

const STRAYS_EVERY_MS = 30_000;

export interface Engine {
  readonly settings: WorkSettings;
  readonly submit: Submit;
  readonly wake: Wake;
  /** Something is due for a hint. The relay of another process looks every second. */
  wakeRelay(): void;
}

export function createEngine(system: System, gate: FeatureGate): Feature & { readonly engine: Engine } {
  const { config, db, queue, onError } = system;
  const { sql } = db;
  const settings = workSettings(config, gate);
  const wake = createWake();
  let relay: Loop | undefined;
  const wakeRelay = (): void => relay?.wake();
  const onSwept = (items: ReadonlyArray<{ readonly id: string }>): void => {
    wakeRelay();
    for (const { id } of items) wake.notify(id);
  };
  return {
    engine: {
      settings,
      submit: createSubmit({ sql, queue, settings, onError }),
      wake,
      wakeRelay,
    },
    loops: [
      () => (relay = startRelay({ sql, queue, settings, onError })),
      () => startSweeper({ sql, settings, onSwept, onError }),
      () => startNonceRotation(sql, onError),
      () => startLogRetention(sql, config.logRetentionDays, onError),
      () =>
        startLoop({
          everyMs: STRAYS_EVERY_MS,
          run: async () => {
            const steps = [rerouteStrays, beginMissedTurns, settleTurns];
            await eachStep(
              steps.map((step) => async () => await step(sql)),
              onError,
            );
          },
          onError,
        }),
    ],
    purges: [async () => await purgeRoutes(sql)],
  };
}

function workSettings(config: Config, gate: FeatureGate): WorkSettings {
  return checkWorkSettings({
    ...defaultWorkSettings,
    ...config.dispatch,
    strikesMax: config.strikesMax,
    queuedMax: config.limits.queuedRunsPerTeamMax,
    feedServicePool: config.jobRunnerEnabled,
    runnersOn: () => gate.state('host.runners') === 'open',
    minVersion: config.minVersion,
    recommendedVersion: config.recommendedVersion,
  });
}
