/** Billing of the installation, for staff: prices, granted credit, the closing of months. */
import { timestampDate } from '@bufbuild/protobuf/wkt';
import {
  AdminBillingService,
  BillingTaskSchema,
  PriceSchema,
  type BillingTask as TaskMessage,
  type PublishPriceRequest,
} from '@svc/proto/gen/svc/adminbilling/v1/adminbilling_pb.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature } from '../../kit/feature.ts';
import { PLATFORM_CHAIN, recordAct } from '../../kit/ledger/index.ts';
import { shown, type Row } from '../../kit/resource/index.ts';
import { amountsFeature, decimalsOf } from '../amounts/index.ts';
import { billingFeature } from '../billing/index.ts';
import { costsFeature, entryShown } from '../costs/index.ts';
import { creditsFeature, grant, revokeGrant } from '../credits/index.ts';
import {
  listPrices,
  meteringFeature,
  publishPrice,
  tellOfPrice,
  type Meter,
  type Price,
} from '../metering/index.ts';
import { plansFeature } from '../plans/index.ts';
import { statementsFeature } from '../statements/index.ts';
import { beginClosing } from './closing.ts';
import { billingTaskJob, type TaskDeps } from './job.ts';
import { beginReconciling } from './reconciling.ts';
import { findTask, listTasks, purgeTasks, type BillingTask } from './tasks.ts';

export const adminBillingFeature = declareFeature({
  name: 'adminbilling',
  on: {
    amounts: amountsFeature,
    metering: meteringFeature,
    plans: plansFeature,
    credits: creditsFeature,
    statements: statementsFeature,
    costs: costsFeature,
    billing: billingFeature,
  },
  prefixes: ['btk'],
  start: ({ db, onError }, { amounts: { pricing }, billing: { reconciling } }) => {
    const deps = { db, onError, pricing, reconciling };
    return {
      services: [createAdminBilling(deps)],
      jobs: [billingTaskJob(deps)],
      purges: [async () => await purgeTasks(db)],
    };
  },
});

function createAdminBilling({ reconciling, ...closing }: TaskDeps): Handlers<Ctx> {
  const { currency } = closing.pricing;
  return implement(AdminBillingService, {
    listPrices: async (_request, { db: reader }: Ctx) => ({
      prices: (await listPrices(reader, currency)).map((price) => shown(PriceSchema, price)),
    }),
    publishPrice: async (request, ctx: Ctx) => shown(PriceSchema, await publish(ctx, currency, request)),
    grantCredit: async ({ teamId, amountCents, reason, expiresAt }, ctx: Ctx) =>
      entryShown(
        await grant(ctx, {
          teamId,
          amountCents,
          currency,
          reason,
          expiresAt: expiresAt && timestampDate(expiresAt),
        }),
        currency,
      ),
    revokeGrant: async (request, ctx: Ctx) =>
      entryShown(await revokeGrant(ctx, { ...request, currency }), currency),
    close: async ({ dryRun }, ctx: Ctx) => taskShown(await beginClosing(ctx, closing, dryRun), currency),
    reconcile: async (_request, ctx: Ctx) => taskShown(await beginReconciling(ctx, reconciling), currency),
    getTask: async ({ taskId }, ctx: Ctx) => taskShown(await findTask(ctx.db, taskId), currency),
    listTasks: async (_request, ctx: Ctx) => ({
      tasks: (await listTasks(ctx.db)).map((task) => taskShown(task, currency)),
    }),
  });
}

function taskShown(task: BillingTask, currency: string): TaskMessage {
  const { months, ...more } = (task.result ?? {}) as Partial<Pick<Row<TaskMessage>, 'months' | 'looks'>>;
  const money = { currency, decimals: decimalsOf(currency) };
  return shown(BillingTaskSchema, {
    ...task,
    ...more,
    months: (months ?? []).map((month) => ({ ...month, ...money })),
  });
}

/** With its entry in the platform's chain, since it concerns every team, and told before it begins. */
async function publish(
  ctx: Ctx,
  currency: string,
  { meter, nanosPerSecond = 0, fromAt }: PublishPriceRequest,
): Promise<Price> {
  return await ctx.db.transact(async (db) => {
    const from = fromAt && timestampDate(fromAt);
    const price = await publishPrice(db, { meter: meter as Meter, currency, nanosPerSecond, fromAt: from });
    await tellOfPrice(db.sql, price, ctx.clock.now());
    const details = { meter, currency, nanosPerSecond, fromAt: price.fromAt.toISOString() };
    await recordAct(db, ctx, { chain: PLATFORM_CHAIN, action: 'price.published', target: price.id, details });
    return price;
  });
}
