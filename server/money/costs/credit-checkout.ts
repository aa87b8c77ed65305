/** Credit is bought at the provider of payments, by an owner of the team. */
import type { CreateCreditCheckoutRequest } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Billing } from '../billing/index.ts';

/** The part of billing that costs need. */
export type CreditSale = Pick<Billing, 'buyCredit'>;

export const NOT_FOR_SALE: CreditSale = {
  buyCredit: async () => {
    throw apiError('billing_unconfigured', 'credit is not for sale here');
  },
};

export function createCreditCheckout(buyCredit: CreditSale['buyCredit']) {
  return async (request: CreateCreditCheckoutRequest, ctx: Ctx) => await buyCredit(ctx, request);
}
