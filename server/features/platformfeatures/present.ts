/** Features and changes as the contract shows them. */
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';
import {
  PlatformFeatureSchema,
  ResolvedResponseSchema,
} from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import type {
  AffectedFeatureSchema,
  FeatureChangeSchema,
  PlatformFeature,
  ResolvedResponse,
} from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import type { Affected, Change } from './change.ts';
import { decidingVariable, isToggleable } from './effective.ts';
import type { Effective, Rules } from './effective.ts';
import { publicFeatures } from './resolve.ts';
import type { ResolvedFeature, Snapshot } from './snapshot.ts';
import { ACTOR_KINDS, LIFECYCLES, REASONS, SOURCES, STATES, VISIBILITIES } from './words.ts';

export function presentAffected(affected: Affected): MessageInitShape<typeof AffectedFeatureSchema> {
  return {
    key: affected.key,
    enabledBefore: affected.enabledBefore,
    enabledAfter: affected.enabledAfter,
    reasonBefore: REASONS[affected.reasonBefore],
    reasonAfter: REASONS[affected.reasonAfter],
    blockedBy: [...affected.blockedBy],
  };
}

export function presentChange(change: Change): MessageInitShape<typeof FeatureChangeSchema> {
  const { actor } = change;
  return {
    id: change.id,
    at: timestampFromDate(change.at),
    key: change.key,
    from: STATES[change.from],
    to: STATES[change.to],
    revisionFrom: change.revisionFrom,
    revisionTo: change.revisionTo,
    reason: change.reason,
    actor: { kind: ACTOR_KINDS[actor.kind], id: actor.id, display: actor.display },
    source: SOURCES[change.source],
    requestId: change.requestId,
    affected: change.affected.map(presentAffected),
  };
}

export function presentFeature(
  definition: FeatureDefinition,
  effective: Effective,
  rules: Rules,
): PlatformFeature {
  const { key } = definition;
  const resolved = effective.snapshot.get(key);
  const stored = effective.stored.switches.get(key);
  const state = effective.states.get(key) ?? definition.default;
  const variable = decidingVariable(definition, rules.variables);
  return create(PlatformFeatureSchema, {
    key,
    description: definition.description,
    owner: definition.owner,
    lifecycle: LIFECYCLES[definition.lifecycle],
    visibility: VISIBILITIES[definition.visibility],
    dependsOn: [...(definition.dependsOn ?? [])],
    state: STATES[state],
    defaultState: STATES[definition.default],
    enabled: resolved.enabled,
    reason: REASONS[resolved.reason],
    blockedBy: [...resolved.blockedBy],
    rootCauses: [...resolved.rootCauses],
    toggleable: isToggleable(definition, rules, state),
    ...(variable === undefined ? {} : { environmentVariable: variable }),
    revision: stored?.revision ?? 0,
    ...(stored === undefined ? {} : { lastChange: presentChange(stored.lastChange) }),
  });
}

/** What staff see: every feature, and why. */
export function presentForStaff({ features }: Snapshot): ResolvedResponse {
  const entry = (feature: ResolvedFeature) => ({
    enabled: feature.enabled,
    reason: REASONS[feature.reason],
    blockedBy: [...feature.blockedBy],
    ...(feature.lifecycle === undefined ? {} : { lifecycle: LIFECYCLES[feature.lifecycle] }),
    ...(feature.visibility === undefined ? {} : { visibility: VISIBILITIES[feature.visibility] }),
  });
  return create(ResolvedResponseSchema, {
    features: Object.fromEntries(features.map((feature) => [feature.key, entry(feature)])),
  });
}

/** What everybody sees: nothing but the names of what they can use. */
export function presentForEverybody(snapshot: Snapshot): ResolvedResponse {
  const shown = publicFeatures(snapshot);
  return create(ResolvedResponseSchema, {
    features: Object.fromEntries(shown.map(({ key }) => [key, { enabled: true }])),
  });
}
