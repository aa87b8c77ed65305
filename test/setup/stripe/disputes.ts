import type Stripe from 'stripe';
import { days } from './periods.ts';
import { invalid } from './refusal.ts';
import { matching, PAGING, pageOf } from './routes.ts';
import type { Route } from './routes.ts';
import { idOf } from './world.ts';
import type { World } from './world.ts';

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
  access_activity_log: null,
  billing_address: null,
  cancellation_policy: null,
  cancellation_policy_disclosure: null,
  cancellation_rebuttal: null,
  customer_communication: null,
  customer_email_address: null,
  customer_name: null,
  customer_purchase_ip: null,
  customer_signature: null,
  duplicate_charge_documentation: null,
  duplicate_charge_explanation: null,
  duplicate_charge_id: null,
  enhanced_evidence: {},
  product_description: null,
  receipt: null,
  refund_policy: null,
  refund_policy_disclosure: null,
  refund_refusal_explanation: null,
  service_date: null,
  service_documentation: null,
  shipping_address: null,
  shipping_carrier: null,
  shipping_date: null,
  shipping_documentation: null,
  shipping_tracking_number: null,
  uncategorized_file: null,
  uncategorized_text: null,
});

export const disputeRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/disputes/:id',
    accepts: ['expand'],
    answer: ({ world, id }) => world.find('dispute', id),
  },
  {
    method: 'GET',
    path: '/v1/disputes',
    accepts: [...PAGING, 'charge', 'payment_intent'],
    answer: ({ world, params }) =>
      pageOf(params, {
        path: '/v1/disputes',
        all: matching(world.tables.dispute.values(), params, {
          charge: (each) => each.charge,
          payment_intent: (each) => each.payment_intent,
        }),
      }),
  },
];
