/** This file starts platform features, which say what is switched on, and why something is not. */
import { declareFeature } from '../kit/feature.ts';
import { settings } from './platformfeatures.settings.ts';
import { addFeatureMetrics } from './metrics.ts';
import { createOfrep } from './ofrep.ts';
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';
import { MANIFEST, type FeatureKey } from '@svc/proto/features/manifest.ts';
import type { Clock } from '../base/clock.ts';
import type { Database } from '../base/db/index.ts';
import type { FeatureGate } from '../kit/feature-gate.ts';
import type { Secrets } from '../base/secrets.ts';
import { applyEnvironment } from './boot.ts';
import { createCompanion } from './companion.ts';
import { startFollowing } from './follow.ts';
import { assertManifest } from './lint.ts';
import { createPlatformFeaturesService } from './service.ts';
import type { Snapshot } from './snapshot.ts';

export interface PlatformFeaturesDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'mac'>;
  /**
   * Values of this process's environment, by the names of variables in the manifest; a variable that is not
   * set has its default.
   */
  readonly variables: Readonly<Record<string, boolean>>;
  /** It is true when this process has the role `worker`, whose environment decides `always` features. */
  readonly worker: boolean;
  readonly companionUrl: string | undefined;
  /** Tests have their own. */
  readonly manifest?: readonly FeatureDefinition[];
  onError(error: unknown): void;
}

export type PlatformFeatures = Awaited<ReturnType<typeof startPlatformFeatures>>;

export async function startPlatformFeatures(deps: PlatformFeaturesDeps) {
  const { db, clock, variables, companionUrl, onError, manifest = MANIFEST } = deps;
  assertManifest(manifest);
  const rules = { manifest, variables };
  if (deps.worker) await applyEnvironment(db, clock, rules);
  const follower = await startFollowing({ db, rules, onError });
  const handlers = createPlatformFeaturesService({
    rules,
    follower,
    companion: createCompanion({ url: companionUrl, clock }),
  });
  // A gate on a key that the manifest lacks does not compile; were there one, it would be shut.
  const gate: FeatureGate = { state: (key) => follower.view().gates.get(key) ?? 'hidden' };
  return {
    gate,
    handlers,
    /** Returns the present one, and never waits. */
    snapshot: (): Snapshot => follower.view().snapshot,
    isEnabled: (key: FeatureKey): boolean => follower.view().snapshot.isEnabled(key),
    /** Grows with each change of a switch. */
    revision: (): number => follower.view().revision,
    /** Calls a listener after each new snapshot. Returns the function that ends this. */
    onChange: follower.onChange,
    stop: follower.stop,
  };
}

/** The switches, with their own protocol for clients that others wrote (OFREP). */
export const switchesFeature = declareFeature({
  name: 'platformfeatures',
  settings,
  prefixes: ['fch'],
  start: async (system, _on, { runnersEnabled, jobRunnerEnabled, companionUrl }) => {
    const { config, registry } = system;
    const switches = await startPlatformFeatures({
      ...system,
      variables: { RUNNERS_ENABLED: runnersEnabled, JOB_RUNNER_ENABLED: jobRunnerEnabled },
      worker: config.roles.worker,
      companionUrl,
    });
    addFeatureMetrics(registry, switches);
    return {
      switches,
      feedServicePool: jobRunnerEnabled,
      services: [switches.handlers],
      endpoints: ({ admit }) => createOfrep({ admit, snapshot: switches.snapshot }),
      stop: switches.stop,
    };
  },
});
