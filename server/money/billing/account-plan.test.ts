/** Tests which plan and standing subscriptions come to. */
import { describe, expect, it } from 'vitest';
import { NOTHING_BOUGHT, type AccountPlan } from '../plans/index.ts';
import { GRACE_MS, planOfKey, standingOf, subscribed, withGrace } from './account-plan.ts';
import type { ProviderSubscription } from './provider.ts';

const now = new Date('2026-11-26T12:00:00Z');
const ago = (ms: number) => new Date(now.getTime() - ms);
const HOUR = 60 * 60_000;

const subscription = (more: Partial<ProviderSubscription> = {}): ProviderSubscription => ({
  id: 'sub_1',
  status: 'active',
  createdAt: ago(0),
  itemId: 'si_1',
  lookupKey: 'svc_team_usd_v1',
  cancelAt: undefined,
  failedSince: undefined,
  ...more,
});
const standing = (all: readonly ProviderSubscription[], before: AccountPlan = NOTHING_BOUGHT) =>
  standingOf(subscribed(all, 'usd'), before, now);

describe('standingOf()', () => {
  it.each([
    ['active', 'team', 'active'],
    ['trialing', 'team', 'active'],
    ['past_due', 'team', 'past_due'],
    ['incomplete', 'free', 'pending'],
    ['incomplete_expired', 'free', 'free'],
    ['unpaid', 'free', 'free'],
    ['canceled', 'free', 'free'],
    ['paused', 'free', 'free'],
    ['of_a_later_version', 'free', 'free'],
  ])('makes of a subscription that is %s the plan %s, %s', (status, plan, word) =>
    expect(standing([subscription({ status })])).toMatchObject({ plan, standing: word }),
  );

  it('keeps the oldest of several that live, whatever else has ended', () =>
    expect(
      standing([
        subscription({ id: 'sub_0', status: 'canceled', lookupKey: 'svc_business_usd_v1' }),
        subscription({ id: 'sub_1', status: 'past_due', failedSince: ago(HOUR) }),
        subscription({ id: 'sub_2', lookupKey: 'svc_business_usd_v1' }),
      ]),
    ).toMatchObject({ plan: 'team', standing: 'past_due', subscriptionId: 'sub_1' }));

  it('counts grace from the first failure, also when it is heard of late, and never anew', () => {
    const failed = [subscription({ status: 'past_due', failedSince: ago(6 * 24 * HOUR) })];
    expect(standing(failed)).toMatchObject({ standing: 'past_due', pastDueSince: ago(6 * 24 * HOUR) });
    const known = { ...NOTHING_BOUGHT, subscriptionId: 'sub_1', pastDueSince: ago(GRACE_MS) };
    expect(standing(failed, known)).toMatchObject({
      plan: 'free',
      standing: 'free',
      subscriptionId: 'sub_1',
    });
    const ahead = [subscription({ status: 'past_due', failedSince: ago(-HOUR) })];
    expect(standing(ahead).pastDueSince).toEqual(now);
  });

  it('forgets failures of what is paid, and of another subscription', () => {
    const known = { ...NOTHING_BOUGHT, subscriptionId: 'sub_0', pastDueSince: ago(GRACE_MS) };
    expect(standing([subscription()], known)).toMatchObject({ standing: 'active', pastDueSince: null });
    expect(standing([subscription({ status: 'past_due' })], known)).toMatchObject({ standing: 'past_due' });
  });

  it('ends grace at seven days, not a millisecond before', () => {
    const late = { ...NOTHING_BOUGHT, plan: 'team', standing: 'past_due' } as const;
    expect(withGrace({ ...late, pastDueSince: ago(GRACE_MS - 1) }, now).plan).toBe('team');
    expect(withGrace({ ...late, pastDueSince: ago(GRACE_MS) }, now)).toMatchObject({
      plan: 'free',
      standing: 'free',
    });
  });
});

describe('planOfKey()', () => {
  it.each([
    ['svc_team_usd_v1', 'team'],
    ['svc_business_usd_v1', 'business'],
    ['svc_free_usd_v1', undefined],
    ['svc_team_eur_v1', undefined],
    ['svc_team_usd_v2', undefined],
    ['svc_team_usd_v0', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('takes %s for %s', (key, plan) => expect(planOfKey(key, 'usd')).toBe(plan));
});
