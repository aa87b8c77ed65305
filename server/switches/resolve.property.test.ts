/**
 * What holds for every manifest, however odd: random graphs of up to 300 features with cycles, unknown keys
 * and repeated ones.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FeatureDefinition, SwitchState } from '@svc/proto/features/definition.ts';
import { lintManifest } from './lint.ts';
import { affectedBy, resolveFeatures } from './resolve.ts';
import type { ResolvedFeature, Snapshot } from './snapshot.ts';
import { feature } from './testing/feature.ts';
import { anyText } from '../../test/setup/any-text.ts';

interface World {
  readonly manifest: readonly FeatureDefinition[];
  readonly states: ReadonlyMap<string, SwitchState>;
}

const keyOf = (n: number): string => `f.n${n}`;

/** Returns what follows `n` on a ring, each time that it is on it. */
function after(ring: readonly number[], n: number): number[] {
  return ring.flatMap((one, place) => (one === n ? ring[(place + 1) % ring.length]! : []));
}

/**
 * Edges go forward, so that chains and diamonds form; up to three rings of up to eight beside them, so that
 * some graphs have cycles and are not one great cycle; some edges to keys that nobody declares; few switches
 * off, so that much is left to be blocked.
 */
const anyWorld: fc.Arbitrary<World> = fc.integer({ min: 1, max: 300 }).chain((size) => {
  const node = fc.nat(size - 1);
  const forward = fc.tuple(node, node).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  return fc
    .record({
      edges: fc.array(forward, { maxLength: size * 2, size: 'max' }),
      rings: fc.array(fc.array(node, { minLength: 1, maxLength: 8, size: 'max' }), { maxLength: 3 }),
      strangers: fc.array(fc.tuple(node, fc.nat(5)), { maxLength: 3 }),
      offByDefault: fc.array(node, { maxLength: Math.ceil(size / 20), size: 'max' }),
      moved: fc.array(fc.tuple(node, fc.constantFrom('enabled' as const, 'disabled' as const)), {
        maxLength: Math.ceil(size / 20),
        size: 'max',
      }),
      order: fc.shuffledSubarray(
        Array.from({ length: size }, (_, n) => n),
        { minLength: size, maxLength: size },
      ),
    })
    .map(({ edges, rings, strangers, offByDefault, moved, order }) => ({
      manifest: order.map((n) =>
        feature(keyOf(n), {
          dependsOn: [
            ...edges.filter(([from, to]) => from === n && to !== n).map(([, to]) => keyOf(to)),
            ...rings.flatMap((ring) => after(ring, n)).map(keyOf),
            ...strangers.filter(([from]) => from === n).map(([, key]) => `no.such${key}`),
          ],
          default: offByDefault.includes(n) ? 'disabled' : 'enabled',
        }),
      ),
      states: new Map(moved.map(([n, state]) => [keyOf(n), state])),
    }));
});

/** Without a bias too, because a bias is towards few features, and those hardly ever form a cycle. */
const world = fc.oneof(anyWorld, fc.noBias(anyWorld));

/** All features by key, their lists as sets: what must not depend on the order of declaration. */
function asMap(snapshot: Snapshot): Map<string, unknown> {
  return new Map(
    snapshot.features.map(({ blockedBy, rootCauses, ...rest }) => [
      rest.key,
      { ...rest, blockedBy: new Set(blockedBy), rootCauses: new Set(rootCauses) },
    ]),
  );
}

