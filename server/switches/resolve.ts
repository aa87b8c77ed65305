/**
 * This file resolves the effective state of every feature. Whatever the manifest and the switches say, there
 * is an answer, and a mistake in one corner of the manifest reaches only the features that depend on it. Each
 * feature is looked at once, so that diamonds cost nothing.
 *
 * The first of these that holds is the reason:
 * 1. `disabled`: the feature's own switch is off, whatever it depends on, even when it is a member of a
 *    cycle. Whoever reads the answer is told the nearest thing they can move.
 * 2. `cycle_detected`: its dependencies lead back to itself. A property of the manifest alone: a member whose
 *    switch is off does not open the cycle for the others.
 * 3. `dependency_disabled`: something it depends on is not enabled, or not in the manifest.
 * 4. `enabled`.
 *
 * Switches of keys that are not in the manifest are ignored, and so is the second definition of a key
 * (`lintManifest` refuses it).
 */
import type { FeatureDefinition, SwitchState } from '@svc/proto/features/definition.ts';
import type { Affected } from './change.ts';
import { isCycle, stronglyConnected } from './cycles.ts';
import { graphOf, type Graph } from './graph.ts';
import type { FeatureReason, Resolve, ResolvedFeature, Snapshot } from './snapshot.ts';

const NONE: readonly string[] = Object.freeze([]);
const UNBLOCKED = { blockedBy: NONE, rootCauses: NONE };

interface Work {
  readonly graph: Graph;
  /** By the index of the definition, as far as it is known. */
  readonly resolved: readonly ResolvedFeature[];
}

export const resolveFeatures: Resolve = (manifest, states) => {
  const graph = graphOf(manifest);
  const resolved: ResolvedFeature[] = [];
  for (const group of stronglyConnected(graph.edges)) resolveGroup(group, { graph, resolved }, states);
  return snapshotOf(resolved);
};

/** Everything that the group points at outside of itself is in `resolved` already. */
function resolveGroup(
  group: readonly number[],
  work: Work & { readonly resolved: ResolvedFeature[] },
  states: ReadonlyMap<string, SwitchState>,
): void {
  const { graph, resolved } = work;
  const cycle = isCycle(group, graph.edges);
  // No member of a cycle is enabled: that is all that its neighbours need to know of it, whichever comes
  // first.
  for (const index of group) {
    const definition = graph.definitions[index]!;
    const state = states.get(definition.key) ?? definition.default;
    if (state === 'disabled') resolved[index] = entry(definition, 'disabled');
    else if (cycle) resolved[index] = entry(definition, 'cycle_detected');
  }
  for (const index of group)
    if (resolved[index]?.reason !== 'disabled') resolved[index] = resolveOne(index, cycle, work);
}

/** A feature whose own switch is on. */
function resolveOne(index: number, cycle: boolean, work: Work): ResolvedFeature {
  const { graph, resolved } = work;
  const definition = graph.definitions[index]!;
  const blockers = graph.edges[index]!.filter((other) => !resolved[other]!.enabled);
  const strangers = graph.strangers[index]!;
  if (blockers.length + strangers.length === 0) return entry(definition, 'enabled');
  return entry(definition, cycle ? 'cycle_detected' : 'dependency_disabled', {
    blockedBy: Object.freeze([...blockers.map((other) => graph.definitions[other]!.key), ...strangers]),
    rootCauses: rootCauses(blockers, strangers, work),
  });
}

function rootCauses(blockers: readonly number[], strangers: readonly string[], { graph, resolved }: Work) {
  const ends = blockers.map((index) => endsOf(resolved[index]!));
  // Chains share one list; without that, a long one would hold a copy a link.
  if (ends.length === 1 && strangers.length === 0) return ends[0]!;
  const place = (key: string): number => graph.indexes.get(key) ?? Infinity;
  const all = [...new Set([...ends.flat(), ...strangers])];
  return Object.freeze(all.sort((a, b) => (place(a) === place(b) ? (a < b ? -1 : 1) : place(a) - place(b))));
}

function endsOf(feature: ResolvedFeature): readonly string[] {
  return feature.reason === 'dependency_disabled' ? feature.rootCauses : Object.freeze([feature.key]);
}

function entry(
  definition: FeatureDefinition,
  reason: FeatureReason,
  { blockedBy, rootCauses: causes }: Pick<ResolvedFeature, 'blockedBy' | 'rootCauses'> = UNBLOCKED,
): ResolvedFeature {
  const { key, lifecycle, visibility } = definition;
  const enabled = reason === 'enabled';
  return Object.freeze({ key, enabled, reason, blockedBy, rootCauses: causes, lifecycle, visibility });
}

function snapshotOf(resolved: ResolvedFeature[]): Snapshot {
  const byKey = new Map(resolved.map((feature) => [feature.key, feature]));
  return Object.freeze({
    features: Object.freeze(resolved),
    isEnabled: (key: string) => byKey.get(key)?.enabled === true,
    get: (key: string) => byKey.get(key) ?? unknownFeature(key),
  });
}

function unknownFeature(key: string): ResolvedFeature {
  return Object.freeze({
    key,
    enabled: false,
    reason: 'unknown_feature',
    blockedBy: NONE,
    rootCauses: NONE,
  });
}

/**
 * Returns what everybody may know: the features that are enabled and public, in the order of the manifest.
 */
export function publicFeatures(snapshot: Snapshot): ResolvedFeature[] {
  return snapshot.features.filter(({ enabled, visibility }) => enabled && visibility === 'public');
}

/**
 * Features whose effective state differs: enabled or reason. In the order of `after`, then those that only
 * `before` has. A feature that merely has other blockers than before is not affected: it stays as unusable as
 * it was, for the same reason.
 */
export function affectedBy(before: Snapshot, after: Snapshot): Affected[] {
  const gone = before.features.filter(({ key }) => after.get(key).reason === 'unknown_feature');
  return [...after.features, ...gone]
    .map(({ key }) => difference(before.get(key), after.get(key)))
    .filter((change) => change.reasonBefore !== change.reasonAfter);
}

function difference(before: ResolvedFeature, after: ResolvedFeature): Affected {
  return {
    key: after.key,
    enabledBefore: before.enabled,
    enabledAfter: after.enabled,
    reasonBefore: before.reason,
    reasonAfter: after.reason,
    blockedBy: after.blockedBy,
  };
}
