/** Plays what a person does on the page of a checkout session. */
import type Stripe from 'stripe';
import { createCustomer } from './customers.ts';
import { taxOf } from './invoice-object.ts';
import { settleInvoice } from './invoices.ts';
import { makePayment, settlePayment, type Outcome } from './payments.ts';
import { invalid } from './refusal.ts';
import { startSubscription } from './subscriptions.ts';
import { idOf, type World } from './world.ts';

type Session = Stripe.Checkout.Session;

export function expireSession(world: World, session: Session): Session {
  mustBeOpen(session);
  session.status = 'expired';
  session.url = null;
  world.emit('checkout.session.expired', session);
  return session;
}

/**
 * The session is paid at once with a card. With `pending` a bank answers later, and the session is complete
 * and unpaid.
 */
export function payOnPage(world: World, session: Session, outcome: 'succeeded' | 'pending'): void {
  mustBeOpen(session);
  if (session.mode === 'subscription') subscribe(world, session, outcome);
  else payOnce(world, session, outcome);
  session.status = 'complete';
  session.url = null;
  if (session.payment_status !== 'no_payment_required')
    session.payment_status = outcome === 'succeeded' ? 'paid' : 'unpaid';
  world.emit('checkout.session.completed', session);
}

function payOnce(world: World, session: Session, outcome: Outcome): void {
  if (session.customer === null && session.customer_creation === 'always') customerOf(world, session);
  if (session.amount_total === 0) return;
  const subtotal = session.amount_subtotal ?? 0;
  charged(
    session,
    subtotal,
    session.automatic_tax.enabled ? taxOf(world, subtotal, session.currency ?? 'usd') : 0,
  );
  const intent = makePayment(world, { ...paymentOf(world, session), outcome });
  session.payment_intent = intent.id;
  identified(world, session);
}

/** Declined: the session stays open, and the person may try another card. */
export function failOnPage(world: World, session: Session): void {
  mustBeOpen(session);
  const intent = makePayment(world, { ...paymentOf(world, session), outcome: 'declined' });
  if (session.mode === 'payment') session.payment_intent = intent.id;
}

function paymentOf(world: World, session: Session) {
  const before = world.tables.payment_intent.get(idOf(session.payment_intent));
  return {
    customer: idOf(session.customer) || null,
    amount: session.amount_total ?? 0,
    currency: session.currency ?? 'usd',
    metadata: world.purchases.get(session.id)?.paymentMetadata ?? {},
    again: before,
  };
}

function subscribe(world: World, session: Session, outcome: Outcome): void {
  const purchase = world.purchases.get(session.id);
  if (purchase === undefined) return;
  const customer = customerOf(world, session);
  world.cards.set(customer, 'works');
  const subscription = startSubscription(world, {
    customer,
    items: purchase.lines.flatMap(({ price, quantity }) =>
      price === null ? [] : [{ price, quantity: quantity ?? 1 }],
    ),
    metadata: { ...purchase.subscriptionMetadata },
    outcome,
    anchor: purchase.anchor,
    prorates: purchase.prorates,
    automaticTax: session.automatic_tax.enabled,
  });
  const invoice = world.find('invoice', idOf(subscription.latest_invoice));
  charged(session, invoice.subtotal, invoice.total - invoice.subtotal);
  session.subscription = subscription.id;
  session.invoice = subscription.latest_invoice;
  identified(world, session);
}

/** Taxes come with the address that the person gives on the page, so that the total is known only then. */
function charged(session: Session, subtotal: number, tax: number): void {
  session.amount_subtotal = subtotal;
  session.amount_total = subtotal + tax;
  session.total_details = { amount_discount: 0, amount_shipping: 0, amount_tax: tax };
}

function customerOf(world: World, session: Session): string {
  const customer =
    session.customer === null
      ? createCustomer(world, { email: session.customer_email ?? 'person@example.com' }).id
      : idOf(session.customer);
  session.customer = customer;
  return customer;
}

function identified(world: World, session: Session): void {
  const customer = world.tables.customer.get(idOf(session.customer));
  session.customer_details = {
    address: null,
    business_name: null,
    email: customer?.email ?? session.customer_email ?? 'person@example.com',
    individual_name: null,
    name: customer?.name ?? 'A Person',
    phone: null,
    tax_exempt: 'none',
    tax_ids: [],
  };
}

/** The bank's answer to what was left unpaid. */
export function settleSession(world: World, session: Session, outcome: 'succeeded' | 'declined'): void {
  if (session.status !== 'complete' || session.payment_status !== 'unpaid')
    throw invalid(`The session ${session.id} waits for no payment.`);
  if (session.mode === 'subscription')
    settleInvoice(world, world.find('invoice', idOf(session.invoice)), outcome);
  else settlePayment(world, world.find('payment_intent', idOf(session.payment_intent)), outcome);
  if (outcome === 'succeeded') session.payment_status = 'paid';
  world.emit(
    outcome === 'succeeded'
      ? 'checkout.session.async_payment_succeeded'
      : 'checkout.session.async_payment_failed',
    session,
  );
}

function mustBeOpen(session: Session): void {
  if (session.status === 'open') return;
  throw invalid(
    `Only Checkout Sessions with a status in ["open"] can be expired or paid. This Checkout Session has a status of ${session.status}.`,
  );
}
