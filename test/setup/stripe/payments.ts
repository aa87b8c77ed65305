/** Makes payment intents and their charges: it plays what a card or a bank says. */
import type Stripe from 'stripe';
import { accepts, matching, PAGING, pageOf } from './routes.ts';
import type { Route } from './routes.ts';
import { idOf } from './world.ts';
import type { World } from './world.ts';

/** `pending`: a bank that answers days later. */
export type Outcome = 'succeeded' | 'declined' | 'pending';

export interface NewPayment {
  readonly customer: string | null;
  readonly amount: number;
  readonly currency: string;
  readonly outcome: Outcome;
  readonly description?: string;
  readonly metadata?: Record<string, string>;
  /** An intent whose last try was declined: it is tried again. */
  readonly again?: Stripe.PaymentIntent | undefined;
}

export function makePayment(world: World, given: NewPayment): Stripe.PaymentIntent {
  const intent = given.again ?? newIntent(world, given);
  const charge = newCharge(world, intent);
  intent.latest_charge = charge.id;
  if (given.outcome === 'pending') {
    intent.status = 'processing';
    world.emit('charge.pending', charge);
    world.emit('payment_intent.processing', intent);
    return intent;
  }
  settlePayment(world, intent, given.outcome);
  return intent;
}

/** Takes what the card or the bank says in the end. */
export function settlePayment(
  world: World,
  intent: Stripe.PaymentIntent,
  outcome: 'succeeded' | 'declined',
): void {
  const charge = world.find('charge', idOf(intent.latest_charge));
  if (outcome === 'succeeded') {
    charge.status = 'succeeded';
    charge.paid = true;
    charge.amount_captured = charge.amount;
    intent.status = 'succeeded';
    intent.amount_received = intent.amount;
    intent.last_payment_error = null;
    world.emit('charge.succeeded', charge);
    world.emit('payment_intent.succeeded', intent);
    return;
  }
  charge.status = 'failed';
  charge.failure_code = 'card_declined';
  charge.failure_message = 'Your card was declined.';
  intent.status = 'requires_payment_method';
  intent.last_payment_error = {
    type: 'card_error',
    code: 'card_declined',
    decline_code: 'generic_decline',
    message: 'Your card was declined.',
    charge: charge.id,
  };
  world.emit('charge.failed', charge);
  world.emit('payment_intent.payment_failed', intent);
}

function newIntent(world: World, given: NewPayment): Stripe.PaymentIntent {
  const id = world.nextId('pi');
  const intent: Stripe.PaymentIntent = {
    id,
    object: 'payment_intent',
    allowed_payment_method_types: null,
    amount: given.amount,
    amount_details: { tip: {} },
    amount_capturable: 0,
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic',
    client_secret: `${id}_secret_counterpart`,
    confirmation_method: 'automatic',
    created: world.now(),
    currency: given.currency,
    customer: given.customer,
    customer_account: null,
    description: given.description ?? null,
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: null,
    livemode: world.settings.livemode,
    managed_payments: null,
    metadata: given.metadata ?? {},
    next_action: null,
    on_behalf_of: null,
    payment_method: null,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ['card'],
    payment_record: null,
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'requires_payment_method',
    transfer_data: null,
    transfer_group: null,
  };
  world.tables.payment_intent.set(id, intent);
  return intent;
}

function newCharge(world: World, intent: Stripe.PaymentIntent): Stripe.Charge {
  const charge: Stripe.Charge = {
    id: world.nextId('ch'),
    object: 'charge',
    amount: intent.amount,
    amount_captured: 0,
    amount_refunded: 0,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: null,
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    calculated_statement_descriptor: null,
    captured: true,
    created: world.now(),
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: null,
    failure_message: null,
    fraud_details: {},
    livemode: intent.livemode,
    metadata: { ...intent.metadata },
    on_behalf_of: null,
    outcome: null,
    paid: false,
    payment_intent: intent.id,
    payment_method: null,
    payment_method_details: { type: 'card' },
    receipt_email: null,
    receipt_number: null,
    receipt_url: `${world.origin}/receipts/${intent.id}`,
    refunded: false,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'pending',
    transfer_data: null,
    transfer_group: null,
  };
  world.tables.charge.set(charge.id, charge);
  return charge;
}

export const paymentRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/payment_intents/:id',
    accepts: accepts<Stripe.PaymentIntentRetrieveParams>('expand'),
    answer: ({ world, id }) => world.find('payment_intent', id),
  },
  {
    method: 'GET',
    path: '/v1/payment_intents',
    accepts: [...PAGING, 'customer'],
    answer: ({ world, params }) =>
      pageOf(params, {
        path: '/v1/payment_intents',
        all: matching(world.tables.payment_intent.values(), params, { customer: (each) => each.customer }),
      }),
  },
  {
    method: 'GET',
    path: '/v1/charges/:id',
    accepts: ['expand'],
    answer: ({ world, id }) => world.find('charge', id),
  },
  {
    method: 'GET',
    path: '/v1/charges',
    accepts: [...PAGING, 'customer', 'payment_intent'],
    answer: ({ world, params }) =>
      pageOf(params, {
        path: '/v1/charges',
        all: matching(world.tables.charge.values(), params, {
          customer: (each) => each.customer,
          payment_intent: (each) => each.payment_intent,
        }),
      }),
  },
];
