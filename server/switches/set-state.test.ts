/**
 * Tests what needs no database: refusals before the transaction, what a move would do, and who says where it
 * came from.
 */
import { create } from '@bufbuild/protobuf';
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';
import {
  SetStateRequestSchema,
  SwitchState,
} from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import { describe, expect, it } from 'vitest';
import type { Ctx } from '../kit/context.ts';
import { effectiveOf } from './effective.ts';
import { foresee } from './move.ts';
import { presentFeature } from './present.ts';
import { setState, sourceOf } from './set-state.ts';
import { feature } from './testing/feature.ts';

const manifest = [
  feature('t.leaf', { dependsOn: ['t.left', 't.right'] }),
  feature('t.left', { dependsOn: ['t.root'] }),
  feature('t.right', { dependsOn: ['t.root'] }),
  feature('t.root'),
  feature('t.off', { default: 'disabled', dependsOn: ['t.root'] }),
  feature('t.alone'),
  feature('t.planned', { lifecycle: 'planned', default: 'disabled' }),
];
const rules = { manifest, variables: {} };
const find = (key: string): FeatureDefinition => manifest.find((one) => one.key === key) ?? feature(key);
const nothing = { revision: 0, switches: new Map() };

describe('foresee()', () => {
  it('tells of everything behind the switch, in the order of the manifest, with all that blocks it directly', () => {
    const before = effectiveOf(rules, nothing);
    const { affected, after } = foresee(rules, before, { definition: find('t.root'), to: 'disabled' });
    expect(affected.map(({ key, reasonAfter, blockedBy }) => [key, reasonAfter, blockedBy])).toEqual([
      ['t.leaf', 'dependency_disabled', ['t.left', 't.right']],
      ['t.left', 'dependency_disabled', ['t.root']],
      ['t.right', 'dependency_disabled', ['t.root']],
      ['t.root', 'disabled', []],
    ]);
    expect(affected.every(({ enabledBefore, enabledAfter }) => enabledBefore && !enabledAfter)).toBe(true);
    expect(presentFeature(find('t.leaf'), after, rules)).toMatchObject({
      enabled: false,
      rootCauses: ['t.root'],
    });
    expect(before.snapshot.get('t.leaf').enabled).toBe(true);
  });

  it('tells of nothing where the switch is already', () => {
    expect(
      foresee(rules, effectiveOf(rules, nothing), { definition: find('t.alone'), to: 'enabled' }).affected,
    ).toEqual([]);
  });

  it('leaves out what stays off for the same reason', () => {
    const before = foresee(rules, effectiveOf(rules, nothing), {
      definition: find('t.left'),
      to: 'disabled',
    }).after;
    const { affected } = foresee(rules, before, { definition: find('t.right'), to: 'disabled' });
    expect(affected.map(({ key }) => key)).toEqual(['t.right']);
  });
});

describe('setState()', () => {
  /** Any use of the database fails the test: the refusal must come before. */
  const ctx = { call: { header: () => undefined } } as unknown as Ctx;
  const move = async (key: string, state: SwitchState): Promise<unknown> =>
    await setState(
      { rules, find, install: () => undefined },
      create(SetStateRequestSchema, { key, state, reason: 'a test of what is planned' }),
      ctx,
    );

  it('does not switch on what is planned and not built yet', async () => {
    await expect(move('t.planned', SwitchState.ENABLED)).rejects.toMatchObject({
      code: 'feature_not_toggleable',
      status: 409,
      message: expect.stringContaining('t.planned is planned'),
    });
    const before = effectiveOf(rules, nothing);
    expect(presentFeature(find('t.planned'), before, rules).toggleable).toBe(false);
    const on = foresee(rules, before, { definition: find('t.planned'), to: 'enabled' }).after;
    expect(presentFeature(find('t.planned'), on, rules).toggleable, 'left on by an earlier version').toBe(
      true,
    );
  });
});

describe('sourceOf()', () => {
  const from = (headers: Record<string, string>) => sourceOf({ header: (name) => headers[name] });

  it.each([
    [{}, 'api'],
    [{ 'x-svc-client': 'console', 'user-agent': 'svc-cli/1' }, 'console'],
    [{ 'user-agent': 'svc-cli/0.10.0' }, 'cli'],
    [{ 'user-agent': 'not svc-cli/0.10.0' }, 'api'],
    [{ 'x-svc-client': 'boot' }, 'api'],
  ])('%j: %s', (headers, expected) => {
    expect(from(headers)).toBe(expected);
  });
});
