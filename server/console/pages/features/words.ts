/** Says what the table tells about a feature, in plain words. */
import type {
  AffectedFeature,
  FeatureActor,
  Lifecycle,
  PlatformFeature,
  SwitchState,
  Visibility,
} from '@svc/sdk';

export type EffectiveState = 'on' | 'off' | 'blocked';

type Resolved = Pick<PlatformFeature, 'enabled' | 'reason'>;

export function effectiveState({ enabled, reason }: Resolved): EffectiveState {
  if (enabled) return 'on';
  return reason === 'dependency_disabled' || reason === 'cycle_detected' ? 'blocked' : 'off';
}

/** Its own switch says on, and yet it is not: moving the switch would change nothing. */
export const isBlocked = (feature: Resolved): boolean => effectiveState(feature) === 'blocked';

export const LIFECYCLE: Readonly<Record<Lifecycle, string>> = {
  planned: 'Planned',
  experimental: 'Experimental',
  preview: 'Preview',
  ga: 'GA',
  deprecated: 'Deprecated',
};

export const VISIBILITY: Readonly<Record<Visibility, string>> = { public: 'Public', internal: 'Internal' };

export const position = (state: SwitchState): 'on' | 'off' => (state === 'enabled' ? 'on' : 'off');

export const other = (state: SwitchState): SwitchState => (state === 'enabled' ? 'disabled' : 'enabled');

/** Why a switch cannot be moved; undefined when it can. */
export function lockReason({
  toggleable,
  environmentVariable,
  lifecycle,
}: PlatformFeature): string | undefined {
  if (toggleable) return undefined;
  if (environmentVariable !== undefined) return `Locked: ${environmentVariable} decides`;
  return lifecycle === 'planned' ? 'Locked: planned, not built yet' : 'Locked';
}

export function actorName({ kind, display, id }: FeatureActor): string {
  const name = display === '' ? id : display;
  return kind === 'environment' ? `the environment (${name})` : name;
}

/** Returns what a feature is before or after a change, such as `off, blocked by host.runners`. */
export function outcome(
  enabled: boolean,
  reason: AffectedFeature['reasonAfter'],
  blockedBy: readonly string[],
): string {
  if (enabled) return 'on';
  if (reason === 'dependency_disabled') return `blocked by ${blockedBy.join(' and ')}`;
  return reason === 'cycle_detected' ? 'blocked by its own dependencies' : 'off';
}