/** The definition in the plainest words, shared with nothing: cubic, and fit for a test alone. */
function naively({ manifest, states }: World): Map<string, unknown> {
  const definitions = new Map(manifest.map((definition) => [definition.key, definition]));
  const needs = (key: string): readonly string[] => definitions.get(key)?.dependsOn ?? [];
  /** Everything that `from` leads to in one step or more, through keys that `through` accepts. */
  const reach = (from: readonly string[], through: (key: string) => boolean): Set<string> => {
    const seen = new Set(from);
    for (const key of seen) if (through(key)) for (const next of needs(key)) seen.add(next);
    return seen;
  };
  const isOff = (key: string): boolean =>
    (states.get(key) ?? definitions.get(key)?.default ?? 'disabled') === 'disabled';
  const isRing = (key: string): boolean => reach(needs(key), () => true).has(key);
  // Whatever is off, unknown or in a cycle; then whatever depends on that, until nothing new is found.
  const rings = new Set([...definitions.keys()].filter(isRing));
  const down = new Set([...definitions.keys()].filter((key) => isOff(key) || rings.has(key)));
  for (let size = -1; size !== down.size;) {
    size = down.size;
    for (const key of definitions.keys())
      if (needs(key).some((other) => down.has(other) || !definitions.has(other))) down.add(key);
  }
  const isDown = (key: string): boolean => down.has(key) || !definitions.has(key);
  const isCause = (key: string): boolean => !definitions.has(key) || isOff(key) || rings.has(key);
  return new Map(
    manifest.map(({ key, lifecycle, visibility }) => {
      const own = !down.has(key)
        ? 'enabled'
        : isOff(key)
          ? 'disabled'
          : rings.has(key)
            ? 'cycle_detected'
            : 'dependency_disabled';
      const blockers = own === 'enabled' || own === 'disabled' ? [] : needs(key).filter(isDown);
      const causes = [...reach(blockers, (other) => !isCause(other))].filter(
        (other) => isDown(other) && isCause(other),
      );
      return [
        key,
        {
          key,
          enabled: own === 'enabled',
          reason: own,
          blockedBy: new Set(blockers),
          rootCauses: new Set(causes),
          lifecycle,
          visibility,
        },
      ];
    }),
  );
}

function always<T>(of: fc.Arbitrary<T>, check: (one: T) => void, numRuns = 100): void {
  fc.assert(fc.property(of, check), { numRuns });
}

describe('resolveFeatures', () => {
  it('gives what the plain definition gives', () => {
    const reasons = new Map<string, number>();
    always(world, (one) => {
      const fast = resolveFeatures(one.manifest, one.states);
      expect(asMap(fast)).toEqual(naively(one));
      for (const { reason } of fast.features) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    });
    // The worlds must not all be the same one.
    for (const reason of ['enabled', 'disabled', 'dependency_disabled', 'cycle_detected'])
      expect(reasons.get(reason), reason).toBeGreaterThan(100);
  });

  it('does not care for the order of declaration', () => {
    const shuffled = world.chain(({ manifest, states }) =>
      fc
        .tuple(
          fc.shuffledSubarray([...manifest], { minLength: manifest.length, maxLength: manifest.length }),
          fc.boolean(),
        )
        .map(([again, turned]) => ({
          states,
          one: manifest,
          other: turned
            ? again.map((item) => ({ ...item, dependsOn: (item.dependsOn ?? []).toReversed() }))
            : again,
        })),
    );
    always(shuffled, ({ one, other, states }) => {
      expect(asMap(resolveFeatures(other, states))).toEqual(asMap(resolveFeatures(one, states)));
    });
  });

  it('lists blockers and causes in the order of the manifest, then unknown keys by name', () => {
    always(world, ({ manifest, states }) => {
      const places = new Map(manifest.map(({ key }, place) => [key, String(place).padStart(3, '0')]));
      const rank = (key: string): string => places.get(key) ?? key;
      for (const { blockedBy, rootCauses } of resolveFeatures(manifest, states).features) {
        // Places are digits and unknown keys are not, so that one comparison sorts both.
        expect(blockedBy.map(rank)).toEqual(blockedBy.map(rank).toSorted());
        expect(rootCauses.map(rank)).toEqual(rootCauses.map(rank).toSorted());
      }
    });
  });

  it('answers for any strings, repeated keys and states', () => {
    const anyKey = fc.oneof(
      fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'a', 'b'),
      anyText({ maxLength: 4 }),
    );
    const anything = fc.record({
      manifest: fc.array(
        fc
          .tuple(anyKey, fc.array(anyKey, { maxLength: 5 }), fc.boolean())
          .map(([key, needs, on]) =>
            feature(key, { dependsOn: needs, default: on ? 'enabled' : 'disabled' }),
          ),
        { maxLength: 40 },
      ),
      states: fc
        .array(fc.tuple(anyKey, fc.constantFrom('enabled' as const, 'disabled' as const)), { maxLength: 40 })
        .map((entries) => new Map(entries)),
      asked: fc.array(anyKey, { maxLength: 10 }),
    });
    always(
      anything,
      ({ manifest, states, asked }) => {
        const snapshot = resolveFeatures(manifest, states);
        const keys = new Set(manifest.map(({ key }) => key));
        expect(snapshot.features.map(({ key }) => key)).toEqual([...keys]);
        for (const one of snapshot.features) expectSound(one, snapshot);
        for (const key of asked)
          expect(snapshot.get(key).reason === 'unknown_feature', key).toBe(!keys.has(key));
      },
      200,
    );
  });
});

