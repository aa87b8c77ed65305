/** This is the life of an invoice after its draft: it is finalised, tried, paid, failed or voided. */
import type Stripe from 'stripe';
import { summed } from './invoice-object.ts';
import { makePayment, settlePayment, type Outcome } from './payments.ts';
import { days, HOUR } from './periods.ts';
import { invalid } from './refusal.ts';
import { afterFailed, afterPaid } from './standing.ts';
import { idOf, type World } from './world.ts';

/** After the first try, the second and the third; then no more. */
const RETRY_DAYS: readonly number[] = [3, 5, 7];
/** Least amount of a charge, in minor units. */
const MINIMUM: Record<string, number> = { usd: 50, eur: 50, gbp: 30, jpy: 50, chf: 50, sek: 300 };

export const minimumOf = (currency: string): number => MINIMUM[currency] ?? 50;

export function finalize(world: World, invoice: Stripe.Invoice, autoAdvance?: boolean): void {
  if (invoice.status !== 'draft')
    throw invalid("This invoice is already finalized, you can't re-finalize a non-draft invoice.");
  summed(world, invoice);
  const customer = world.find('customer', idOf(invoice.customer));
  const due = invoice.total + customer.balance;
  const carried = due < minimumOf(invoice.currency);
  invoice.status = 'open';
  invoice.auto_advance = autoAdvance ?? invoice.auto_advance ?? false;
  invoice.automatically_finalizes_at = null;
  invoice.number = `${customer.invoice_prefix}-${String(customer.next_invoice_sequence).padStart(4, '0')}`;
  customer.next_invoice_sequence = (customer.next_invoice_sequence ?? 1) + 1;
  customer.currency ??= invoice.currency;
  invoice.amount_due = carried ? 0 : due;
  invoice.amount_remaining = invoice.amount_due;
  invoice.ending_balance = carried ? due : 0;
  customer.balance = invoice.ending_balance;
  invoice.effective_at = world.now();
  invoice.status_transitions.finalized_at = world.now();
  invoice.hosted_invoice_url = `${world.origin}/invoices/${invoice.id}`;
  invoice.invoice_pdf = `${invoice.hosted_invoice_url}/pdf`;
  world.emit('invoice.finalized', invoice);
  if (invoice.amount_due === 0) {
    markPaid(world, invoice);
    return;
  }
  if (invoice.auto_advance && invoice.collection_method === 'charge_automatically')
    invoice.next_payment_attempt = world.now() + HOUR;
}

/** One try to charge. Gives what it came to. */
export function attempt(world: World, invoice: Stripe.Invoice, outcome: Outcome): Outcome {
  mustBe(invoice, ['open', 'uncollectible'], 'paid');
  const before = paymentOf(world, invoice);
  const intent = makePayment(world, {
    customer: idOf(invoice.customer),
    amount: invoice.amount_due,
    currency: invoice.currency,
    outcome,
    description: `Payment for invoice ${invoice.number}`,
    again: before === undefined ? undefined : intentOf(world, before),
  });
  if (before === undefined) keepPayment(world, invoice, intent);
  invoice.attempted = true;
  invoice.attempt_count += 1;
  if (outcome === 'succeeded') markPaid(world, invoice);
  if (outcome === 'declined') markFailed(world, invoice);
  if (outcome === 'pending') invoice.next_payment_attempt = null;
  return outcome;
}

/** Takes the bank's late answer to a `pending` try. */
export function settleInvoice(
  world: World,
  invoice: Stripe.Invoice,
  outcome: 'succeeded' | 'declined',
): void {
  const payment = paymentOf(world, invoice);
  if (payment === undefined) throw invalid('This invoice has no payment.');
  settlePayment(world, intentOf(world, payment), outcome);
  if (outcome === 'succeeded') markPaid(world, invoice);
  else markFailed(world, invoice);
}

/** Returns what is answered by the customer's card. A customer who left none is declined. */
export const cardOutcome = (world: World, customer: string): 'succeeded' | 'declined' =>
  world.cards.get(customer) === 'works' ? 'succeeded' : 'declined';

