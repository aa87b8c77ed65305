/** Plans: the catalogue, and which time of a month a payer's plan includes. */
import { payingFor } from '../../access/teams/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { FREE, planById, SELF_HOSTED } from './catalogue.ts';
import type { CataloguePlan } from './catalogue.ts';
import { coverageOf, includedOf, monthAfter } from './included.ts';
import type { Coverage } from './included.ts';

export { accountPlanOf, changeAccountPlan, NOTHING_BOUGHT, teamsOfPayer } from './accounts.ts';
export type { AccountPlan, PlanChange } from './accounts.ts';
export { createFollowPlans } from './limits.ts';
export type { FollowPlans } from './limits.ts';
export { plansFeature } from './service.ts';
export type { Available } from './service.ts';
export { FREE, lookupKeyOf, PAID, planById, SELF_HOSTED } from './catalogue.ts';
export type { CataloguePlan } from './catalogue.ts';
export { costsOf, coverageOf, includedMs, includedOf, monthAfter, poolMs, rowKey } from './included.ts';
export type { Costs, Coverage, DayRow } from './included.ts';
export { pricingOf } from './pricing.ts';
export type { Pricing } from './pricing.ts';
export { paidMonths } from './paid-months.ts';
export type { UsedMonth } from './paid-months.ts';

export interface PaidMonth {
  readonly payerId: string | null;
  /** All teams of the payer. */
  readonly teamIds: readonly string[];
  readonly plan: CataloguePlan;
  /** Milliseconds that the month includes, for all these teams. */
  readonly poolMs: number;
  readonly coverage: Coverage;
}

/** Under which plan a team's month is, and what of it that covers. `charges`: there is a provider of payments; without one nothing is included and nothing refused. */
export async function paidMonth(
  { sql }: Pick<Database, 'sql'>,
  {
    teamId,
    period,
    charges,
  }: { readonly teamId: string; readonly period: string; readonly charges: boolean },
): Promise<PaidMonth> {
  const before = new Date(`${monthAfter(period)}T00:00:00Z`);
  const { payerId, teamIds } = await payingFor(sql, { teamId, before });
  const { plan, poolMs } = !charges
    ? { plan: SELF_HOSTED.id, poolMs: 0 }
    : payerId === null
      ? { plan: FREE.id, poolMs: FREE.includedSeconds * 1_000 }
      : await includedOf({ sql }, { payerId, period });
  const coverage = await coverageOf(sql, { teamIds, period, poolMs });
  return { payerId, teamIds, plan: planById(plan), poolMs, coverage };
}
