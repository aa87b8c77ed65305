import type Stripe from 'stripe';
import { nulls } from './nulls.ts';
import { days } from './periods.ts';
import { invalid } from './refusal.ts';
import { lists, shows, type Route } from './routes.ts';
import { idOf, type World } from './world.ts';

/** The bank takes the money back until it is closed. */
export function openDispute(world: World, charge: Stripe.Charge, amount = charge.amount): Stripe.Dispute {
  if (charge.status !== 'succeeded' || charge.disputed || amount > charge.amount)
    throw invalid(`Charge ${charge.id} cannot be disputed over ${amount}.`);
  const dispute: Stripe.Dispute = {
    id: world.nextId('du'),
    object: 'dispute',
    amount,
    balance_transactions: [],
    charge: charge.id,
    created: world.now(),
    currency: charge.currency,
    enhanced_eligibility_types: [],
    evidence: noEvidence(),
    evidence_details: {
      due_by: world.now() + days(7),
      enhanced_eligibility: {},
      has_evidence: false,
      past_due: false,
      submission_count: 0,
      submission_method: 'not_submitted',
    },
    intended_submission_method: null,
    is_charge_refundable: false,
    livemode: world.settings.livemode,
    metadata: {},
    network_reason_code: null,
    payment_intent: idOf(charge.payment_intent) || null,
    payment_method_details: {
      type: 'card',
      card: { brand: 'visa', case_type: 'chargeback', network: 'visa', network_reason_code: '10.4' },
    },
    reason: 'fraudulent',
    status: 'needs_response',
  };
  world.tables.dispute.set(dispute.id, dispute);
  charge.disputed = true;
  world.emit('charge.dispute.created', dispute);
  world.emit('charge.dispute.funds_withdrawn', dispute);
  return dispute;
}

export function closeDispute(world: World, dispute: Stripe.Dispute, outcome: 'won' | 'lost'): void {
  if (dispute.status === 'won' || dispute.status === 'lost')
    throw invalid(`Dispute ${dispute.id} is closed.`);
  dispute.status = outcome;
  if (outcome === 'won') world.emit('charge.dispute.funds_reinstated', dispute);
  world.emit('charge.dispute.closed', dispute);
}

const noEvidence = (): Stripe.Dispute.Evidence => ({
  ...nulls(
    'access_activity_log billing_address cancellation_policy cancellation_policy_disclosure',
    'cancellation_rebuttal customer_communication customer_email_address customer_name',
    'customer_purchase_ip customer_signature duplicate_charge_documentation',
    'duplicate_charge_explanation duplicate_charge_id product_description receipt refund_policy',
    'refund_policy_disclosure refund_refusal_explanation service_date service_documentation',
    'shipping_address shipping_carrier shipping_date shipping_documentation shipping_tracking_number',
    'uncategorized_file uncategorized_text',
  ),
  enhanced_evidence: {},
});

export const disputeRoutes: readonly Route[] = [
  shows('dispute', '/v1/disputes'),
  lists('dispute', '/v1/disputes', 'charge', 'payment_intent'),
];
