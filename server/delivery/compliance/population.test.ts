import { describe, expect, it } from 'vitest';
import { doubtsOf, gapsOf, ofPolicies, type KnownDeployment } from './population.ts';

describe('gapsOf()', () => {
  const gaps = (numbers: number[], told?: readonly [number, number]) =>
    gapsOf(
      new Map(numbers.length === 0 ? [] : [['env_1', numbers]]),
      new Map(told === undefined ? [] : [['env_1', { first: told[0], last: told[1] }]]),
    );
  const gap = (from: number, to: number) => ({ kind: 'number_gap', environmentId: 'env_1', from, to });

  it('names ranges between the first and the last number, in whatever order they come', () => {
    expect(gaps([7, 3, 4])).toEqual([gap(5, 6)]);
    expect(gaps([1, 2_000_000_000])).toEqual([gap(2, 1_999_999_999)]);
    expect(gaps([5])).toEqual([]);
    expect(gaps([])).toEqual([]);
  });

  it('names what the ledger knows of before the first, behind the last, and of an environment without any', () => {
    expect(gaps([3, 4], [2, 6])).toEqual([gap(2, 2), gap(5, 6)]);
    expect(gaps([3, 5], [3, 5])).toEqual([gap(4, 4)]);
    expect(gaps([3, 4], [1, 2])).toEqual([gap(1, 2)]);
    expect(gaps([1, 9], [4, 5])).toEqual([gap(2, 8)]);
    expect(gaps([], [1, 3])).toEqual([gap(1, 3)]);
  });
});

describe('ofPolicies()', () => {
  const act = (seq: number, action: string, policyId: string) => ({
    seq,
    action,
    policyId,
    at: '2026-01-01T00:00:00.000Z',
    actor: 'ada',
    actorId: 'user_1',
  });

  it('pairs the end of a policy with its next beginning, and leaves one open that was not enabled again', () => {
    const found = ofPolicies([
      act(1, 'policy.enabled', 'pol_1'),
      act(2, 'policy.disabled', 'pol_1'),
      act(3, 'policy.disabled', 'pol_2'),
      act(4, 'policy.enabled', 'pol_1'),
      act(5, 'policy.overridden', 'prm_1'),
    ]);
    expect(found).toMatchObject([
      { kind: 'policy_disabled', seq: 2, enabledAgain: { seq: 4 } },
      { kind: 'policy_disabled', seq: 3, enabledAgain: null },
      { kind: 'policy_overridden', seq: 5, subject: 'prm_1' },
    ]);
  });
});

describe('doubtsOf()', () => {
  const gate = (
    action: string,
    actorId: string,
    outcome = 'allow',
  ): KnownDeployment['decisions'][number] => ({
    id: 'pgt_1',
    subject: 'bld_1',
    action,
    outcome,
    actorId,
    at: new Date(0),
    overrideReason: null,
    decisions: [],
  });
  const artifact: KnownDeployment['artifacts'][number]['artifact'] = {
    id: 'art_1',
    digest: 'sha256:1',
    name: 'web',
    kind: 'image',
    hasPackages: true,
    repository: null,
    branch: null,
    commit: null,
    builtBy: null,
  };
  const promotion = (requestedBy: string, ...approvers: string[]): KnownDeployment['promotion'] => ({
    id: 'prm_1',
    releaseId: 'rel_1',
    version: '1',
    requestedBy,
    overrideReason: null,
    approvals: approvers.map((userId) => ({ userId })),
  });
  const good: KnownDeployment = {
    how: 'promotion',
    promotion: promotion('ada', 'bob'),
    artifacts: [{ artifact, provenance: 'valid' }],
    decisions: [gate('promotion.approve', 'bob')],
    ledger: [],
  };

  it('has none about what somebody else approved, of known packages and provenance', () => {
    expect(doubtsOf(good)).toEqual([]);
  });

  it('sees who approved what they asked for, by promotion, by gates and by the ledger', () => {
    expect(doubtsOf({ ...good, promotion: promotion('ada', 'bob', 'ada') })).toEqual(['self_approved']);
    const build: KnownDeployment = { ...good, how: 'approved', promotion: undefined };
    const byGates = (approver: string): KnownDeployment => ({
      ...build,
      decisions: [gate('build.create', 'ada'), gate('deploy', approver)],
    });
    expect(doubtsOf(byGates('ada'))).toEqual(['self_approved']);
    expect(doubtsOf(byGates('bob'))).toEqual([]);
    const acts = ['build.submitted', 'build.deploy_approved'].map((action) => ({ action, actorId: 'ada' }));
    expect(doubtsOf({ ...build, decisions: [], ledger: acts })).toEqual(['self_approved']);
    // Who rolls back to what they once submitted approves nothing.
    expect(doubtsOf({ ...byGates('ada'), how: 'rollback' })).toEqual([]);
  });

  it('sees what went on in spite of a policy, and what nothing is known of', () => {
    expect(doubtsOf({ ...good, decisions: [gate('promotion.approve', 'bob', 'overridden')] })).toEqual([
      'override',
    ]);
    const unknown = ['unverified_provenance', 'no_package_list'];
    const artifacts = [{ artifact: null, provenance: 'unverified' }];
    expect(doubtsOf({ ...good, how: 'direct', artifacts })).toEqual(['direct', ...unknown]);
    // One of several that were deployed elsewhere is enough; and nothing is known of nothing.
    expect(doubtsOf({ ...good, how: 'elsewhere', artifacts: [...good.artifacts, ...artifacts] })).toEqual(
      unknown,
    );
    expect(doubtsOf({ ...good, how: 'elsewhere', artifacts: [] })).toEqual(unknown);
  });
});
