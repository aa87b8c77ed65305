/** This area is about what is used, what it costs, and who pays. */
import type { Area } from '../kit/feature.ts';
import { adminBillingFeature } from './adminbilling/index.ts';
import { amountsFeature } from './amounts/index.ts';
import { billingFeature } from './billing/index.ts';
import { budgetsFeature } from './budgets/index.ts';
import { costsFeature } from './costs/index.ts';
import { creditsFeature } from './credits/index.ts';
import { meteringFeature } from './metering/index.ts';
import { plansFeature } from './plans/index.ts';
import { statementsFeature } from './statements/index.ts';
import { usageFeature } from './usage/index.ts';

export const money: Area = {
  name: 'money',
  features: [
    amountsFeature,
    meteringFeature,
    plansFeature,
    creditsFeature,
    statementsFeature,
    costsFeature,
    budgetsFeature,
    billingFeature,
    adminBillingFeature,
    usageFeature,
  ],
};
