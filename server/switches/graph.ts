/** The resolver and the lint walk a manifest as a graph of numbered features. */
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';

const NONE: readonly string[] = Object.freeze([]);

export interface Graph {
  /** One a key, in the order of the manifest: of two definitions of a key the first counts. */
  readonly definitions: readonly FeatureDefinition[];
  readonly indexes: ReadonlyMap<string, number>;
  /** Places of the known dependencies, ascending, each once. */
  readonly edges: readonly (readonly number[])[];
  /** Dependencies that the manifest does not have, by key, each once. */
  readonly strangers: readonly (readonly string[])[];
}

export function graphOf(manifest: readonly FeatureDefinition[]): Graph {
  const indexes = new Map<string, number>();
  const definitions = manifest.filter(({ key }) => {
    if (indexes.has(key)) return false;
    indexes.set(key, indexes.size);
    return true;
  });
  const edges: (readonly number[])[] = [];
  const strangers: (readonly string[])[] = [];
  for (const { dependsOn = NONE } of definitions) {
    const known: number[] = [];
    const unknown: string[] = [];
    // Features depend on a few others, so that looking through a list is cheaper than building a set.
    for (const key of dependsOn) {
      const index = indexes.get(key);
      if (index === undefined) addOnce(unknown, key);
      else addOnce(known, index);
    }
    edges.push(known.length < 2 ? known : known.sort((a, b) => a - b));
    strangers.push(unknown.length < 2 ? unknown : unknown.sort());
  }
  return { definitions, indexes, edges, strangers };
}

function addOnce<T>(list: T[], item: T): void {
  if (!list.includes(item)) list.push(item);
}
