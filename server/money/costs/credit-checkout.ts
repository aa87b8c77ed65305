/** Credit is bought at the provider of payments, by an owner of the team. */
import type { CreateCreditCheckoutRequest } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Billing } from '../billing/index.ts';

/** The part of billing that costs need. */
export type CreditSale = Pick<Billing, 'buyCredit'>;

export function createCreditCheckout(buyCredit: CreditSale['buyCredit']) {
  return async (request: CreateCreditCheckoutRequest, ctx: Ctx) => await buyCredit(ctx, request);
}
