/**
 * Measures platform features: the check that every gated request makes, beside the bare look-up that it
 * cannot be faster than, and the resolution of a large manifest, beside the recursion that one would write
 * first. The manifest is a ladder of diamonds, because that is what tells the two apart: each rung doubles
 * the ways to the bottom.
 */
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';
import { MANIFEST, type FeatureKey } from '@svc/proto/features/manifest.ts';
import { resolveFeatures } from '@svc/server/switches/resolve.ts';
import { figure, median, type Figure } from './figure.ts';

const CHECK_NS_MAX = 50;
const RESOLVE_US_MAX = 50;
const MANIFEST_SIZE = 64;
/**
 * Features that form the ladder; the others stand in chains of four. At 18 levels the recursion alone would
 * take milliseconds a key.
 */
const LADDER_LEVELS = 10;

/**
 * Nanoseconds a call of `work`, which makes `calls`; the median of the better half of many rounds, since the
 * others were disturbed.
 */
function nanoseconds(calls: number, work: () => number): number {
  const rounds: number[] = [];
  let sum = 0;
  for (let round = 0; round < 60; round += 1) {
    const startedAt = process.hrtime.bigint();
    sum += work();
    rounds.push(Number(process.hrtime.bigint() - startedAt) / calls);
  }
  // Whatever nobody reads, the compiler may leave out.
  if (!Number.isFinite(sum)) throw new Error(`the work came to ${sum}`);
  return median(rounds.toSorted((a, b) => a - b).slice(0, rounds.length / 2));
}

const CHECKS = 200_000;

function checks(): Figure {
  const keys = MANIFEST.map(({ key }) => key);
  const snapshot = resolveFeatures(MANIFEST, new Map());
  const bare = new Map(snapshot.features.map(({ key, enabled }) => [key as FeatureKey, enabled]));
  const many = (check: (key: FeatureKey) => boolean): number => {
    let on = 0;
    for (let i = 0; i < CHECKS; i += 1) if (check(keys[i & 7] as FeatureKey)) on += 1;
    return on;
  };
  const ours = (): number => many((key) => snapshot.isEnabled(key));
  const reference = (): number => many((key) => bare.get(key) === true);
  // Once each unmeasured: whoever came first would have a loop compiled for it alone.
  nanoseconds(CHECKS, ours);
  nanoseconds(CHECKS, reference);
  return figure({
    name: 'gate check (isEnabled)',
    value: nanoseconds(CHECKS, ours),
    unit: 'ns',
    reference: 'bare Map.get',
    referenceValue: nanoseconds(CHECKS, reference),
    target: `≤ ${CHECK_NS_MAX} ns`,
    pass: (value) => value <= CHECK_NS_MAX,
  });
}

function feature(key: string, dependsOn: readonly string[]): FeatureDefinition {
  return {
    key,
    description: 'A feature.',
    owner: 'team',
    since: '1.0.0',
    lifecycle: 'ga',
    visibility: 'public',
    default: 'enabled',
    dependsOn,
  };
}

function manifest(): FeatureDefinition[] {
  const rungs = Array.from({ length: LADDER_LEVELS }, (_, n) => {
    const below = n + 1 < LADDER_LEVELS ? [`left.n${n + 1}`, `right.n${n + 1}`] : [];
    return [feature(`left.n${n}`, below), feature(`right.n${n}`, below)];
  }).flat();
  const chains = Array.from({ length: MANIFEST_SIZE - rungs.length }, (_, n) =>
    feature(`chain.n${n}`, n % 4 === 3 ? [] : [`chain.n${n + 1}`]),
  );
  return [...rungs, ...chains];
}

/**
 * Computes whether each feature is enabled, as one would write it first: by asking every dependency again.
 * Knows neither reasons nor cycles.
 */
function naively(
  definitions: readonly FeatureDefinition[],
  states: ReadonlyMap<string, string>,
): Map<string, boolean> {
  const byKey = new Map(definitions.map((definition) => [definition.key, definition]));
  const isEnabled = (key: string): boolean => {
    const definition = byKey.get(key);
    if (definition === undefined || (states.get(key) ?? definition.default) === 'disabled') return false;
    return (definition.dependsOn ?? []).every(isEnabled);
  };
  return new Map(definitions.map(({ key }) => [key, isEnabled(key)]));
}

const RESOLUTIONS = 50;

function resolutions(): Figure {
  const definitions = manifest();
  const states = new Map([['chain.n3', 'disabled' as const]]);
  assertSame(definitions, states);
  const many = (count: number, resolve: () => number): number => {
    let sum = 0;
    for (let i = 0; i < count; i += 1) sum += resolve();
    return sum;
  };
  const ours = nanoseconds(RESOLUTIONS, () =>
    many(RESOLUTIONS, () => resolveFeatures(definitions, states).features.length),
  );
  const reference = nanoseconds(1, () => many(1, () => naively(definitions, states).size));
  return figure({
    name: `resolve ${MANIFEST_SIZE} features with reasons and blockers`,
    value: ours / 1000,
    unit: 'µs',
    reference: 'plain recursion, enabled or not alone',
    referenceValue: reference / 1000,
    target: `≤ ${RESOLVE_US_MAX} µs`,
    pass: (value) => value <= RESOLVE_US_MAX,
  });
}

/** A figure of a wrong answer would be worth nothing. */
function assertSame(
  definitions: readonly FeatureDefinition[],
  states: ReadonlyMap<string, 'disabled'>,
): void {
  const { features } = resolveFeatures(definitions, states);
  const expected = naively(definitions, states);
  const wrong = features.filter(({ key, enabled }) => expected.get(key) !== enabled).map(({ key }) => key);
  if (features.length !== MANIFEST_SIZE || wrong.length > 0)
    throw new Error(`resolved ${features.length} of ${MANIFEST_SIZE} features, wrong: ${wrong.join(', ')}`);
}

export async function run(): Promise<Figure[]> {
  return [checks(), resolutions()];
}
