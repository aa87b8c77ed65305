import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import type { FeatureDefinition, SwitchState } from '@svc/proto/features/definition.ts';
import { publicFeatures, resolveFeatures } from './resolve.ts';
import type { ResolvedFeature } from './snapshot.ts';

interface Vectors {
  readonly cases: readonly Vector[];
}

interface Vector {
  readonly name: string;
  readonly manifest: readonly Pick<
    FeatureDefinition,
    'key' | 'default' | 'lifecycle' | 'visibility' | 'dependsOn'
  >[];
  readonly switches: Readonly<Record<string, SwitchState>>;
  readonly resolved: readonly ResolvedFeature[];
  readonly public: Readonly<Record<string, true>>;
  readonly unknown?: readonly string[];
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`testdata/${name}`, import.meta.url), 'utf8'));

const vectors = read('vectors.json') as Vectors; // The first test holds it to its schema.

function resolve({ manifest, switches }: Vector) {
  const definitions = manifest.map((feature) => ({
    ...feature,
    description: 'A feature.',
    owner: 'team',
    since: '1.0.0',
  }));
  return resolveFeatures(definitions, new Map(Object.entries(switches)));
}

describe('the conformance vectors', () => {
  it('follow their schema', () => {
    const validate = new Ajv({ allErrors: true }).compile(read('vectors.schema.json') as object);
    validate(vectors);
    expect(validate.errors).toBeNull();
  });

  it('are 104 cases of different names, and show every reason in several', () => {
    expect(new Set(vectors.cases.map(({ name }) => name)).size).toBe(104);
    const count = (reason: string): number =>
      vectors.cases.filter(({ resolved }) => resolved.some((feature) => feature.reason === reason)).length;
    expect(count('enabled')).toBeGreaterThan(20);
    expect(count('disabled')).toBeGreaterThan(20);
    expect(count('dependency_disabled')).toBeGreaterThan(20);
    expect(count('cycle_detected')).toBeGreaterThan(20);
    expect(vectors.cases.filter(({ unknown }) => unknown !== undefined).length).toBeGreaterThan(5);
  });

  it.each(vectors.cases)('$name', (vector) => {
    const snapshot = resolve(vector);
    expect(snapshot.features).toEqual(vector.resolved);
    for (const feature of vector.resolved) {
      expect(snapshot.get(feature.key)).toEqual(feature);
      // @ts-expect-error -- keys of the vectors are not in the manifest of the product
      expect(snapshot.isEnabled(feature.key)).toBe(feature.enabled);
    }
    // This compares entries, because `__proto__` as a key would be lost in a comparison of objects.
    expect(publicFeatures(snapshot).map(({ key }) => [key, true])).toEqual(Object.entries(vector.public));
    for (const key of vector.unknown ?? []) {
      expect(snapshot.get(key)).toEqual({
        key,
        enabled: false,
        reason: 'unknown_feature',
        blockedBy: [],
        rootCauses: [],
      });
    }
  });
});
