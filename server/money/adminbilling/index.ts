/** Billing of the installation, for staff: prices, granted credit, the closing of months. */
import { timestampDate } from '@bufbuild/protobuf/wkt';
import {
  AdminBillingService,
  CloseResponseSchema,
  PriceSchema,
  ReconcileResponseSchema,
} from '@svc/proto/gen/svc/adminbilling/v1/adminbilling_pb.ts';
import type { PublishPriceRequest } from '@svc/proto/gen/svc/adminbilling/v1/adminbilling_pb.ts';
import { CreditEntrySchema } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { ApiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Feature, System } from '../../platform/feature.ts';
import { PLATFORM_CHAIN, recordAct } from '../../platform/ledger/index.ts';
import { shown } from '../../platform/resource/index.ts';
import type { Billing } from '../billing/index.ts';
import { grant } from '../credits/index.ts';
import { listPrices, publishPrice } from '../metering/index.ts';
import type { Meter, Price } from '../metering/index.ts';
import { closeMonths } from '../statements/index.ts';
import type { Waiting } from '../statements/index.ts';

export function adminBillingFeature(system: System, deps: Pick<Billing, 'reconcile'>): Feature {
  return { services: [createAdminBilling(system, deps)] };
}

function createAdminBilling(system: System, { reconcile }: Pick<Billing, 'reconcile'>): Handlers<Ctx> {
  const { currency } = system.config.billing;
  return implement(AdminBillingService, {
    listPrices: async (_request, { db }: Ctx) => ({
      prices: (await listPrices(db, currency)).map((price) => shown(PriceSchema, price)),
    }),
    publishPrice: async (request, ctx: Ctx) => shown(PriceSchema, await publish(ctx, currency, request)),
    grantCredit: async ({ teamId, amountCents, reason, expiresAt }, ctx: Ctx) =>
      shown(
        CreditEntrySchema,
        await grant(ctx, { teamId, amountCents, reason, expiresAt: expiresAt && timestampDate(expiresAt) }),
      ),
    close: async ({ dryRun }, ctx: Ctx) =>
      shown(CloseResponseSchema, { months: await close(system, ctx, dryRun) }),
    reconcile: async () => shown(ReconcileResponseSchema, await reconcile()),
  });
}

/** With its entry in the platform's chain: it concerns every team. */
async function publish(
  ctx: Ctx,
  currency: string,
  { meter, nanosPerSecond = 0, fromAt }: PublishPriceRequest,
): Promise<Price> {
  return await ctx.db.transact(async (db) => {
    const from = fromAt && timestampDate(fromAt);
    const price = await publishPrice(db, { meter: meter as Meter, currency, nanosPerSecond, fromAt: from });
    const details = { meter, currency, nanosPerSecond, fromAt: price.fromAt.toISOString() };
    await recordAct(db, ctx, { chain: PLATFORM_CHAIN, action: 'price.published', target: price.id, details });
    return price;
  });
}

/** Answers the months that could be closed; when none could, it says why. */
async function close(system: System, ctx: Ctx, dryRun: boolean) {
  const { months, waiting } = await closeMonths(system, { dryRun });
  if (waiting !== undefined && months.length === 0) throw held(waiting);
  const closed = months.map((month) => ({ ...month, period: month.period.slice(0, 7) }));
  if (!dryRun)
    await ctx.db.transact(async (db) => {
      for (const { period, ...details } of closed)
        await recordAct(db, ctx, { chain: PLATFORM_CHAIN, action: 'month.closed', target: period, details });
    });
  return closed;
}

function held({ period, reports }: Waiting): ApiError {
  const month = period.slice(0, 7);
  return apiError(
    'state_conflict',
    `${reports} reports of ${month} are not published yet; the month is closed when they are, or six hours after its end`,
    { details: { resource: 'month', period: month, reports } },
  );
}
