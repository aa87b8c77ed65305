/** The resolver yields this: every feature's effective state, frozen for one state of all switches. */
import type {
  FeatureDefinition,
  Lifecycle,
  SwitchState,
  Visibility,
} from '@svc/proto/features/definition.ts';
import type { FeatureKey } from '@svc/proto/features/manifest.ts';

export type FeatureReason =
  | 'enabled'
  | 'disabled'
  | 'dependency_disabled'
  | 'unknown_feature'
  | 'cycle_detected';

export interface ResolvedFeature {
  readonly key: string;
  readonly enabled: boolean;
  readonly reason: FeatureReason;
  /**
   * Direct dependencies that are not enabled, in the order of the manifest; empty unless a dependency or a
   * cycle is the reason.
   */
  readonly blockedBy: readonly string[];
  /**
   * Ends of the chains of `blockedBy`: features whose own switch is off, unknown keys, members of cycles.
   * They stand in the order of the manifest.
   */
  readonly rootCauses: readonly string[];
  /** It is absent for an unknown key. */
  readonly lifecycle?: Lifecycle;
  readonly visibility?: Visibility;
}

/** Position of every switch that is not where its default says, or all of them. */
export type SwitchStates = ReadonlyMap<string, SwitchState>;

export interface Snapshot {
  /** Features in the order of the manifest. */
  readonly features: readonly ResolvedFeature[];
  /** The gate's check: one look-up. */
  isEnabled(key: FeatureKey): boolean;
  /** Total: an unknown key answers `unknown_feature`. */
  get(key: string): ResolvedFeature;
}

export type Resolve = (manifest: readonly FeatureDefinition[], states: SwitchStates) => Snapshot;