/** Expects what ties the parts of one entry together. */
function expectSound(one: ResolvedFeature, snapshot: Snapshot): void {
  const isBlocked = one.reason === 'dependency_disabled' || one.reason === 'cycle_detected';
  expect(one.enabled).toBe(one.reason === 'enabled');
  expect(one.blockedBy.length > 0).toBe(isBlocked);
  expect(one.rootCauses.length > 0).toBe(isBlocked);
  for (const key of one.blockedBy) expect(snapshot.get(key).enabled).toBe(false);
  for (const key of one.rootCauses)
    expect(['disabled', 'cycle_detected', 'unknown_feature']).toContain(snapshot.get(key).reason);
  expect(snapshot.get(one.key)).toBe(one);
}

describe('moving one switch', () => {
  const moved = world.chain(({ manifest, states }) =>
    fc.nat(manifest.length - 1).map((place) => ({ manifest, states, key: manifest[place]!.key })),
  );

  it('off enables nothing, and reaches only what leads to it', () => {
    always(moved, ({ manifest, states, key }) => {
      const before = resolveFeatures(manifest, states);
      const after = resolveFeatures(manifest, new Map([...states, [key, 'disabled' as const]]));
      const dependents = new Set([key]);
      for (const one of dependents)
        for (const other of manifest) if (other.dependsOn?.includes(one) === true) dependents.add(other.key);
      const changes = affectedBy(before, after);
      for (const change of changes) {
        expect(change.enabledAfter).toBe(false);
        expect(dependents, `${change.key} changes with ${key}`).toContain(change.key);
      }
      expect(changes.some((change) => change.key === key)).toBe(before.get(key).reason !== 'disabled');
    });
  });

  it('is told in full: the features before, with what is affected, are the features after', () => {
    always(moved, ({ manifest, states, key }) => {
      const state = resolveFeatures(manifest, states).get(key).reason === 'disabled' ? 'enabled' : 'disabled';
      const before = resolveFeatures(manifest, states);
      const after = resolveFeatures(manifest, new Map([...states, [key, state]]));
      const reasons = new Map(before.features.map((one) => [one.key, one.reason]));
      for (const change of affectedBy(before, after)) {
        expect(reasons.get(change.key)).toBe(change.reasonBefore);
        expect(change.reasonBefore).not.toBe(change.reasonAfter);
        expect(change.blockedBy).toEqual(after.get(change.key).blockedBy);
        reasons.set(change.key, change.reasonAfter);
      }
      expect(reasons).toEqual(new Map(after.features.map((one) => [one.key, one.reason])));
    });
  });
});

describe('lintManifest', () => {
  it('finds a cycle exactly where the resolver does, and its path can be walked', () => {
    always(world, ({ manifest }) => {
      const allOn = manifest.map((one) => ({ ...one, default: 'enabled' as const }));
      const rings = resolveFeatures(allOn, new Map()).features.filter(
        ({ reason }) => reason === 'cycle_detected',
      );
      const { errors } = lintManifest(allOn);
      const paths = errors.flatMap((error) => / circle: (.*);/.exec(error)?.[1]?.split(' -> ') ?? []);
      const selves = errors.filter((error) => error.includes('depends on itself'));
      expect(paths.length + selves.length > 0).toBe(rings.length > 0);
      const needs = new Map(allOn.map(({ key, dependsOn }) => [key, dependsOn]));
      for (const error of errors) {
        const path = / circle: (.*);/.exec(error)?.[1]?.split(' -> ') ?? [];
        expect(path[0]).toBe(path.at(-1));
        path.slice(1).forEach((key, step) => expect(needs.get(path[step]!)).toContain(key));
      }
    });
  });
});
