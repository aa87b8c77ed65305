/** Plays what people do on Stripe's own pages. */
import type Stripe from 'stripe';
import { createPrice } from './catalogue.ts';
import { closeDispute, openDispute } from './disputes.ts';
import { attempt, settleInvoice } from './invoices.ts';
import { refund } from './refunds.ts';
import { expireSession, failOnPage, payOnPage, settleSession } from './session-page.ts';
import { cancelNow, changePlan, pause, setCancelAtPeriodEnd, unpause } from './subscription-changes.ts';
import type { Proration } from './subscription-changes.ts';
import { idOf } from './world.ts';
import type { World } from './world.ts';

export interface People {
  /** Pays a session with a card. Gives the address that the person comes back to. */
  pay(sessionId: string): string;
  /** Pays by a bank: the session is complete and unpaid until one of the two. */
  payLater(sessionId: string): { succeed(): void; fail(): void };
  /** The card is declined; the session stays open. */
  fail(sessionId: string): void;
  /** Goes back. Gives the address. */
  leave(sessionId: string): string | null;
  expire(sessionId: string): void;
  changePlan(subscriptionId: string, priceId: string, proration?: Proration): void;
  /** Confirms what a portal session with a flow offers. Gives the address that the person comes back to. */
  confirm(portalSessionId: string): string | null;
  cancelAtPeriodEnd(subscriptionId: string): void;
  cancelNow(subscriptionId: string): void;
  /** Takes back that it ends with its period, or a pause. */
  resume(subscriptionId: string): void;
  pause(subscriptionId: string): void;
  /** Sets how the customer's card answers from now on. */
  setCard(customerId: string, card: 'works' | 'declines' | 'none'): void;
  /** Pays on the invoice's page. */
  payInvoice(invoiceId: string): void;
  failInvoice(invoiceId: string): void;
  /** Pays by a bank that answers later. */
  payInvoiceLater(invoiceId: string): { succeed(): void; fail(): void };
  /** A person of the company gives money back, in Stripe's dashboard. Absent amount: all that is left. */
  refund(chargeId: string, amount?: number): Stripe.Refund;
  /** The customer's bank takes money back. */
  dispute(chargeId: string, amount?: number): Stripe.Dispute;
  closeDispute(disputeId: string, outcome: 'won' | 'lost'): void;
  addPrice(given: NewListPrice): Stripe.Price;
}

interface NewListPrice {
  readonly unitAmount: number;
  readonly lookupKey?: string;
  readonly currency?: string;
  /** `null`: paid once. */
  readonly interval?: 'day' | 'week' | 'month' | 'year' | null;
  readonly name?: string;
}

export function createPeople(world: World): People {
  const session = (id: string) => world.find('checkout.session', id);
  const subscription = (id: string) => world.find('subscription', id);
  const invoice = (id: string) => world.find('invoice', id);
  return {
    pay: (id) => {
      payOnPage(world, session(id), 'succeeded');
      return (session(id).success_url ?? '').replaceAll('{CHECKOUT_SESSION_ID}', id);
    },
    payLater: (id) => {
      payOnPage(world, session(id), 'pending');
      return {
        succeed: () => settleSession(world, session(id), 'succeeded'),
        fail: () => settleSession(world, session(id), 'declined'),
      };
    },
    fail: (id) => failOnPage(world, session(id)),
    leave: (id) => session(id).cancel_url,
    expire: (id) => void expireSession(world, session(id)),
    changePlan: (id, priceId, proration = 'always_invoice') => {
      const [item] = subscription(id).items.data;
      if (item === undefined) return;
      const price = world.find('price', priceId);
      changePlan(world, subscription(id), { item, price, quantity: item.quantity ?? 1, proration });
    },
    confirm: (id) => confirm(world, world.find('billing_portal.session', id)),
    cancelAtPeriodEnd: (id) => setCancelAtPeriodEnd(world, subscription(id), true),
    cancelNow: (id) => cancelNow(world, subscription(id)),
    resume: (id) => {
      if (subscription(id).status === 'paused') unpause(world, subscription(id));
      else setCancelAtPeriodEnd(world, subscription(id), false);
    },
    pause: (id) => pause(world, subscription(id)),
    setCard: (customer, card) => {
      if (card === 'none') world.cards.delete(customer);
      else world.cards.set(customer, card);
    },
    payInvoice: (id) => {
      attempt(world, invoice(id), 'succeeded');
      world.cards.set(idOf(invoice(id).customer), 'works');
    },
    failInvoice: (id) => void attempt(world, invoice(id), 'declined'),
    payInvoiceLater: (id) => {
      attempt(world, invoice(id), 'pending');
      return {
        succeed: () => settleInvoice(world, invoice(id), 'succeeded'),
        fail: () => settleInvoice(world, invoice(id), 'declined'),
      };
    },
    refund: (id, amount) => refund(world, { charge: world.find('charge', id), amount }),
    dispute: (id, amount) => openDispute(world, world.find('charge', id), amount),
    closeDispute: (id, outcome) => closeDispute(world, world.find('dispute', id), outcome),
    addPrice: (given) => addPrice(world, given),
  };
}

function confirm(world: World, { flow, return_url: back }: Stripe.BillingPortal.Session): string | null {
  const update = flow?.subscription_update_confirm;
  const [asked] = update?.items ?? [];
  if (update && asked) {
    const subscription = world.find('subscription', update.subscription);
    const item = subscription.items.data.find((each) => each.id === asked.id);
    const price = world.find('price', asked.price ?? '');
    if (item !== undefined)
      changePlan(world, subscription, {
        item,
        price,
        quantity: asked.quantity ?? 1,
        proration: 'always_invoice',
      });
  }
  if (flow?.subscription_cancel)
    setCancelAtPeriodEnd(world, world.find('subscription', flow.subscription_cancel.subscription), true);
  return flow?.after_completion.redirect?.return_url ?? back;
}

function addPrice(world: World, given: NewListPrice): Stripe.Price {
  const { interval = 'month' } = given;
  const product = world.nextId('prod');
  world.tables.product.set(product, {
    id: product,
    object: 'product',
    active: true,
    created: world.now(),
    description: null,
    images: [],
    livemode: world.settings.livemode,
    marketing_features: [],
    metadata: {},
    name: given.name ?? given.lookupKey ?? product,
    package_dimensions: null,
    shippable: null,
    tax_details: null,
    type: 'service',
    updated: world.now(),
    url: null,
  });
  return createPrice(world, {
    product,
    currency: given.currency ?? 'usd',
    unitAmount: given.unitAmount,
    lookupKey: given.lookupKey,
    recurring: interval === null ? undefined : { interval, count: 1 },
  });
}
