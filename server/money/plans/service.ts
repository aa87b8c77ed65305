/** The catalogue as people see it. */
import { MeterPriceSchema, PlansService } from '@svc/proto/gen/svc/plans/v1/plans_pb.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../kit/context.ts';
import { shown as shownAs } from '../../kit/resource/index.ts';
import { decimalsOf } from '../amounts/index.ts';
import { pricesNow } from '../metering/index.ts';
import { accountPlanOf } from './accounts.ts';
import { FREE, PAID, SELF_HOSTED, type CataloguePlan } from './catalogue.ts';

/** Ids of the plans that can be bought at this moment. Undefined: there is no provider of payments. */
export type Available = (() => Promise<ReadonlySet<string>>) | undefined;

export function createPlans(currency: string, availability: () => Available): Handlers<Ctx> {
  const shown = (
    { limits, ...plan }: CataloguePlan,
    more: { readonly available: boolean; readonly current: boolean },
  ) => ({ ...plan, ...limits, currency, decimals: decimalsOf(currency), ...more });
  const list = async (_request: object, ctx: Ctx) => {
    const { kind, userId } = ctx.caller;
    // A job of a CI system belongs to no account.
    const isKnown = kind !== 'anonymous' && userId !== '';
    const available = availability();
    if (available === undefined)
      return { plans: [shown(SELF_HOSTED, { available: true, current: isKnown })] };
    const own = isKnown ? (await accountPlanOf(ctx.db, userId)).plan : undefined;
    const bought = await available();
    const plans = [FREE, ...PAID].map((plan) =>
      shown(plan, { available: plan === FREE || bought.has(plan.id), current: plan.id === own }),
    );
    return { plans };
  };
  const prices = async (_request: object, { db }: Ctx) => {
    const all = await pricesNow(db, currency);
    return {
      prices: all.map(({ fromAt, ...price }) =>
        shownAs(MeterPriceSchema, { ...price, fromAt: price.isDefault ? undefined : fromAt }),
      ),
    };
  };
  return implement(PlansService, { list, listPrices: prices });
}
