/** Plans: the catalogue, and which time of a month a payer's plan includes. */
import { limitsFeature } from '../../engine/limits/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { amountsFeature } from '../amounts/index.ts';
import { meteringFeature } from '../metering/index.ts';
import { declareFeature, port } from '../../kit/feature.ts';
import { createFollowPlans } from './limits.ts';
import { createPlans, type Available } from './service.ts';

export { accountPlanOf, changeAccountPlan, NOTHING_BOUGHT, teamsOfPayer } from './accounts.ts';
export type { AccountPlan, PlanChange } from './accounts.ts';
export { createFollowPlans } from './limits.ts';
export type { FollowPlans } from './limits.ts';
export { FREE, lookupKeyOf, PAID, planById, SELF_HOSTED } from './catalogue.ts';
export type { CataloguePlan } from './catalogue.ts';
export { includedMs, includedOf, monthAfter, monthEnd, poolMs, rowKey } from './included.ts';
export type { Coverage } from './included.ts';
export type { Pricing } from '../amounts/index.ts';
export { paidMonth, paidMonths } from './paid-months.ts';
export type { PaidMonth } from './paid-months.ts';

/** A provider of payments fills it, if there is one. */
export const availablePlans = port<NonNullable<Available>>('plans that can be bought');

export const plansFeature = declareFeature({
  name: 'plans',
  on: { teams: teamsFeature, limits: limitsFeature, amounts: amountsFeature, metering: meteringFeature },
  prefixes: ['plc'],
  reads: ['account_plans', 'plan_fees'],
  writes: ['plan_fees'],
  start: (system, { amounts: { pricing }, limits: { limits } }) => ({
    followPlans: createFollowPlans(limits, pricing.charges),
    services: [createPlans(pricing.currency, () => system.filled(availablePlans)[0])],
  }),
});
