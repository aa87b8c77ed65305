/**
 * This file keeps which plan an account has, and since when. The history is kept for ever, since included
 * time is computed from it.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { teamsPaidBy } from '../../access/teams/index.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { FREE } from './catalogue.ts';
import type { accountPlans } from './schema.ts';

type Row = typeof accountPlans.$inferSelect;

/** The plan that counts, which is the free one also while nothing is paid of the other. */
export type AccountPlan = Readonly<
  Pick<Row, 'plan' | 'standing' | 'subscriptionId' | 'cancelAt' | 'pastDueSince'>
>;

export const NOTHING_BOUGHT: AccountPlan = {
  plan: FREE.id,
  standing: 'free',
  subscriptionId: null,
  cancelAt: null,
  pastDueSince: null,
};

/** With `isLocked` nobody else changes the plan until the transaction ends. */
export async function accountPlanOf(
  { sql }: Pick<Database, 'sql'>,
  userId: string,
  isLocked = false,
): Promise<AccountPlan> {
  const [row] = await sql<AccountPlan[]>`
    select plan, standing, subscription_id as "subscriptionId", cancel_at as "cancelAt", past_due_since as "pastDueSince"
    from account_plans where user_id = ${userId} ${isLocked ? sql`for update` : sql``}`;
  return row ?? NOTHING_BOUGHT;
}

export interface PlanChange {
  readonly before: AccountPlan;
  readonly after: AccountPlan;
  /** `plc_…` of the change; undefined while plan and standing are what they were. */
  readonly id: string | undefined;
}

/**
 * This changes the plan in a transaction. `next` decides while the row is locked; the plan stays as it is
 * where that returns undefined.
 */
export async function changeAccountPlan(
  { sql }: Pick<Database, 'sql'>,
  { userId, eventId, now }: { readonly userId: string; readonly eventId: string; readonly now: Date },
  next: (before: AccountPlan) => AccountPlan | undefined,
): Promise<PlanChange> {
  await sql`
    insert into account_plans (user_id, plan, standing, changed_at) values (${userId}, ${FREE.id}, 'free', ${now}) on conflict do nothing`;
  const before = await accountPlanOf({ sql }, userId, true);
  const after = next(before) ?? before;
  const { plan, standing, subscriptionId, cancelAt, pastDueSince } = after;
  const isChanged = plan !== before.plan || standing !== before.standing;
  await sql`
    update account_plans set plan = ${plan}, standing = ${standing}, subscription_id = ${subscriptionId}, cancel_at = ${cancelAt},
      past_due_since = ${pastDueSince}, changed_at = case when ${isChanged} then ${now} else changed_at end
    where user_id = ${userId}`;
  if (!isChanged) return { before, after, id: undefined };
  const id = newId('plc', now.getTime());
  // Never before an older change, whatever the clocks of several servers say.
  await sql`
    insert into plan_changes (id, user_id, plan, standing, from_at, event_id)
    select ${id}, ${userId}, ${plan}, ${standing}, greatest(${now}, (select max(from_at) from plan_changes where user_id = ${userId})), ${eventId}`;
  return { before, after, id };
}

export interface PaidTeam {
  readonly id: string;
  readonly name: string;
}

/** Teams that an account pays for and that are still there, by id. */
export async function teamsOfPayer(
  sql: SqlTag,
  { payerId, now }: { readonly payerId: string; readonly now: Date },
): Promise<readonly PaidTeam[]> {
  const before = new Date(now.getTime() + 1);
  const ids = await teamsPaidBy(sql, { payerId, before });
  return await sql<PaidTeam[]>`select id, name from teams where id = any(${[...ids]}::text[]) order by id`;
}
