import { describe, expect, it } from 'vitest';
import type { Attestation, Environment, Promotion, Release, RunningImage } from '@svc/sdk';
import {
  cameOf,
  cellOf,
  differenceOf,
  isRemovable,
  isNewest,
  plain,
  promotionState,
  standing,
  statementName,
  unlisted,
  waitingIn,
  whyNot,
  type Column,
} from './words.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 10, 20, 12, minute)).toISOString();
const release = (id: string, minute: number): Release => ({
  id,
  teamId: 'team_1',
  projectId: 'prj_1',
  projectName: 'shop',
  version: id,
  notes: '',
  digest: 'sha256:1',
  createdBy: 'user_1',
  createdAt: at(minute),
  artifacts: [],
});
/** Asked for at that minute. */
const promotion = (
  id: string,
  minute: number,
  more: Partial<Promotion> & Pick<Promotion, 'releaseId'>,
): Promotion => ({
  id,
  teamId: 'team_1',
  projectId: 'prj_1',
  environmentId: 'env_1',
  environmentName: 'production',
  version: more.releaseId,
  state: 'pending',
  requestedBy: 'user_1',
  approvals: [],
  createdAt: at(minute),
  ...more,
});
const environment = { id: 'env_1', requiredApprovals: 1, allowSelfApproval: false } as Environment;
const column = (isWhole: boolean, ...promotions: Promotion[]): Column => ({
  environment,
  promotions,
  isWhole,
  running: undefined,
});
/** Deployed at that minute. */
const runs = (minute: number, releaseId?: string): RunningImage => ({
  environmentId: 'env_1',
  environmentName: 'production',
  image: { since: at(minute), ...(releaseId !== undefined && { releaseId }) },
  how: 'rollback',
});

