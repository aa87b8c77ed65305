import { describe, expect, it } from 'vitest';
import { gapsOf, ofPolicies } from './population.ts';

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
