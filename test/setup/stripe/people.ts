/** Plays what people do on Stripe's own pages. */
import type Stripe from 'stripe';
import { createPrice, newProduct } from './catalogue.ts';
import { closeDispute, openDispute } from './disputes.ts';
import { attempt, settleInvoice } from './invoices.ts';
import { refund } from './refunds.ts';
import { expireSession, failOnPage, payOnPage, settleSession } from './session-page.ts';
import {
  cancelNow,
  changePlan,
  pause,
  setCancelAtPeriodEnd,
  unpause,
  type Proration,
} from './subscription-changes.ts';
import { idOf, type World } from './world.ts';

interface NewListPrice {
  readonly unitAmount: number;
  readonly lookupKey?: string;
  readonly currency?: string;
  /** `null`: paid once. */
  readonly interval?: 'day' | 'week' | 'month' | 'year' | null;
  readonly name?: string;
}

export function createPeople(world: World) {
  const session = (id: string) => world.find('checkout.session', id);
  const subscription = (id: string) => world.find('subscription', id);
  const invoice = (id: string) => world.find('invoice', id);
  return {
    /** Pays a session with a card. Gives the address that the person comes back to. */
    pay: (id: string): string => {
      payOnPage(world, session(id), 'succeeded');
      return (session(id).success_url ?? '').replaceAll('{CHECKOUT_SESSION_ID}', id);
    },
    /** A bank pays later: the session is complete and unpaid until one of the two. */
    payLater: (id: string) => {
      payOnPage(world, session(id), 'pending');
      return {
        succeed: () => settleSession(world, session(id), 'succeeded'),
        fail: () => settleSession(world, session(id), 'declined'),
      };
    },
    /** The card is declined; the session stays open. */
    fail: (id: string) => failOnPage(world, session(id)),
    /** Goes back. Gives the address. */
    leave: (id: string) => session(id).cancel_url,
    expire: (id: string) => void expireSession(world, session(id)),
    changePlan: (id: string, priceId: string, proration: Proration = 'always_invoice'): void => {
      const [item] = subscription(id).items.data;
      if (item === undefined) return;
      const price = world.find('price', priceId);
      changePlan(world, subscription(id), { item, price, quantity: item.quantity ?? 1, proration });
    },
    /** Confirms what a portal session with a flow offers. Gives the address that the person comes back to. */
    confirm: (id: string) => confirm(world, world.find('billing_portal.session', id)),
    cancelAtPeriodEnd: (id: string) => setCancelAtPeriodEnd(world, subscription(id), true),
    cancelNow: (id: string) => cancelNow(world, subscription(id)),
    /** Takes back that it ends with its period, or a pause. */
    resume: (id: string): void => {
      if (subscription(id).status === 'paused') unpause(world, subscription(id));
      else setCancelAtPeriodEnd(world, subscription(id), false);
    },
    pause: (id: string) => pause(world, subscription(id)),
    /** Sets how the customer's card answers from now on. */
    setCard: (customer: string, card: 'works' | 'declines' | 'none'): void => {
      if (card === 'none') world.cards.delete(customer);
      else world.cards.set(customer, card);
    },
    /** The person pays on the invoice's page. */
    payInvoice: (id: string): void => {
      attempt(world, invoice(id), 'succeeded');
      world.cards.set(idOf(invoice(id).customer), 'works');
    },
    failInvoice: (id: string) => void attempt(world, invoice(id), 'declined'),
    /** Pays by a bank that answers later. */
    payInvoiceLater: (id: string) => {
      attempt(world, invoice(id), 'pending');
      return {
        succeed: () => settleInvoice(world, invoice(id), 'succeeded'),
        fail: () => settleInvoice(world, invoice(id), 'declined'),
      };
    },
    /** A person of the company gives money back, in Stripe's dashboard: by default all that is left. */
    refund: (id: string, amount?: number) => refund(world, { charge: world.find('charge', id), amount }),
    /** The customer's bank takes money back. */
    dispute: (id: string, amount?: number) => openDispute(world, world.find('charge', id), amount),
    closeDispute: (id: string, outcome: 'won' | 'lost') =>
      closeDispute(world, world.find('dispute', id), outcome),
    addPrice: (given: NewListPrice) => addPrice(world, given),
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
  const { id: product } = newProduct(world, given.name ?? given.lookupKey);
  return createPrice(world, {
    product,
    currency: given.currency ?? 'usd',
    unitAmount: given.unitAmount,
    lookupKey: given.lookupKey,
    recurring: interval === null ? undefined : { interval, count: 1 },
  });
}
