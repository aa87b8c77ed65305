/** Words of the manifest and of the tables, as the contract numbers them. */
import type { Lifecycle, SwitchState, Visibility } from '@svc/proto/features/definition.ts';
import * as pb from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import type { ActorKind, ChangeSource } from './change.ts';
import type { FeatureReason } from './snapshot.ts';

export const STATES: Readonly<Record<SwitchState, pb.SwitchState>> = {
  enabled: pb.SwitchState.ENABLED,
  disabled: pb.SwitchState.DISABLED,
};

export const REASONS: Readonly<Record<FeatureReason, pb.FeatureReason>> = {
  enabled: pb.FeatureReason.ENABLED,
  disabled: pb.FeatureReason.DISABLED,
  dependency_disabled: pb.FeatureReason.DEPENDENCY_DISABLED,
  unknown_feature: pb.FeatureReason.UNKNOWN_FEATURE,
  cycle_detected: pb.FeatureReason.CYCLE_DETECTED,
};

export const LIFECYCLES: Readonly<Record<Lifecycle, pb.Lifecycle>> = {
  planned: pb.Lifecycle.PLANNED,
  experimental: pb.Lifecycle.EXPERIMENTAL,
  preview: pb.Lifecycle.PREVIEW,
  ga: pb.Lifecycle.GA,
  deprecated: pb.Lifecycle.DEPRECATED,
};

export const VISIBILITIES: Readonly<Record<Visibility, pb.Visibility>> = {
  public: pb.Visibility.PUBLIC,
  internal: pb.Visibility.INTERNAL,
};

export const ACTOR_KINDS: Readonly<Record<ActorKind, pb.ActorKind>> = {
  user: pb.ActorKind.USER,
  api_key: pb.ActorKind.API_KEY,
  environment: pb.ActorKind.ENVIRONMENT,
};

export const SOURCES: Readonly<Record<ChangeSource, pb.ChangeSource>> = {
  console: pb.ChangeSource.CONSOLE,
  api: pb.ChangeSource.API,
  cli: pb.ChangeSource.CLI,
  boot: pb.ChangeSource.BOOT,
};

/** The word of a number that the contract has let through. */
export function wordOf<W extends string>(words: Readonly<Record<W, number>>, number: number): W {
  const found = (Object.keys(words) as W[]).find((word) => words[word] === number);
  if (found === undefined) throw new Error(`${number} is none of ${Object.keys(words).join(', ')}`);
  return found;
}
