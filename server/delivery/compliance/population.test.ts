import { describe, expect, it } from 'vitest';
import { doubtsOf, gapsOf, ofPolicies } from './population.ts';
import type { Known } from './population.ts';

describe('gapsOf()', () => {
  it('names ranges between the first and the last number, in whatever order they come', () => {
    expect(gapsOf(new Map([['env_1', [7, 3, 4]]]))).toEqual([
      { kind: 'number_gap', environmentId: 'env_1', from: 5, to: 6 },
    ]);
    const far = gapsOf(new Map([['env_1', [1, 2_000_000_000]]]));
    expect(far).toEqual([{ kind: 'number_gap', environmentId: 'env_1', from: 2, to: 1_999_999_999 }]);
    expect(gapsOf(new Map([['env_1', [5]]]))).toEqual([]);
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
  const gate = (action: string, actorId: string, outcome = 'allow'): Known['decisions'][number] => ({
    id: 'pgt_1',
    subject: 'bld_1',
    action,
    outcome,
    actorId,
    at: new Date(0),
    overrideReason: null,
    decisions: [],
  });
  const artifact: Known['artifact'] = {
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
  const promotion = (requestedBy: string, ...approvers: string[]): Known['promotion'] => ({
    id: 'prm_1',
    releaseId: 'rel_1',
    version: '1',
    requestedBy,
    overrideReason: null,
    approvals: approvers.map((userId) => ({ userId })),
  });
  const good: Known = {
    how: 'promotion',
    promotion: promotion('ada', 'bob'),
    artifact,
    provenance: 'valid',
    decisions: [gate('promotion.approve', 'bob')],
    ledger: [],
  };

  it('has none about what somebody else approved, of known packages and provenance', () => {
    expect(doubtsOf(good)).toEqual([]);
  });

  it('sees who approved what they asked for, by promotion, by gates and by the ledger', () => {
    expect(doubtsOf({ ...good, promotion: promotion('ada', 'bob', 'ada') })).toEqual(['self_approved']);
    const build: Known = { ...good, how: 'approved', promotion: undefined };
    const byGates = (approver: string): Known => ({
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
    expect(doubtsOf({ ...good, how: 'direct', artifact: undefined, provenance: 'unverified' })).toEqual([
      'direct',
      'unverified_provenance',
      'no_package_list',
    ]);
  });
});
