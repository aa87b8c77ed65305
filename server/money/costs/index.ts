/** What metered work costs. */
import { CostsService } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Feature, System } from '../../platform/feature.ts';
import { creditBalance, listCreditLedger } from './credit.ts';
import { anomalies } from './anomalies.ts';
import { anomalyJob, startAnomalySweep } from './anomaly-watch.ts';
import { createCreditCheckout } from './credit-checkout.ts';
import type { CreditSale } from './credit-checkout.ts';
import { explain } from './explain.ts';
import { createExports } from './export.ts';
import { summary } from './summary.ts';
import type { Pricing } from './summary.ts';

export { forecastOf, historyFrom } from './forecast.ts';
export type { Forecast, Spent } from './forecast.ts';
import { createVerify } from './verify.ts';

const missing = async (): Promise<never> => {
  throw new Error('not built yet');
};

function pricingOf({ config: { billing } }: System): Pricing {
  return { currency: billing.currency, charges: billing.stripeSecretKey !== undefined };
}

function createCosts(system: System): Handlers<Ctx> {
  const exports = createExports();
function createCosts(_system: System, { buyCredit }: CreditSale): Handlers<Ctx> {
  return implement(CostsService, {
    explain,
    summary: async (request, ctx: Ctx) => await summary(request, ctx, pricingOf(system)),
    anomalies,
    exportJson: async (request, ctx: Ctx) => await exports.json(request, ctx, pricingOf(system)),
    exportCsv: async (request, ctx: Ctx) => await exports.csv(request, ctx, pricingOf(system)),
    verify: missing,
    listCreditLedger,
    creditBalance: async (request, ctx: Ctx) => await creditBalance(system.config, request, ctx),
    verify: createVerify(),
    listCreditLedger: missing,
    creditBalance: missing,
    createCreditCheckout: createCreditCheckout(buyCredit),
  });
}

export function costsFeature(system: System): Feature {
  return {
    services: [createCosts(system)],
    jobs: [anomalyJob(system)],
    loops: [() => startAnomalySweep(system)],
  };
export function costsFeature(system: System, sale: CreditSale): Feature {
  return { services: [createCosts(system, sale)] };
}
