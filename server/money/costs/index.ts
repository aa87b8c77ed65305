/** Costs of metered work. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { CostsService } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import type { CheckoutSessionSchema } from '@svc/proto/gen/svc/billing/v1/billing_pb.ts';
import type { CreateCreditCheckoutRequest } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Feature, System } from '../../platform/feature.ts';
import { pricingOf } from '../plans/index.ts';
import { creditBalance, listCreditLedger } from './credit.ts';
import { anomalies } from './anomalies.ts';
import { anomalyJob, startAnomalySweep } from './anomaly-watch.ts';
import { explain } from './explain.ts';
import { createExports } from './export.ts';
import { summary } from './summary.ts';
import { createVerify } from './verify.ts';

export { entryShown } from './credit.ts';
export { forecastOf, historyFrom, netLater } from './forecast.ts';
export type { Forecast, Spent } from './forecast.ts';
export { spentOf } from './forecast-month.ts';
export { costAt } from './priced-days.ts';
export type { MeterDay } from './priced-days.ts';

/** The part of billing that costs need. */
export interface CreditSale {
  readonly buyCredit: (
    ctx: Ctx,
    wanted: CreateCreditCheckoutRequest,
  ) => Promise<MessageInitShape<typeof CheckoutSessionSchema>>;
}

function createCosts(system: System, { buyCredit }: CreditSale): Handlers<Ctx> {
  const exports = createExports();
  return implement(CostsService, {
    explain,
    summary: async (request, ctx: Ctx) => await summary(request, ctx, pricingOf(system)),
    anomalies,
    exportJson: async (request, ctx: Ctx) => await exports.json(request, ctx, pricingOf(system)),
    exportCsv: async (request, ctx: Ctx) => await exports.csv(request, ctx, pricingOf(system)),
    verify: createVerify(() => pricingOf(system).currency),
    listCreditLedger: async (request, ctx: Ctx) => await listCreditLedger(request, ctx, pricingOf(system)),
    creditBalance: async (request, ctx: Ctx) => await creditBalance(request, ctx, pricingOf(system)),
    createCreditCheckout: async (request, ctx: Ctx) => await buyCredit(ctx, request),
  });
}

export function costsFeature(system: System, sale: CreditSale): Feature {
  return {
    services: [createCosts(system, sale)],
    jobs: [anomalyJob(system)],
    loops: [() => startAnomalySweep(system)],
  };
}