export function markPaid(world: World, invoice: Stripe.Invoice): void {
  const payment = paymentOf(world, invoice);
  if (payment !== undefined) {
    payment.status = 'paid';
    payment.amount_paid = invoice.amount_due;
    payment.status_transitions.paid_at = world.now();
  }
  invoice.status = 'paid';
  invoice.amount_paid = invoice.amount_due;
  invoice.amount_remaining = 0;
  invoice.next_payment_attempt = null;
  invoice.auto_advance = false;
  invoice.status_transitions.paid_at = world.now();
  world.emit('invoice.paid', invoice);
  world.emit('invoice.payment_succeeded', invoice);
  afterPaid(world, invoice);
}

function markFailed(world: World, invoice: Stripe.Invoice): void {
  const retry = RETRY_DAYS[invoice.attempt_count - 1];
  invoice.next_payment_attempt =
    invoice.auto_advance === true && retry !== undefined ? world.now() + days(retry) : null;
  world.emit('invoice.payment_failed', invoice);
  afterFailed(world, invoice);
}

export function voidInvoice(world: World, invoice: Stripe.Invoice): void {
  mustBe(invoice, ['open', 'uncollectible'], 'voided');
  const customer = world.find('customer', idOf(invoice.customer));
  // What it took from the balance, or left there, is undone.
  customer.balance += invoice.starting_balance - (invoice.ending_balance ?? 0);
  const payment = paymentOf(world, invoice);
  if (payment !== undefined) {
    payment.status = 'canceled';
    payment.status_transitions.canceled_at = world.now();
  }
  invoice.status = 'void';
  invoice.next_payment_attempt = null;
  invoice.auto_advance = false;
  invoice.status_transitions.voided_at = world.now();
  world.emit('invoice.voided', invoice);
}

export function markUncollectible(world: World, invoice: Stripe.Invoice): void {
  mustBe(invoice, ['open'], 'marked uncollectible');
  invoice.status = 'uncollectible';
  invoice.next_payment_attempt = null;
  invoice.status_transitions.marked_uncollectible_at = world.now();
  world.emit('invoice.marked_uncollectible', invoice);
}

/** Items that waited for any invoice wait again; those made for this draft go with it. */
export function deleteDraft(world: World, invoice: Stripe.Invoice): Stripe.DeletedInvoice {
  mustBe(invoice, ['draft'], 'deleted');
  if (invoice.parent !== null)
    throw invalid(`Invoice ${invoice.id} is for a subscription and cannot be deleted.`);
  for (const item of world.tables.invoiceitem.values()) {
    if (idOf(item.invoice) !== invoice.id) continue;
    if (world.waited.has(item.id)) item.invoice = null;
    else world.tables.invoiceitem.delete(item.id);
  }
  world.tables.invoice.delete(invoice.id);
  world.lines.delete(invoice.id);
  world.emit('invoice.deleted', invoice);
  return { id: invoice.id, object: 'invoice', deleted: true };
}

function mustBe(invoice: Stripe.Invoice, states: readonly string[], change: string): void {
  if (invoice.status !== null && states.includes(invoice.status)) return;
  throw invalid(
    invoice.status === 'paid' && change === 'paid'
      ? 'Invoice is already paid'
      : `Invoice ${invoice.id} is ${invoice.status} and cannot be ${change}.`,
  );
}

export const paymentOf = (world: World, invoice: Stripe.Invoice): Stripe.InvoicePayment | undefined =>
  [...world.tables.invoice_payment.values()].find((each) => idOf(each.invoice) === invoice.id);

const intentOf = (world: World, payment: Stripe.InvoicePayment): Stripe.PaymentIntent =>
  world.find('payment_intent', idOf(payment.payment.payment_intent));

function keepPayment(world: World, invoice: Stripe.Invoice, intent: Stripe.PaymentIntent): void {
  const id = world.nextId('inpay');
  world.tables.invoice_payment.set(id, {
    id,
    object: 'invoice_payment',
    amount_paid: null,
    amount_requested: invoice.amount_due,
    created: world.now(),
    currency: invoice.currency,
    invoice: invoice.id,
    is_default: true,
    livemode: invoice.livemode,
    payment: { type: 'payment_intent', payment_intent: intent.id },
    status: 'open',
    status_transitions: { canceled_at: null, paid_at: null },
  });
}
