/**
 * Plan and standing of an account, from all subscriptions that its customer has at the provider at this
 * moment.
 */
import { addEvent } from '../../kit/events/index.ts';
import { DAY_MS } from '../metering/index.ts';
import {
  changeAccountPlan,
  FREE,
  lookupKeyOf,
  NOTHING_BOUGHT,
  PAID,
  planById,
  teamsOfPayer,
  type AccountPlan,
  type PlanChange,
} from '../plans/index.ts';
import { recordProviderAct, type BillingDeps, type Change } from './billing-deps.ts';
import type { ProviderSubscription } from './provider.ts';

/** A plan holds for so long after the first payment that failed. */
export const GRACE_MS = 7 * DAY_MS;
/** A failed payment is told a second time after so long. */
export const REMINDER_MS = 5 * DAY_MS;

const LIVE: readonly string[] = ['active', 'trialing', 'past_due'];

export interface Subscribed extends ProviderSubscription {
  readonly plan: string;
}

/** Returns the plan of a lookup key, also of an older version, which stays with its price. */
export function planOfKey(lookupKey: string | undefined, currency: string): string | undefined {
  return PAID.find((plan) => {
    for (let version = 1; version <= plan.version; version += 1)
      if (lookupKeyOf({ ...plan, version }, currency) === lookupKey) return true;
    return false;
  })?.id;
}

/** This returns the subscriptions of our plans, oldest first. */
export function subscribed(
  subscriptions: readonly ProviderSubscription[],
  currency: string,
): readonly Subscribed[] {
  return subscriptions.flatMap((each) => {
    const plan = planOfKey(each.lookupKey, currency);
    return plan === undefined ? [] : [{ ...each, plan }];
  });
}

export function liveOf(all: readonly Subscribed[]): readonly Subscribed[] {
  return all.filter(({ status }) => LIVE.includes(status));
}

/** Returns the plan and standing that count, by what was known before. */
export function standingOf(all: readonly Subscribed[], before: AccountPlan, now: Date): AccountPlan {
  const [live] = liveOf(all);
  if (live === undefined) {
    const pending = all.find(({ status }) => status === 'incomplete');
    return pending === undefined
      ? NOTHING_BOUGHT
      : { ...NOTHING_BOUGHT, standing: 'pending', subscriptionId: pending.id };
  }
  const { plan, id: subscriptionId, cancelAt = null } = live;
  if (live.status !== 'past_due')
    return { plan, standing: 'active', subscriptionId, cancelAt, pastDueSince: null };
  const known = before.subscriptionId === subscriptionId ? before.pastDueSince : null;
  const since = known ?? earlier(live.failedSince ?? now, now);
  return withGrace({ plan, standing: 'past_due', subscriptionId, cancelAt, pastDueSince: since }, now);
}

const earlier = (a: Date, b: Date): Date => (a < b ? a : b);

/** The same until its days of grace are over; then the account is free, whatever is still owed. */
export function withGrace(plan: AccountPlan, now: Date): AccountPlan {
  const { standing, pastDueSince } = plan;
  const isOver =
    standing === 'past_due' && pastDueSince !== null && now.getTime() - pastDueSince.getTime() >= GRACE_MS;
  return isOver ? { ...plan, plan: FREE.id, standing: 'free' } : plan;
}

/** Changes what counts, and everything that follows from it. */
export async function applyPlan(
  { followPlans }: Pick<BillingDeps, 'followPlans'>,
  change: Change,
  {
    userId,
    next,
  }: { readonly userId: string; readonly next: (before: AccountPlan) => AccountPlan | undefined },
): Promise<void> {
  const { db, now, eventId } = change;
  const changed = await changeAccountPlan(db, { userId, eventId, now }, next);
  if (changed.id === undefined) return;
  await followPlans(db.sql, { payerId: userId });
  const notice = noticeOf(changed);
  if (notice !== undefined) await tellTeams(change, userId, { ...notice, key: changed.id });
  const { before, after } = changed;
  const details = {
    plan: after.plan,
    standing: after.standing,
    fromPlan: before.plan,
    fromStanding: before.standing,
    subscription: after.subscriptionId,
  };
  await recordProviderAct(change, { action: 'billing.plan_changed', target: userId, details });
}

export interface Notice {
  readonly kind: 'billing.payment_failed' | 'billing.plan_changed';
  readonly title: (team: string) => string;
  readonly body: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

/** Once for each team that the account pays for. */
export async function tellTeams(
  { db, now }: Change,
  userId: string,
  { kind, title, body, payload, key }: Notice & { readonly key: string },
): Promise<void> {
  for (const { id: teamId, name } of await teamsOfPayer(db.sql, { payerId: userId, now }))
    await addEvent(db, {
      teamId,
      kind,
      key: `${key}:${teamId}`,
      payload: { ...payload, title: title(name), body },
      at: now,
    });
}

const day = (moment: Date): string => moment.toISOString().slice(0, 10);

/** This returns the notice of a payment that failed; `since` is the time of the first failure. */
export function failedNotice(plan: string, since: Date): Notice {
  const { name } = planById(plan);
  const until = new Date(since.getTime() + GRACE_MS);
  return {
    kind: 'billing.payment_failed',
    title: (team) => `A payment for ${team} failed`,
    body: `The plan ${name} holds until ${day(until)} and ends then; whoever pays gives another card at the address of svc billing portal.`,
    payload: { plan, until: until.toISOString() },
  };
}

/** What nobody waits for is not told: a payment that has begun. */
function noticeOf({ before, after }: PlanChange): Notice | undefined {
  const { plan, standing, pastDueSince } = after;
  if (standing === 'past_due' && pastDueSince !== null) return failedNotice(plan, pastDueSince);
  if (plan === before.plan && before.standing !== 'past_due') return undefined;
  const { name } = planById(plan);
  return {
    kind: 'billing.plan_changed',
    title: (team) => `${team} has the plan ${name}`,
    body:
      plan === before.plan
        ? 'The payment came in, and the plan goes on.'
        : `It had the plan ${planById(before.plan).name} before; svc plans list shows what it includes.`,
    payload: { plan, standing, fromPlan: before.plan },
  };
}
