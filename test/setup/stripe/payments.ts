/** Makes payment intents and their charges: it plays what a card or a bank says. */
import type Stripe from 'stripe';
import { nulls } from './nulls.ts';
import { lists, shows, type Route } from './routes.ts';
import { idOf, type World } from './world.ts';

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
    ...nulls(
      'allowed_payment_method_types application application_fee_amount automatic_payment_methods',
      'canceled_at cancellation_reason customer_account excluded_payment_method_types',
      'last_payment_error latest_charge managed_payments next_action on_behalf_of payment_method',
      'payment_method_configuration_details payment_method_options payment_record processing',
      'receipt_email review setup_future_usage shipping source statement_descriptor',
      'statement_descriptor_suffix transfer_data transfer_group',
    ),
    id,
    object: 'payment_intent',
    amount: given.amount,
    amount_details: { tip: {} },
    amount_capturable: 0,
    amount_received: 0,
    capture_method: 'automatic',
    client_secret: `${id}_secret_counterpart`,
    confirmation_method: 'automatic',
    created: world.now(),
    currency: given.currency,
    customer: given.customer,
    description: given.description ?? null,
    livemode: world.settings.livemode,
    metadata: given.metadata ?? {},
    payment_method_types: ['card'],
    status: 'requires_payment_method',
  };
  world.tables.payment_intent.set(id, intent);
  return intent;
}

function newCharge(world: World, intent: Stripe.PaymentIntent): Stripe.Charge {
  const charge: Stripe.Charge = {
    ...nulls(
      'application application_fee application_fee_amount balance_transaction',
      'calculated_statement_descriptor failure_balance_transaction failure_code failure_message',
      'on_behalf_of outcome payment_method receipt_email receipt_number review shipping source',
      'source_transfer statement_descriptor statement_descriptor_suffix transfer_data transfer_group',
    ),
    id: world.nextId('ch'),
    object: 'charge',
    amount: intent.amount,
    amount_captured: 0,
    amount_refunded: 0,
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    captured: true,
    created: world.now(),
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    fraud_details: {},
    livemode: intent.livemode,
    metadata: { ...intent.metadata },
    paid: false,
    payment_intent: intent.id,
    payment_method_details: { type: 'card' },
    receipt_url: `${world.origin}/receipts/${intent.id}`,
    refunded: false,
    status: 'pending',
  };
  world.tables.charge.set(charge.id, charge);
  return charge;
}

export const paymentRoutes: readonly Route[] = [
  shows('payment_intent', '/v1/payment_intents'),
  lists('payment_intent', '/v1/payment_intents', 'customer'),
  shows('charge', '/v1/charges'),
  lists('charge', '/v1/charges', 'customer', 'payment_intent'),
];
