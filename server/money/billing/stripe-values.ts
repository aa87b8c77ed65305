/** This file reads from Stripe's objects what this feature needs. */
import type Stripe from 'stripe';
import type { ProviderDispute, ProviderInvoice, ProviderSession, ProviderSubscription } from './provider.ts';

export function idOf(reference: string | { readonly id: string } | null | undefined): string | undefined {
  return typeof reference === 'string' ? reference : reference?.id;
}

const instant = (seconds: number): Date => new Date(seconds * 1_000);

const MODES = { payment: 'payment', subscription: 'subscription' } as const;

export function sessionOf(session: Stripe.Checkout.Session): ProviderSession {
  const { payment_intent: intent, amount_total: total, total_details: details } = session;
  return {
    id: session.id,
    checkoutId: session.client_reference_id ?? undefined,
    customerId: idOf(session.customer),
    mode: MODES[session.mode as keyof typeof MODES] ?? 'other',
    state: session.status === 'complete' ? 'complete' : session.status === 'expired' ? 'expired' : 'open',
    isPaid: session.payment_status === 'paid',
    isFailed:
      session.payment_status === 'unpaid' &&
      typeof intent === 'object' &&
      intent !== null &&
      (intent.status === 'canceled' ||
        (intent.status === 'requires_payment_method' && intent.last_payment_error !== null)),
    amountCents: (total ?? 0) - (details?.amount_tax ?? 0),
    totalCents: total ?? 0,
    currency: session.currency ?? '',
    url: session.url ?? undefined,
    expiresAt: instant(session.expires_at),
    paymentId: idOf(intent),
  };
}

export function subscriptionOf(subscription: Stripe.Subscription): ProviderSubscription {
  const [item] = subscription.items.data;
  const { latest_invoice: latest, cancel_at: at, cancel_at_period_end: atEnd } = subscription;
  const finalised =
    typeof latest === 'object' && latest !== null && latest.status !== 'paid'
      ? latest.status_transitions.finalized_at
      : null;
  const cancelAt = at ?? (atEnd ? item?.current_period_end : undefined);
  return {
    id: subscription.id,
    status: subscription.status,
    createdAt: instant(subscription.created),
    itemId: item?.id,
    lookupKey: item?.price.lookup_key ?? undefined,
    cancelAt: cancelAt === undefined ? undefined : instant(cancelAt),
    failedSince: finalised === null ? undefined : instant(finalised),
  };
}

const INVOICE_STATES: readonly string[] = ['draft', 'open', 'paid', 'void', 'uncollectible'];

export function invoiceOf(invoice: Stripe.Invoice): ProviderInvoice {
  const { status, total, total_excluding_tax: untaxed } = invoice;
  const state = INVOICE_STATES.includes(status ?? '') ? (status as ProviderInvoice['state']) : 'open';
  return {
    id: invoice.id,
    customerId: idOf(invoice.customer),
    statementId: invoice.metadata?.['statement'],
    subscriptionId: idOf(invoice.parent?.subscription_details?.subscription),
    state,
    totalCents: untaxed ?? total,
    paidCents: invoice.amount_paid,
    paidAt:
      invoice.status_transitions.paid_at === null ? undefined : instant(invoice.status_transitions.paid_at),
    currency: invoice.currency,
    url: invoice.hosted_invoice_url ?? undefined,
    isFailed: state === 'uncollectible' || (state === 'open' && invoice.attempt_count > 0),
  };
}

/** It has come to something, or may still. */
export function isGiven({ status }: Stripe.Refund): boolean {
  return status !== 'failed' && status !== 'canceled';
}

const DISPUTES: Readonly<Record<string, ProviderDispute['state']>> = {
  needs_response: 'open',
  under_review: 'open',
  won: 'won',
  prevented: 'won',
  lost: 'lost',
};

/** An inquiry (`warning_…`) takes no money. */
export function disputeOf({ id, amount, status, ...dispute }: Stripe.Dispute): ProviderDispute {
  return {
    id,
    paymentId: idOf(dispute.payment_intent),
    amountCents: amount,
    state: DISPUTES[status] ?? 'asked',
  };
}
