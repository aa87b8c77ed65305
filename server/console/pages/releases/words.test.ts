import { describe, expect, it } from 'vitest';
import type { Environment, Promotion, Release } from '@svc/sdk';
import {
  cameOf,
  cellOf,
  plain,
  promotionState,
  standing,
  statementName,
  waitingIn,
  whyNot,
} from './words.ts';
import type { Column } from './words.ts';

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
});

describe('cellOf()', () => {
  const first = promotion('a', 1, { releaseId: 'one', state: 'deployed', endedAt: at(2) });
  const second = promotion('b', 3, { releaseId: 'two', state: 'deployed', endedAt: at(4) });

  it('tells what runs beside what was asked for since', () => {
    const again = promotion('c', 5, { releaseId: 'two', state: 'rejected' });
    expect(cellOf(column(true, again, second, first), release('two', 0))).toEqual([second, again]);
    expect(cellOf(column(true, again, second, first), release('one', 0))).toEqual([first]);
    expect(cellOf(column(true), release('one', 0))).toEqual([]);
  });

  it('does not call a release unpromoted when its promotions were not read', () => {
    expect(cellOf(column(false, second), release('one', 0))).toBe('unread');
    expect(cellOf(column(false, second), release('three', 9))).toEqual([]);
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
