/** Costs of metered work. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  CostsService,
  type CheckoutSessionSchema,
  type CreateCreditCheckoutRequest,
} from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill, filledOnce, port, type System } from '../../kit/feature.ts';
import { overviewSources } from '../../kit/overview.ts';
import { amountsFeature, type Pricing } from '../amounts/index.ts';
import { accountsFeature } from '../../access/accounts/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { regionsFeature } from '../../engine/regions/index.ts';
import { creditsFeature } from '../credits/index.ts';
import { meteringFeature } from '../metering/index.ts';
import { plansFeature } from '../plans/index.ts';
import { statementsFeature } from '../statements/index.ts';
import { creditBalance, listCreditLedger } from './credit.ts';
import { anomalies } from './anomalies.ts';
import { anomalyJob, startAnomalySweep } from './anomaly-watch.ts';
import { explain } from './explain.ts';
import { createExports } from './export.ts';
import { monthToDate, summary } from './summary.ts';
import { createVerify } from './verify.ts';

export { entryShown } from './credit.ts';
export { forecastOf, historyFrom, netLater } from './forecast.ts';
export { spentOf } from './forecast-month.ts';
export { costAt, type MeterDay } from './priced-days.ts';

/** Buys credit at the provider of payments. */
export type BuyCredit = (
  ctx: Ctx,
  wanted: CreateCreditCheckoutRequest,
) => Promise<MessageInitShape<typeof CheckoutSessionSchema>>;

/** Billing fills it. */
export const buyCredit = port<BuyCredit>('purchase of credit');

export function createCosts(system: Pick<System, 'filled'>, pricing: Pricing): Handlers<Ctx> {
  const exports = createExports();
  return implement(CostsService, {
    explain,
    summary: async (request, ctx: Ctx) => await summary(request, ctx, pricing),
    anomalies,
    exportJson: async (request, ctx: Ctx) => await exports.json(request, ctx, pricing),
    exportCsv: async (request, ctx: Ctx) => await exports.csv(request, ctx, pricing),
    verify: createVerify(pricing.currency),
    listCreditLedger: async (request, ctx: Ctx) => await listCreditLedger(request, ctx, pricing),
    creditBalance: async (request, ctx: Ctx) => await creditBalance(request, ctx, pricing),
    createCreditCheckout: async (request, ctx: Ctx) => await filledOnce(system, buyCredit)(ctx, request),
  });
}

export const costsFeature = declareFeature({
  name: 'costs',
  on: {
    accounts: accountsFeature,
    teams: teamsFeature,
    regions: regionsFeature,
    amounts: amountsFeature,
    metering: meteringFeature,
    plans: plansFeature,
    credits: creditsFeature,
    statements: statementsFeature,
  },
  events: {
    'cost.anomaly': {
      when: 'On the day before, the team or one of its projects cost far more than it does on that weekday.',
      scope: 'cost:read',
      notifies: true,
      delivered: true,
    },
  },
  start: (system, { amounts: { pricing } }) => ({
    services: [createCosts(system, pricing)],
    fills: [fill(overviewSources, monthToDate(pricing))],
    jobs: [anomalyJob({ ...system, ...pricing })],
    loops: [() => startAnomalySweep(system)],
  }),
});
