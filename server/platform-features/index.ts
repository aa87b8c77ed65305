/** Platform features: what is switched on, and why not. */
import type { FeatureKey } from '@svc/proto/features/manifest.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { PlatformFeaturesService } from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import type { Clock } from '../platform/clock.ts';
import type { Ctx } from '../platform/context.ts';
import type { Database } from '../platform/db/index.ts';
import type { FeatureGate } from '../platform/feature-gate.ts';
import type { Snapshot } from './snapshot.ts';

export type { FeatureReason, ResolvedFeature, Snapshot } from './snapshot.ts';

export interface PlatformFeaturesDeps {
  readonly db: Database;
  readonly clock: Clock;
  /** What this process's environment says, by the names of variables in the manifest; a variable that is not set has its default. */
  readonly variables: Readonly<Record<string, boolean>>;
  /** Whether this process has the role `worker`, whose environment decides `always` features. */
  readonly worker: boolean;
  readonly companionUrl: string | undefined;
  onError(error: unknown): void;
}

export interface PlatformFeatures {
  readonly gate: FeatureGate;
  readonly handlers: Handlers<Ctx>;
  /** The present one; never waits. */
  snapshot(): Snapshot;
  isEnabled(key: FeatureKey): boolean;
  /** Grows with each change of a switch. */
  revision(): number;
  /** Runs after each new snapshot. Returns the function that ends it. */
  onChange(listener: () => void): () => void;
  stop(): Promise<void>;
}

export async function startPlatformFeatures(deps: PlatformFeaturesDeps): Promise<PlatformFeatures> {
  const off = deps.variables['RUNNERS_ENABLED'] === false;
  const missing = (): never => {
    throw apiError('unavailable', 'not built yet');
  };
  return {
    gate: { state: (key) => (key === 'host.runners' && off ? 'hidden' : 'open') },
    handlers: implement(PlatformFeaturesService, {
      resolved: missing,
      list: missing,
      get: missing,
      history: missing,
      setState: missing,
      watch: missing,
      companion: missing,
    }),
    snapshot: missing,
    isEnabled: () => true,
    revision: () => 0,
    onChange: () => () => undefined,
    stop: async () => undefined,
  };
}
