import { describe, expect, it } from 'vitest';
import type { FeatureDefinition, SwitchState } from '@svc/proto/features/definition.ts';
import { affectedBy, resolveFeatures } from './resolve.ts';
import { feature } from './testing/feature.ts';

/** Features that are on, from `key: what it depends on`. */
function manifestOf(dependencies: Readonly<Record<string, readonly string[]>>): FeatureDefinition[] {
  return Object.entries(dependencies).map(([key, dependsOn]) => feature(key, { dependsOn }));
}

function off(...keys: readonly string[]): Map<string, SwitchState> {
  return new Map(keys.map((key) => [key, 'disabled'] as const));
}

describe('resolveFeatures', () => {
  it('resolves a chain of 10,000 features without running out of stack, and blocks all of it by its root', () => {
    const key = (n: number): string => `chain.n${n}`;
    // The first depends on the second and so on: the worst order for a resolver that recurses.
    const chain = Array.from({ length: 10_000 }, (_, n) =>
      feature(key(n), { dependsOn: n < 9_999 ? [key(n + 1)] : [] }),
    );
    expect(resolveFeatures(chain, new Map()).features.filter(({ enabled }) => !enabled)).toEqual([]);
    const broken = resolveFeatures(chain, off(key(9_999)));
    expect(broken.get(key(0))).toMatchObject({
      reason: 'dependency_disabled',
      blockedBy: [key(1)],
      rootCauses: [key(9_999)],
    });
    expect(broken.features.filter(({ enabled }) => enabled)).toEqual([]);
  });

  it('survives a cycle of 10,000 features, and spares what lies beside it', () => {
    const key = (n: number): string => `ring.n${n}`;
    const ring = Array.from({ length: 10_000 }, (_, n) =>
      feature(key(n), { dependsOn: [key((n + 1) % 10_000)] }),
    );
    const snapshot = resolveFeatures([...ring, feature('ring.beside')], new Map());
    expect(snapshot.features.filter(({ reason }) => reason === 'cycle_detected')).toHaveLength(10_000);
    expect(snapshot.get('ring.beside').enabled).toBe(true);
  });

  it('looks at each feature of a ladder of 40 diamonds once', () => {
    // 2^40 paths lead from the top to the bottom: whoever walks them does not return.
    const rungs = Array.from({ length: 40 }, (_, n) => {
      const below = n < 39 ? [`left.n${n + 1}`, `right.n${n + 1}`] : ['bottom.end'];
      return [feature(`left.n${n}`, { dependsOn: below }), feature(`right.n${n}`, { dependsOn: below })];
    }).flat();
    const snapshot = resolveFeatures([...rungs, feature('bottom.end')], off('bottom.end'));
    expect(snapshot.get('left.n0')).toMatchObject({
      blockedBy: ['left.n1', 'right.n1'],
      rootCauses: ['bottom.end'],
    });
  });

  it('cannot be changed by whoever holds it', () => {
    const manifest = manifestOf({ 'a.b': ['a.c'], 'a.c': [], 'a.d': ['a.d'] });
    const states = off('a.c');
    const snapshot = resolveFeatures(manifest, states);
    for (const entry of [...snapshot.features, snapshot.get('no.such')]) {
      expect(Object.isFrozen(entry)).toBe(true);
      expect(Object.isFrozen(entry.blockedBy)).toBe(true);
      expect(Object.isFrozen(entry.rootCauses)).toBe(true);
    }
    expect(Object.isFrozen(snapshot)).toBe(true);
    expect(Object.isFrozen(snapshot.features)).toBe(true);
    states.clear();
    manifest.length = 0;
    expect(snapshot.get('a.b').reason).toBe('dependency_disabled');
  });

  it('counts the first of two definitions of a key', () => {
    const manifest = [feature('a.b'), feature('a.b', { dependsOn: ['no.such'], lifecycle: 'planned' })];
    const snapshot = resolveFeatures(manifest, new Map());
    expect(snapshot.features).toHaveLength(1);
    expect(snapshot.get('a.b')).toMatchObject({ enabled: true, lifecycle: 'ga' });
  });
});

describe('affectedBy', () => {
  const manifest = manifestOf({
    'app.page': ['app.api'],
    'app.api': ['app.store'],
    'app.store': [],
    'app.other': [],
    'app.both': ['app.store', 'app.other'],
  });
  const resolve = (...keys: readonly string[]) => resolveFeatures(manifest, off(...keys));

  const wentDown = { enabledBefore: true, enabledAfter: false, reasonBefore: 'enabled' };
  const blockedBy = (...keys: readonly string[]) => ({
    reasonAfter: 'dependency_disabled',
    blockedBy: keys,
  });

  it('names everything that goes down with a switch, in the order of the manifest', () => {
    expect(affectedBy(resolve(), resolve('app.store'))).toEqual([
      { key: 'app.page', ...wentDown, ...blockedBy('app.api') },
      { key: 'app.api', ...wentDown, ...blockedBy('app.store') },
      { key: 'app.store', ...wentDown, reasonAfter: 'disabled', blockedBy: [] },
      { key: 'app.both', ...wentDown, ...blockedBy('app.store') },
    ]);
  });

  it('tells of a switch that is moved to no effect, because the reason is another one', () => {
    const before = { enabledBefore: false, enabledAfter: false, reasonBefore: 'disabled' };
    expect(affectedBy(resolve('app.store', 'app.page'), resolve('app.store'))).toEqual([
      { key: 'app.page', ...before, ...blockedBy('app.api') },
    ]);
  });

  it('leaves out what has one blocker more and is as unusable as before', () => {
    expect(affectedBy(resolve('app.store'), resolve('app.store', 'app.other')).map(({ key }) => key)).toEqual(
      ['app.other'],
    );
  });

  it('finds nothing between two snapshots of the same switches', () => {
    expect(affectedBy(resolve('app.api'), resolve('app.api'))).toEqual([]);
  });

  it('shows features of only one of two manifests as unknown in the other', () => {
    const before = resolveFeatures(manifestOf({ 'old.one': [], 'app.store': [] }), new Map());
    const after = resolveFeatures(manifestOf({ 'app.store': [], 'new.one': [] }), new Map());
    expect(affectedBy(before, after)).toMatchObject([
      { key: 'new.one', reasonBefore: 'unknown_feature', reasonAfter: 'enabled' },
      { key: 'old.one', reasonBefore: 'enabled', reasonAfter: 'unknown_feature' },
    ]);
  });
});
