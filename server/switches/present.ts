/** Features as the contract shows them. */
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';
import {
  PlatformFeatureSchema,
  ResolvedResponseSchema,
  type PlatformFeature,
  type ResolvedResponse,
} from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import { shown } from '../kit/resource/index.ts';
import { decidingVariable, isToggleable, type Effective, type Rules } from './effective.ts';
import { publicFeatures } from './resolve.ts';
import type { Snapshot } from './snapshot.ts';

export function presentFeature(
  definition: FeatureDefinition,
  effective: Effective,
  rules: Rules,
): PlatformFeature {
  const { key } = definition;
  const stored = effective.stored.switches.get(key);
  const state = effective.states.get(key) ?? definition.default;
  return shown(PlatformFeatureSchema, {
    ...definition,
    ...effective.snapshot.get(key),
    state,
    defaultState: definition.default,
    toggleable: isToggleable(definition, rules, state),
    environmentVariable: decidingVariable(definition, rules.variables),
    revision: stored?.revision ?? 0,
    lastChange: stored?.lastChange,
  });
}

/** Shows staff every feature, and why it is as it is. */
export function presentForStaff({ features }: Snapshot): ResolvedResponse {
  return shown(ResolvedResponseSchema, {
    features: Object.fromEntries(features.map((feature) => [feature.key, feature])),
  });
}

/** Shows everybody nothing but the names of what they can use. */
export function presentForEverybody(snapshot: Snapshot): ResolvedResponse {
  return shown(ResolvedResponseSchema, {
    features: Object.fromEntries(publicFeatures(snapshot).map(({ key }) => [key, { enabled: true }])),
  });
}
