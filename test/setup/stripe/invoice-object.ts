/** Makes drafts of invoices and their lines. */
import Stripe from 'stripe';
import { nulls } from './nulls.ts';
import { toPayable } from './payable.ts';
import { invalid } from './refusal.ts';
import { embedded } from './routes.ts';
import { idOf, type World } from './world.ts';

/** Stripe's own limit. */
export const MOST_LINES = 250;

export interface NewInvoice {
  readonly customer: string;
  readonly currency: string;
  readonly reason: Stripe.Invoice.BillingReason;
  readonly autoAdvance: boolean;
  readonly subscription?: Stripe.Subscription | undefined;
  readonly period?: { start: number; end: number } | undefined;
  readonly description?: string | undefined;
  readonly metadata?: Record<string, string> | undefined;
  readonly collection?: Stripe.Invoice.CollectionMethod | undefined;
  readonly daysUntilDue?: number | undefined;
  readonly automaticTax?: boolean | undefined;
}

export function draftInvoice(world: World, given: NewInvoice): Stripe.Invoice {
  const customer = world.find('customer', given.customer, 'customer');
  const id = world.nextId('in');
  const now = world.now();
  const invoice: Stripe.Invoice = {
    ...nulls(
      'application custom_fields customer_account customer_address customer_phone customer_shipping',
      'default_payment_method default_source effective_at footer from_invoice hosted_invoice_url',
      'invoice_pdf last_finalization_error latest_revision next_payment_attempt number on_behalf_of',
      'receipt_number rendering shipping_cost shipping_details statement_descriptor test_clock',
      'webhooks_delivered_at',
    ),
    ...money(customer.balance),
    ...taxes(given.automaticTax ?? given.subscription?.automatic_tax.enabled ?? false),
    id,
    object: 'invoice',
    account_country: 'US',
    account_name: 'Counterpart',
    attempt_count: 0,
    attempted: false,
    auto_advance: given.autoAdvance,
    automatically_finalizes_at: given.autoAdvance ? now + 3600 : null,
    billing_reason: given.reason,
    collection_method: given.collection ?? 'charge_automatically',
    created: now,
    currency: given.currency,
    customer: customer.id,
    customer_email: customer.email,
    customer_name: customer.name ?? null,
    description: given.description ?? null,
    discounts: [],
    due_date: given.daysUntilDue === undefined ? null : now + given.daysUntilDue * 24 * 3600,
    issuer: { type: 'self' },
    lines: embedded<Stripe.InvoiceLineItem>([], `/v1/invoices/${id}/lines`),
    livemode: world.settings.livemode,
    metadata: given.metadata ?? {},
    parent: parentOf(given.subscription),
    payment_settings: nulls('default_mandate payment_method_options payment_method_types'),
    period_end: given.period?.end ?? now,
    period_start: given.period?.start ?? now,
    status: 'draft',
    status_transitions: nulls('finalized_at marked_uncollectible_at paid_at voided_at'),
  };
  world.tables.invoice.set(id, invoice);
  world.lines.set(id, []);
  if (given.subscription !== undefined) given.subscription.latest_invoice = id;
  return invoice;
}

const parentOf = (subscription: Stripe.Subscription | undefined): Stripe.Invoice.Parent | null =>
  subscription === undefined
    ? null
    : {
        type: 'subscription_details',
        quote_details: null,
        subscription_details: { metadata: { ...subscription.metadata }, subscription: subscription.id },
      };

const money = (startingBalance: number) => ({
  amount_due: 0,
  amount_overpaid: 0,
  amount_paid: 0,
  amount_remaining: 0,
  amount_shipping: 0,
  ending_balance: null,
  post_payment_credit_notes_amount: 0,
  pre_payment_credit_notes_amount: 0,
  starting_balance: startingBalance,
  subtotal: 0,
  subtotal_excluding_tax: 0,
  total: 0,
  total_discount_amounts: [],
  total_excluding_tax: 0,
  total_pretax_credit_amounts: [],
});

const taxes = (enabled: boolean) => ({
  account_tax_ids: null,
  automatic_tax: {
    disabled_reason: null,
    enabled,
    liability: null,
    provider: enabled ? 'stripe' : null,
    status: enabled ? ('complete' as const) : null,
  },
  customer_tax_exempt: 'none' as const,
  customer_tax_ids: [],
  default_tax_rates: [],
  total_taxes: [],
});

export interface NewLine {
  readonly amount: number;
  readonly description: string | null;
  readonly period: { start: number; end: number };
  readonly parent: Stripe.InvoiceLineItem.Parent;
  readonly quantity?: number | undefined;
  readonly price?: Stripe.Price | undefined;
  readonly metadata?: Record<string, string> | undefined;
}

export function addLine(world: World, invoice: Stripe.Invoice, given: NewLine): void {
  const lines = linesOf(world, invoice.id);
  if (lines.length >= MOST_LINES)
    throw invalid(`An invoice can have at most ${MOST_LINES} line items.`, { param: 'invoice' });
  const quantity = given.quantity ?? 1;
  lines.push({
    id: world.nextId('il'),
    object: 'line_item',
    amount: given.amount,
    currency: invoice.currency,
    description: given.description,
    discount_amounts: [],
    discountable: given.amount > 0,
    discounts: [],
    invoice: invoice.id,
    livemode: world.settings.livemode,
    metadata: given.metadata ?? {},
    parent: given.parent,
    period: given.period,
    pretax_credit_amounts: [],
    pricing: {
      type: 'price_details',
      unit_amount_decimal: given.price?.unit_amount_decimal ?? Stripe.Decimal.from(given.amount),
      ...(given.price === undefined
        ? {}
        : { price_details: { price: given.price.id, product: idOf(given.price.product) } }),
    },
    quantity,
    quantity_decimal: Stripe.Decimal.from(quantity),
    subscription: given.parent.subscription_item_details?.subscription ?? null,
    subtotal: given.amount,
    taxes: [],
  });
  summed(world, invoice);
}

export const linesOf = (world: World, invoiceId: string): Stripe.InvoiceLineItem[] =>
  world.lines.get(invoiceId) ?? [];

/** Sets the amounts that a draft has from its lines and the customer's balance. */
export function summed(world: World, invoice: Stripe.Invoice): void {
  const lines = linesOf(world, invoice.id);
  const subtotal = lines.reduce((sum, each) => sum + each.amount, 0);
  const tax = invoice.automatic_tax.enabled ? taxOf(world, subtotal, invoice.currency) : 0;
  const total = subtotal + tax;
  invoice.lines = embedded(lines, `/v1/invoices/${invoice.id}/lines`);
  invoice.subtotal = subtotal;
  invoice.subtotal_excluding_tax = subtotal;
  invoice.total = total;
  invoice.total_excluding_tax = subtotal;
  invoice.total_taxes = tax === 0 ? [] : [taxLine(tax, subtotal)];
  invoice.starting_balance = world.find('customer', idOf(invoice.customer)).balance;
  invoice.amount_due = Math.max(0, total + invoice.starting_balance);
  invoice.amount_remaining = invoice.amount_due;
}

export const taxOf = (world: World, subtotal: number, currency: string): number =>
  toPayable((Math.max(0, subtotal) * world.settings.taxPercent) / 100, currency);

const taxLine = (amount: number, taxable: number): Stripe.Invoice.TotalTax => ({
  amount,
  tax_behavior: 'exclusive',
  tax_rate_details: { tax_rate: 'txr_00000000000001' },
  taxability_reason: 'standard_rated',
  taxable_amount: taxable,
  type: 'tax_rate_details',
});
