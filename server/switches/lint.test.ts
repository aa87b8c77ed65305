import { describe, expect, expectTypeOf, it } from 'vitest';
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';
import { MANIFEST, type FeatureKey } from '@svc/proto/features/manifest.ts';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import type { FeatureGate } from '../kit/feature-gate.ts';
import { assertManifest, lintManifest } from './lint.ts';
import { resolveFeatures } from './resolve.ts';
import { feature } from './testing/feature.ts';

describe('the manifest', () => {
  it('has no problem', () => {
    expect(lintManifest(MANIFEST)).toEqual({ errors: [], warnings: [] });
  });

  it('starts the eight features of the documents as a fresh installation should have them', () => {
    const states = resolveFeatures(MANIFEST, new Map()).features.map(({ key, reason }) => `${key} ${reason}`);
    expect(states).toEqual(
      expect.arrayContaining([
        'host.spaces enabled',
        'host.graph enabled',
        'host.runners enabled',
        'host.ci enabled',
        'host.job_runner disabled',
        'host.compliance.residency_chain disabled',
        'host.automation.maintenance disabled',
        'host.incidents disabled',
      ]),
    );
  });
});

describe('lintManifest', () => {
  const CASES: readonly {
    readonly what: string;
    readonly manifest: readonly FeatureDefinition[];
    readonly previous?: readonly FeatureDefinition[];
    readonly errors: readonly string[];
    readonly warnings?: readonly string[];
  }[] = [
    { what: 'nothing at all', manifest: [], errors: [] },
    {
      what: 'a dependency that is not declared',
      manifest: [feature('a.b', { dependsOn: ['a.c'] })],
      errors: ['"a.b" depends on "a.c", which is not in the manifest'],
    },
    {
      what: 'a dependency named like a property of every object',
      manifest: [feature('a.b', { dependsOn: ['constructor'] })],
      errors: ['"a.b" depends on "constructor", which is not in the manifest'],
    },
    {
      what: 'a feature that depends on itself, which is told once and not as a circle too',
      manifest: [feature('a.b', { dependsOn: ['a.b'] })],
      errors: ['"a.b" depends on itself; remove that'],
    },
    {
      what: 'a key that is declared three times',
      manifest: [feature('a.b'), feature('a.c'), feature('a.b'), feature('a.b')],
      errors: ['"a.b" is declared more than once; keep one'],
    },
    {
      what: 'a dependency that is named twice',
      manifest: [feature('a.b', { dependsOn: ['a.c', 'a.c'] }), feature('a.c')],
      errors: ['"a.b" names its dependency "a.c" more than once; keep one'],
    },
    {
      what: 'a circle of three, with its whole path from the first of the manifest on',
      manifest: [
        feature('a.outside', { dependsOn: ['a.b'] }),
        feature('a.b', { dependsOn: ['a.c'] }),
        feature('a.c', { dependsOn: ['a.d'] }),
        feature('a.d', { dependsOn: ['a.b'] }),
      ],
      errors: ['dependencies lead in a circle: a.b -> a.c -> a.d -> a.b; remove one of them'],
    },
    {
      what: 'a circle that is first met at its last feature, from its first of the manifest on all the same',
      manifest: [
        feature('a.outside', { dependsOn: ['a.c'] }),
        feature('a.b', { dependsOn: ['a.c'] }),
        feature('a.c', { dependsOn: ['a.b'] }),
      ],
      errors: ['dependencies lead in a circle: a.b -> a.c -> a.b; remove one of them'],
    },
    {
      what: 'two circles, and of each a shortest way round',
      manifest: [
        feature('a.b', { dependsOn: ['a.c', 'a.d'] }),
        feature('a.c', { dependsOn: ['a.d'] }),
        feature('a.d', { dependsOn: ['a.b'] }),
        feature('b.x', { dependsOn: ['b.y'] }),
        feature('b.y', { dependsOn: ['b.x'] }),
      ],
      errors: [
        'dependencies lead in a circle: a.b -> a.d -> a.b; remove one of them',
        'dependencies lead in a circle: b.x -> b.y -> b.x; remove one of them',
      ],
    },
    {
      what: 'a stable feature on a shaky one',
      manifest: [
        feature('a.b', { dependsOn: ['a.c'] }),
        feature('a.c', { lifecycle: 'preview', dependsOn: ['a.d'] }),
        feature('a.d', { lifecycle: 'deprecated' }),
      ],
      errors: [
        '"a.b" (ga) depends on "a.c" (preview), which is less stable; a feature is no more stable than what it depends on',
        '"a.c" (preview) depends on "a.d" (deprecated), which is less stable; a feature is no more stable than what it depends on',
      ],
    },
    {
      what: 'a shaky feature on a stable one, which is how it should be',
      manifest: [
        feature('a.b', { lifecycle: 'experimental', dependsOn: ['a.c'] }),
        feature('a.c', { lifecycle: 'ga', dependsOn: ['a.d'] }),
        feature('a.d', { lifecycle: 'ga' }),
        feature('a.e', { lifecycle: 'deprecated', dependsOn: ['a.b'] }),
      ],
      errors: [],
    },
    {
      what: 'a feature that is on by default, but cannot be',
      manifest: [feature('a.b', { dependsOn: ['a.c'] }), feature('a.c', { default: 'disabled' })],
      errors: [
        '"a.b" is enabled by default but depends on "a.c", which is disabled by default; it would never start enabled',
      ],
    },
    ...['host', 'Host.ci', 'host..ci', 'host.ci.', '.host.ci', 'host.1ci', 'host.c-i', 'host ci', ''].map(
      (key) => ({
        what: `the key "${key}"`,
        manifest: [feature(key)],
        errors: [`"${key}" is no key; use lower-case words joined by dots, such as "host.ci"`],
      }),
    ),
    {
      what: 'what a reader must be told',
      manifest: [feature('a.b', { description: ' ', owner: '', since: 'soon' })],
      errors: [
        '"a.b" has no description; say in one sentence what it is',
        '"a.b" has no owner; name the team that answers for it',
        '"a.b" has since "soon"; give the version of the product that brought it, such as "1.4.0"',
      ],
    },
    {
      what: 'a planned feature that is on',
      manifest: [feature('a.b', { lifecycle: 'planned' })],
      errors: ['"a.b" is planned but enabled by default; what is not built yet must be disabled by default'],
    },
    {
      what: 'a variable that decides two features',
      manifest: [
        feature('a.b', { environment: { variable: 'JOBS', decides: 'off' } }),
        feature('a.c', { environment: { variable: 'JOBS', decides: 'always' } }),
      ],
      errors: ['environment variable JOBS decides "a.b" and "a.c"; a variable decides one feature'],
    },
    {
      what: 'a name that no environment variable should have',
      manifest: [feature('a.b', { environment: { variable: 'a.b', decides: 'off' } })],
      errors: ['"a.b" names the environment variable "a.b"; use capitals such as "CI_ENABLED"'],
    },
    {
      what: 'a public feature on an internal one, as a warning alone',
      manifest: [feature('a.b', { dependsOn: ['a.c'] }), feature('a.c', { visibility: 'internal' })],
      errors: [],
      warnings: [
        '"a.b" is public but depends on "a.c", which is internal; it goes off for reasons that customers may not be told',
      ],
    },
    {
      what: 'lifecycles that go forward, stay or end, and a feature that is new',
      previous: [
        feature('a.b', { lifecycle: 'experimental' }),
        feature('a.c', { lifecycle: 'experimental' }),
        feature('a.d', { lifecycle: 'deprecated' }),
        feature('a.gone'),
      ],
      manifest: [
        feature('a.b', { lifecycle: 'ga' }),
        feature('a.c', { lifecycle: 'deprecated' }),
        feature('a.d', { lifecycle: 'deprecated' }),
        feature('a.e', { lifecycle: 'experimental' }),
      ],
      errors: [],
    },
    {
      what: 'lifecycles that go back',
      previous: [feature('a.b'), feature('a.c', { lifecycle: 'deprecated' })],
      manifest: [
        feature('a.b', { lifecycle: 'preview' }),
        feature('a.c', { lifecycle: 'planned', default: 'disabled' }),
      ],
      errors: [
        '"a.b" was ga and is preview now; a lifecycle only goes forward, or to deprecated',
        '"a.c" was deprecated and is planned now; bring it back under another key',
      ],
    },
  ];

  it.each(CASES)('finds $what', ({ manifest, previous, errors, warnings = [] }) => {
    expect(lintManifest(manifest, previous)).toEqual({ errors, warnings });
  });
});

