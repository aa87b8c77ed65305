/** Plans: the catalogue, and which time of a month a payer's plan includes. */
export { accountPlanOf, changeAccountPlan, NOTHING_BOUGHT, teamsOfPayer } from './accounts.ts';
export type { AccountPlan, PlanChange } from './accounts.ts';
export { createFollowPlans } from './limits.ts';
export type { FollowPlans } from './limits.ts';
export { plansFeature } from './service.ts';
export type { Available } from './service.ts';
export { FREE, lookupKeyOf, PAID, planById, SELF_HOSTED } from './catalogue.ts';
export type { CataloguePlan } from './catalogue.ts';
export { includedMs, includedOf, monthAfter, monthEnd, poolMs, rowKey } from './included.ts';
export type { Coverage, DayRow } from './included.ts';
export { pricingOf } from './pricing.ts';
export type { Pricing } from './pricing.ts';
export { paidMonth, paidMonths } from './paid-months.ts';
export type { PaidMonth } from './paid-months.ts';
