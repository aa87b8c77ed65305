/**
 * This file finds what is wrong with a manifest. The resolver lives with every mistake; this is what keeps
 * them out of a release: a test runs it on the manifest and every process that resolves features refuses to
 * start on one with errors.
 */
import type { FeatureDefinition, Lifecycle } from '@svc/proto/features/definition.ts';
import { shortestCycle, stronglyConnected } from './cycles.ts';
import { graphOf } from './graph.ts';

export interface ManifestProblems {
  /** A sentence each; a manifest with any is not to be used. */
  readonly errors: readonly string[];
  /** Allowed, but worth a look. */
  readonly warnings: readonly string[];
}

/** An earlier manifest is kept for this: the lifecycles that people have read. */
export type EarlierDefinition = Pick<FeatureDefinition, 'key' | 'lifecycle'>;

/** Whoever depends on a feature of a lower number breaks when that one changes or goes away. */
const STABILITY: Readonly<Record<Lifecycle, number>> = {
  deprecated: 0,
  planned: 1,
  experimental: 2,
  preview: 3,
  ga: 4,
};

const KEY = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/;
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;
const VARIABLE = /^[A-Z][A-Z0-9_]*$/;

/**
 * All problems, feature by feature in the order of the manifest; cycles last. `previous` adds what a release
 * may not take back.
 */
export function lintManifest(
  manifest: readonly FeatureDefinition[],
  previous: readonly EarlierDefinition[] = [],
): ManifestProblems {
  const earlier = new Map(previous.map(({ key, lifecycle }) => [key, lifecycle]));
  const { definitions, indexes } = graphOf(manifest);
  const find = (key: string): FeatureDefinition | undefined => definitions[indexes.get(key) ?? -1];
  const errors = [
    ...repeated(manifest.map(({ key }) => key)).map((key) => `"${key}" is declared more than once; keep one`),
    ...manifest.flatMap((feature) => [
      ...ofItself(feature),
      ...ofDependencies(feature, find),
      ...ofLifecycle(feature, earlier.get(feature.key)),
    ]),
    ...ofVariables(definitions),
    ...ofCycles(manifest),
  ];
  return { errors, warnings: manifest.flatMap((feature) => ofVisibility(feature, find)) };
}

/** This throws all errors at once, at the start of a process. */
export function assertManifest(manifest: readonly FeatureDefinition[]): void {
  const { errors } = lintManifest(manifest);
  if (errors.length === 0) return;
  throw new Error(`manifest of platform features has ${errors.length} errors: ${errors.join('; ')}`);
}

function ofItself({ key, description, owner, since, lifecycle, ...rest }: FeatureDefinition): string[] {
  const problems: string[] = [];
  if (!KEY.test(key))
    problems.push(`"${key}" is no key; use lower-case words joined by dots, such as "host.ci"`);
  if (description.trim() === '') problems.push(`"${key}" has no description; say in one sentence what it is`);
  if (owner.trim() === '') problems.push(`"${key}" has no owner; name the team that answers for it`);
  if (!VERSION.test(since))
    problems.push(
      `"${key}" has since "${since}"; give the version of the product that brought it, such as "1.4.0"`,
    );
  if (lifecycle === 'planned' && rest.default === 'enabled')
    problems.push(
      `"${key}" is planned but enabled by default; what is not built yet must be disabled by default`,
    );
  const variable = rest.environment?.variable;
  if (variable !== undefined && !VARIABLE.test(variable))
    problems.push(`"${key}" names the environment variable "${variable}"; use capitals such as "CI_ENABLED"`);
  return problems;
}

type Find = (key: string) => FeatureDefinition | undefined;

function ofDependencies(feature: FeatureDefinition, find: Find): string[] {
  const { key, dependsOn = [] } = feature;
  return [
    ...repeated(dependsOn).map(
      (other) => `"${key}" names its dependency "${other}" more than once; keep one`,
    ),
    ...new Set(dependsOn.flatMap((other) => ofDependency(feature, other, find(other)))),
  ];
}

function ofDependency(
  { key, lifecycle, default: state }: FeatureDefinition,
  otherKey: string,
  other: FeatureDefinition | undefined,
): string[] {
  if (otherKey === key) return [`"${key}" depends on itself; remove that`];
  if (other === undefined) return [`"${key}" depends on "${otherKey}", which is not in the manifest`];
  const problems: string[] = [];
  if (STABILITY[lifecycle] > STABILITY[other.lifecycle])
    problems.push(
      `"${key}" (${lifecycle}) depends on "${otherKey}" (${other.lifecycle}), which is less stable; a feature is no more stable than what it depends on`,
    );
  if (state === 'enabled' && other.default === 'disabled')
    problems.push(
      `"${key}" is enabled by default but depends on "${otherKey}", which is disabled by default; it would never start enabled`,
    );
  return problems;
}

function ofLifecycle({ key, lifecycle }: FeatureDefinition, before: Lifecycle | undefined): string[] {
  if (before === undefined || before === lifecycle || lifecycle === 'deprecated') return [];
  if (before === 'deprecated')
    return [`"${key}" was deprecated and is ${lifecycle} now; bring it back under another key`];
  if (STABILITY[lifecycle] > STABILITY[before]) return [];
  return [`"${key}" was ${before} and is ${lifecycle} now; a lifecycle only goes forward, or to deprecated`];
}

function ofVariables(definitions: readonly FeatureDefinition[]): string[] {
  const variables = definitions.flatMap(({ environment }) => environment?.variable ?? []);
  return repeated(variables).map((variable) => {
    const keys = definitions.filter(({ environment }) => environment?.variable === variable);
    return `environment variable ${variable} decides ${keys.map(({ key }) => `"${key}"`).join(' and ')}; a variable decides one feature`;
  });
}

/** One cycle of each group of features that depend on each other, with its full path. */
function ofCycles(manifest: readonly FeatureDefinition[]): string[] {
  const { definitions, edges } = graphOf(manifest);
  return stronglyConnected(edges)
    .filter((group) => group.length > 1)
    .map((group) => shortestCycle(group, edges))
    .sort(([a = 0], [b = 0]) => a - b)
    .map((way) => way.map((index) => definitions[index]?.key).join(' -> '))
    .map((way) => `dependencies lead in a circle: ${way}; remove one of them`);
}

function ofVisibility({ key, visibility, dependsOn = [] }: FeatureDefinition, find: Find): string[] {
  if (visibility !== 'public') return [];
  return [...new Set(dependsOn)]
    .filter((other) => find(other)?.visibility === 'internal')
    .map(
      (other) =>
        `"${key}" is public but depends on "${other}", which is internal; it goes off for reasons that customers may not be told`,
    );
}

/** What occurs more than once, each named once. */
function repeated(items: readonly string[]): string[] {
  return [...new Set(items.filter((item, index) => items.indexOf(item) !== index))];
}