describe('cellOf()', () => {
  const deployed = { state: 'deployed' } as const;
  const first = promotion('a', 1, { releaseId: 'one', ...deployed, approvedAt: at(2), endedAt: at(3) });
  const second = promotion('b', 4, { releaseId: 'two', ...deployed, approvedAt: at(5), endedAt: at(6) });
  const cell = (running: RunningImage | undefined, ...[id, promotions]: [string, ...Promotion[][]]) =>
    cellOf({ ...column(true, ...(promotions ?? [second, first])), running }, release(id, 0));

  it('tells what runs, however it came, beside what was asked for since', () => {
    expect(cell(runs(6, 'two'), 'two')).toEqual({ runs: runs(6, 'two'), promotion: undefined });
    expect(cell(runs(6, 'two'), 'one')).toEqual({ runs: undefined, promotion: first });
    expect(cell(runs(7, 'one'), 'one')).toEqual({ runs: runs(7, 'one'), promotion: undefined });
    expect(cell(runs(7, 'one'), 'one', [second])).toEqual({ runs: runs(7, 'one'), promotion: undefined });
    const again = promotion('c', 7, { releaseId: 'two', state: 'rejected' });
    expect(cell(runs(6, 'two'), 'two', [again, second])).toEqual({ runs: runs(6, 'two'), promotion: again });
    expect(cell(undefined, 'one', [])).toEqual({ runs: undefined, promotion: undefined });
  });

  it('tells what was deployed a moment ago and is not said to run yet', () => {
    expect(cell(runs(3, 'two'), 'two')).toEqual({ runs: runs(3, 'two'), promotion: second });
    const newest = (running: RunningImage | undefined, of: Promotion) =>
      isNewest({ ...column(true), running }, of);
    expect([newest(runs(3), second), newest(runs(7), second), newest(undefined, second)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('does not call a release unpromoted when its promotions were not read', () => {
    const part = column(false, second);
    expect(cellOf(part, release('one', 0)).promotion).toBe('unread');
    expect(cellOf(part, release('three', 9)).promotion).toBeUndefined();
    expect(cellOf({ ...part, running: runs(7, 'one') }, release('one', 0)).promotion).toBeUndefined();
  });
});

describe('unlisted()', () => {
  it('is what runs and is of no release that is shown', () => {
    const of = (running: RunningImage | undefined) =>
      unlisted({ ...column(true), running }, [release('one', 0)]);
    expect([of(undefined), of(runs(1, 'one'))]).toEqual([undefined, undefined]);
    expect([of(runs(1)), of(runs(1, 'two'))]).toEqual([runs(1), runs(1, 'two')]);
  });
});

describe('standing()', () => {
  it('has a word for each state, and another for what was replaced', () => {
    const word = (more: Partial<Promotion>, isCurrent = false): string =>
      standing(promotion('a', 1, { releaseId: 'one', ...more }), isCurrent)[0];
    expect(word({})).toBe('Pending');
    expect(word({ state: 'approved' })).toBe('Approved');
    expect(word({ state: 'deployed' }, true)).toBe('Deployed');
    expect(word({ state: 'deployed' })).toBe('Deployed before');
    expect(word({ state: 'failed' })).toBe('Failed');
    expect(word({ state: 'rejected', rejection: 'superseded' })).toBe('Superseded');
    expect(word({ state: 'rejected', rejection: 'expired' })).toBe('Expired');
    expect(word({ state: 'rejected', rejection: 'rejected' })).toBe('Rejected');
  });
});

describe('waitingIn()', () => {
  it('takes what is open of all environments, newest first', () => {
    const open = [
      promotion('b', 3, { releaseId: 'two' }),
      promotion('c', 2, { releaseId: 'one', state: 'approved' }),
      promotion('d', 1, { releaseId: 'one', state: 'deployed' }),
    ];
    const other = column(true, promotion('e', 4, { releaseId: 'one' }));
    expect(waitingIn([column(true, ...open), other]).map((each) => each.promotion.id)).toEqual([
      'e',
      'b',
      'c',
    ]);
  });
});

describe('approvals', () => {
  const approved = promotion('a', 1, {
    releaseId: 'one',
    approvals: [
      { userId: 'user_1', at: at(1) },
      { userId: 'user_2', at: at(2) },
    ],
  });

  it('are offered to who can give one', () => {
    const asked = promotion('a', 1, { releaseId: 'one' });
    const can = (userId: string, role: string | undefined) => whyNot(asked, environment, { userId, role });
    expect(can('user_2', 'admin')).toBeUndefined();
    expect(can('user_2', undefined)).toBeUndefined();
    expect(can('user_2', 'developer')).toMatch(/admin/);
    expect(can('user_1', 'owner')).toMatch(/somebody else/);
    expect(whyNot(approved, environment, { userId: 'user_2', role: 'owner' })).toMatch(/have approved/);
  });
});

describe('statementName()', () => {
  it('names what people know, and else the last part that is no version', () => {
    const named = (predicateType: string): string => statementName({ predicateType });
    expect(named('https://slsa.dev/provenance/v1')).toBe('Provenance');
    expect(named('https://in-toto.io/attestation/test-result/v0.1')).toBe('Test result');
    expect(named('urn:x')).toBe('Urn:x');
  });
});

describe('cameOf()', () => {
  it('names what leads to a node', () => {
    const build = { kind: 'build', id: 'bld_1', name: 'production' } as const;
    const artifact = { kind: 'artifact', id: 'art_1', name: 'web' } as const;
    const edges = [{ from: 'bld_1', to: 'art_1', relation: 'produced' }];
    const lineage = { nodes: [build, artifact], edges, truncated: false };
    expect(cameOf(artifact, lineage)).toBe('Build production');
    expect(cameOf(build, lineage)).toBe('');
  });
});

describe('promotionState()', () => {
  it('has words for promotions alone, also for a state that is new', () => {
    const node = { id: 'x', name: 'x' };
    expect(promotionState({ ...node, kind: 'promotion', state: 'rejected' })).toEqual(['Rejected', 'bad']);
    expect(promotionState({ ...node, kind: 'promotion', state: 'paused' })).toEqual(['paused', 'quiet']);
    expect(promotionState({ ...node, kind: 'deployment', state: 'direct' })).toBeUndefined();
    expect(promotionState({ ...node, kind: 'release' })).toBeUndefined();
  });
});

describe('plain()', () => {
  it('leaves out what is unseen, and cuts between characters', () => {
    expect(plain('we\u202eb\u0000\n\u200b <b>', 80)).toBe('web <b>');
    expect(plain('🚀🚀🚀', 3)).toBe('🚀🚀🚀');
    expect(plain('🚀🚀🚀🚀', 3)).toBe('🚀🚀…');
  });
});

describe('isRemovable()', () => {
  it.each([
    ['https://slsa.dev/provenance/v1', 'sgk_1', false],
    ['https://svc.example/attestations/evaluation/v1', 'sgk_1', true],
    ['https://x.example/scan/v1', 'tky_1', true],
    ['https://slsa.dev/provenance/v1', undefined, true],
  ])('says of %s by %s: %s', (predicateType, keyId, is) => {
    expect(isRemovable({ predicateType, verification: { status: 'valid', keyId } } as Attestation)).toBe(is);
  });
});

describe('differenceOf()', () => {
  it('says what a list says otherwise than the runner', () => {
    expect(differenceOf({ added: 0, lacking: 0, otherwise: 0 })).toBe('It says what the runner listed.');
    expect(differenceOf({ added: 2, lacking: 1, otherwise: 3 })).toBe(
      'Against the runner’s list it adds 2, lacks 1, and says otherwise of 3.',
    );
  });
});
