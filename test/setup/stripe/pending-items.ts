/** Keeps invoice items. Each waits for the customer's next invoice, or belongs to a draft. */
import Stripe from 'stripe';
import { addLine, linesOf, MOST_LINES } from './invoice-object.ts';
import { invalid } from './refusal.ts';
import { idOf, type World } from './world.ts';

export interface NewItem {
  readonly customer: string;
  readonly amount: number;
  readonly currency: string;
  readonly description?: string | undefined;
  readonly period?: { start: number; end: number } | undefined;
  readonly metadata?: Record<string, string> | undefined;
  readonly quantity?: number | undefined;
  readonly price?: Stripe.Price | undefined;
  readonly proration?: { subscription: string; subscriptionItem: string } | undefined;
  readonly subscription?: string | undefined;
  readonly invoice?: Stripe.Invoice | undefined;
}

export function addItem(world: World, given: NewItem): Stripe.InvoiceItem {
  const { invoice } = given;
  if (invoice !== undefined) mustTake(world, invoice, given);
  const quantity = given.quantity ?? 1;
  const subscription = given.proration?.subscription ?? given.subscription;
  const item: Stripe.InvoiceItem = {
    id: world.nextId('ii'),
    object: 'invoiceitem',
    amount: given.amount,
    currency: given.currency,
    customer: given.customer,
    customer_account: null,
    date: world.now(),
    description: given.description ?? null,
    discountable: given.amount > 0 && given.proration === undefined,
    discounts: [],
    invoice: null,
    livemode: world.settings.livemode,
    metadata: given.metadata ?? {},
    net_amount: given.amount,
    parent: subscription === undefined ? null : parentOf(subscription, given.proration?.subscriptionItem),
    period: given.period ?? { start: world.now(), end: world.now() },
    pricing: {
      type: 'price_details',
      unit_amount_decimal: Stripe.Decimal.from(given.amount / quantity),
      ...(given.price === undefined
        ? {}
        : { price_details: { price: given.price.id, product: idOf(given.price.product) } }),
    },
    proration: given.proration !== undefined,
    quantity,
    quantity_decimal: Stripe.Decimal.from(quantity),
    tax_rates: [],
    test_clock: null,
  };
  world.tables.invoiceitem.set(item.id, item);
  world.emit('invoiceitem.created', item);
  if (invoice !== undefined) put(world, invoice, item);
  return item;
}

const parentOf = (subscription: string, item: string | undefined): Stripe.InvoiceItem.Parent => ({
  type: 'subscription_details',
  subscription_details: { subscription, ...(item === undefined ? {} : { subscription_item: item }) },
});

function mustTake(world: World, invoice: Stripe.Invoice, given: NewItem): void {
  if (idOf(invoice.customer) !== given.customer)
    throw invalid('The invoice belongs to another customer.', { param: 'invoice' });
  if (invoice.status !== 'draft')
    throw invalid(`Invoice ${invoice.id} is not a draft, and takes no more items.`, {
      param: 'invoice',
      code: 'invoice_not_editable',
    });
  if (invoice.currency !== given.currency)
    throw invalid('The item must have the currency of the invoice.', { param: 'currency' });
  if (linesOf(world, invoice.id).length >= MOST_LINES)
    throw invalid(`An invoice can have at most ${MOST_LINES} line items.`, { param: 'invoice' });
}

/**
 * Moves what waits to the draft, as much as it takes. Of a subscription: its own, and what belongs to none.
 */
export function takePending(world: World, invoice: Stripe.Invoice, subscription?: string): void {
  for (const item of world.tables.invoiceitem.values()) {
    const own = item.parent?.subscription_details?.subscription;
    const fits = own === undefined || own === subscription;
    if (item.invoice !== null || idOf(item.customer) !== idOf(invoice.customer)) continue;
    if (item.currency !== invoice.currency || !fits) continue;
    if (linesOf(world, invoice.id).length >= MOST_LINES) return;
    world.waited.add(item.id);
    put(world, invoice, item);
  }
}

function put(world: World, invoice: Stripe.Invoice, item: Stripe.InvoiceItem): void {
  item.invoice = invoice.id;
  const of = item.parent?.subscription_details;
  const price = world.tables.price.get(idOf(item.pricing?.price_details?.price));
  const details = {
    invoice_item: item.id,
    proration: item.proration,
    proration_details: null,
    subscription: of?.subscription ?? null,
  };
  addLine(world, invoice, {
    amount: item.amount,
    description: item.description,
    period: item.period,
    quantity: item.quantity,
    price,
    metadata: { ...item.metadata },
    parent:
      of?.subscription_item === undefined
        ? {
            type: 'invoice_item_details',
            invoice_item_details: details,
            subscription_item_details: null,
          }
        : {
            type: 'subscription_item_details',
            invoice_item_details: null,
            subscription_item_details: { ...details, subscription_item: of.subscription_item },
          },
  });
}
