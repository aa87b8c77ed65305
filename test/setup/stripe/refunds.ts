import type Stripe from 'stripe';
import type { Params } from './forms.ts';
import { nulls } from './nulls.ts';
import { mustBePayable } from './payable.ts';
import { invalid } from './refusal.ts';
import { accepts, lists, post, shows, type Call, type Route } from './routes.ts';
import { idOf, type World } from './world.ts';

export interface NewRefund {
  readonly charge: Stripe.Charge;
  /** All that is left is refunded where it is absent. */
  readonly amount?: number | undefined;
  readonly reason?: Stripe.Refund.Reason | undefined;
  readonly metadata?: Record<string, string> | undefined;
}

export function refund(world: World, { charge, ...given }: NewRefund): Stripe.Refund {
  const left = charge.amount_captured - charge.amount_refunded;
  const amount = given.amount ?? left;
  mustBeRefundable(charge, amount, left);
  const made: Stripe.Refund = {
    ...nulls(
      'balance_transaction customer_account payment_method receipt_number source_transfer_reversal',
      'transfer_reversal',
    ),
    id: world.nextId('re'),
    object: 'refund',
    amount,
    charge: charge.id,
    created: world.now(),
    currency: charge.currency,
    customer: idOf(charge.customer) || null,
    destination_details: {
      type: 'card',
      card: { reference_status: 'pending', reference_type: 'acquirer_reference_number', type: 'refund' },
    },
    metadata: given.metadata ?? {},
    payment_intent: idOf(charge.payment_intent) || null,
    reason: given.reason ?? null,
    status: 'succeeded',
  };
  world.tables.refund.set(made.id, made);
  charge.amount_refunded += amount;
  charge.refunded = charge.amount_refunded === charge.amount_captured;
  world.emit('charge.refunded', charge);
  world.emit('refund.created', made);
  return made;
}

function mustBeRefundable(charge: Stripe.Charge, amount: number, left: number): void {
  if (charge.status !== 'succeeded')
    throw invalid(`Charge ${charge.id} has not been paid.`, { param: 'charge' });
  if (charge.disputed)
    throw invalid(`Charge ${charge.id} has been charged back; cannot issue a refund.`, {
      code: 'charge_disputed',
    });
  if (left === 0)
    throw invalid(`Charge ${charge.id} has already been refunded.`, { code: 'charge_already_refunded' });
  if (amount < 1) throw invalid('This value must be greater than or equal to 1.', { param: 'amount' });
  mustBePayable(amount, charge.currency, 'amount');
  if (amount > left)
    throw invalid(`Refund amount (${amount}) is greater than unrefunded amount on charge (${left}).`, {
      param: 'amount',
    });
}

const REASONS = ['duplicate', 'fraudulent', 'requested_by_customer'] as const;

const created = ({ world, params }: Call): Stripe.Refund =>
  refund(world, {
    charge: chargeOf(world, params),
    amount: params.whole('amount'),
    reason: params.choice('reason', REASONS),
    metadata: params.map('metadata'),
  });

function chargeOf(world: World, params: Params): Stripe.Charge {
  const intent = params.text('payment_intent');
  if (intent === undefined) {
    if (params.has('charge')) return world.find('charge', params.need('charge'), 'charge');
    throw invalid(
      'One of the following params should be provided for this request: payment_intent or charge.',
    );
  }
  const charge = world.find('payment_intent', intent, 'payment_intent').latest_charge;
  if (charge === null)
    throw invalid(`This PaymentIntent (${intent}) does not have a successful charge to refund.`);
  return world.find('charge', idOf(charge), 'charge');
}

export const refundRoutes: readonly Route[] = [
  post(
    '/v1/refunds',
    accepts<Stripe.RefundCreateParams>('charge', 'payment_intent', 'amount', 'reason', 'metadata', 'expand'),
    created,
  ),
  shows('refund', '/v1/refunds'),
  lists('refund', '/v1/refunds', 'charge', 'payment_intent'),
];