describe('assertManifest', () => {
  it('lets the real manifest, and one with warnings alone, start', () => {
    assertManifest(MANIFEST);
    assertManifest([feature('a.b', { dependsOn: ['a.c'] }), feature('a.c', { visibility: 'internal' })]);
  });

  it('refuses to start with all errors in one message', () => {
    expect(() => assertManifest([feature('a.b', { owner: '', dependsOn: ['a.c'] })])).toThrow(
      'manifest of platform features has 2 errors: "a.b" has no owner; name the team that answers for it; "a.b" depends on "a.c", which is not in the manifest',
    );
  });
});

describe('a gate on a key that is not in the manifest', () => {
  // The compiler checks these; `npm run check` fails when one of these lines compiles after all.
  const snapshot = resolveFeatures(MANIFEST, new Map());

  it('does not compile', () => {
    expectTypeOf<'host.cl'>().not.toExtend<FeatureKey>();
    expectTypeOf<string>().not.toExtend<FeatureKey>();
    expectTypeOf<'host.ci'>().toExtend<FeatureKey>();
    expectTypeOf<FeatureGate['state']>().parameter(0).toEqualTypeOf<FeatureKey>();
    expectTypeOf<NonNullable<RpcInfo['feature']>>().toEqualTypeOf<FeatureKey>();
    // @ts-expect-error -- misspelt
    const misspelt = snapshot.isEnabled('host.cl');
    // @ts-expect-error -- any string
    const anything = snapshot.isEnabled('host.ci' as string);
    // Typing errors aside, an unknown key is off at run time.
    expect([misspelt, anything, snapshot.isEnabled('host.ci')]).toEqual([false, true, true]);
  });
});
