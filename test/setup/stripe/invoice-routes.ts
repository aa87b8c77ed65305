import type Stripe from 'stripe';
import { changedMetadata } from './forms.ts';
import { draftInvoice, linesOf } from './invoice-object.ts';
import {
  attempt,
  cardOutcome,
  deleteDraft,
  finalize,
  markPaid,
  markUncollectible,
  voidInvoice,
} from './invoices.ts';
import { takePending } from './pending-items.ts';
import { HOUR } from './periods.ts';
import { declined, invalid } from './refusal.ts';
import { accepts, del, get, matching, pageOf, PAGING, post, shows, type Call, type Route } from './routes.ts';
import { idOf } from './world.ts';

const PATH = '/v1/invoices';
type Invoice = Stripe.Invoice;

function created({ world, params }: Call): Invoice {
  const customer = world.find('customer', params.need('customer'), 'customer');
  const collection = params.choice('collection_method', ['charge_automatically', 'send_invoice']);
  const daysUntilDue = params.whole('days_until_due');
  if (collection === 'send_invoice' && daysUntilDue === undefined)
    throw invalid('You must pass `days_until_due` when using `collection_method=send_invoice`.', {
      param: 'days_until_due',
    });
  const includes = params.choice('pending_invoice_items_behavior', ['include', 'exclude']) === 'include';
  const invoice = draftInvoice(world, {
    customer: customer.id,
    currency: params.text('currency')?.toLowerCase() ?? customer.currency ?? 'usd',
    reason: 'manual',
    autoAdvance: params.flag('auto_advance') ?? false,
    description: params.text('description'),
    metadata: params.map('metadata'),
    collection,
    daysUntilDue,
    automaticTax: params.child('automatic_tax')?.flag('enabled'),
  });
  if (includes) takePending(world, invoice);
  world.emit('invoice.created', invoice);
  return invoice;
}

function updated({ world, params, id }: Call): Invoice {
  const invoice = world.find('invoice', id);
  if (params.has('description') && invoice.status !== 'draft')
    throw invalid(`Invoice ${id} is not a draft.`, { param: 'description', code: 'invoice_not_editable' });
  const autoAdvance = params.flag('auto_advance');
  if (autoAdvance !== undefined) {
    invoice.auto_advance = autoAdvance;
    const soon = autoAdvance ? world.now() + HOUR : null;
    if (invoice.status === 'draft') invoice.automatically_finalizes_at = soon;
    if (invoice.status === 'open') invoice.next_payment_attempt = soon;
  }
  if (params.has('description')) invoice.description = params.text('description') || null;
  invoice.metadata = changedMetadata(invoice.metadata ?? {}, params);
  world.emit('invoice.updated', invoice);
  return invoice;
}

function paid({ world, params, id }: Call): Invoice {
  const invoice = world.find('invoice', id);
  if (invoice.status === 'draft') finalize(world, invoice);
  if (params.flag('paid_out_of_band') === true && invoice.status === 'open') {
    markPaid(world, invoice);
    return invoice;
  }
  if (invoice.status === 'open' || invoice.status === 'uncollectible') {
    if (attempt(world, invoice, cardOutcome(world, idOf(invoice.customer))) === 'declined') throw declined();
    return invoice;
  }
  throw invalid(`Invoice is already ${invoice.status}`, { param: 'invoice' });
}

function listed({ world, params }: Call): Stripe.ApiList<Invoice> {
  const of = params.text('subscription');
  const all = matching(world.tables.invoice.values(), params, ['customer', 'status', 'collection_method']);
  return pageOf(params, {
    path: PATH,
    all: all.filter(
      ({ parent }) => of === undefined || idOf(parent?.subscription_details?.subscription) === of,
    ),
  });
}

interface Act {
  readonly name: string;
  readonly takes?: readonly string[];
  change(call: Call, invoice: Invoice): void;
}

const ACTS: readonly Act[] = [
  {
    name: 'finalize',
    takes: accepts<Stripe.InvoiceFinalizeInvoiceParams>('auto_advance'),
    change: ({ world, params }, invoice) => finalize(world, invoice, params.flag('auto_advance')),
  },
  { name: 'void', change: ({ world }, invoice) => voidInvoice(world, invoice) },
  { name: 'mark_uncollectible', change: ({ world }, invoice) => markUncollectible(world, invoice) },
];

export const invoiceRoutes: readonly Route[] = [
  post(
    PATH,
    accepts<Stripe.InvoiceCreateParams>(
      'customer',
      'currency',
      'auto_advance',
      'pending_invoice_items_behavior',
      'metadata',
      'description',
      'collection_method',
      'days_until_due',
      'automatic_tax',
      'expand',
    ),
    created,
  ),
  ...ACTS.map(({ name, takes = [], change }) =>
    post(`${PATH}/:id/${name}`, [...takes, 'expand'], (call) => {
      const invoice = call.world.find('invoice', call.id);
      change(call, invoice);
      return invoice;
    }),
  ),
  post(
    `${PATH}/:id/pay`,
    accepts<Stripe.InvoicePayParams>('paid_out_of_band', 'off_session', 'expand'),
    paid,
  ),
  shows('invoice', PATH),
  post(
    `${PATH}/:id`,
    accepts<Stripe.InvoiceUpdateParams>('auto_advance', 'description', 'metadata', 'expand'),
    updated,
  ),
  del(`${PATH}/:id`, [], ({ world, id }) => deleteDraft(world, world.find('invoice', id))),
  get(`${PATH}/:id/lines`, PAGING, ({ world, params, id }) => {
    world.find('invoice', id);
    return pageOf(params, { path: `${PATH}/${id}/lines`, all: [...linesOf(world, id)].reverse() });
  }),
  get(PATH, [...PAGING, 'customer', 'status', 'subscription', 'collection_method'], listed),
  get('/v1/invoice_payments', [...PAGING, 'invoice', 'status', 'payment'], ({ world, params }) => {
    const intent = params.child('payment')?.text('payment_intent');
    const all = matching(world.tables.invoice_payment.values(), params, ['invoice', 'status']);
    return pageOf(params, {
      path: '/v1/invoice_payments',
      all: all.filter(({ payment }) => intent === undefined || idOf(payment.payment_intent) === intent),
    });
  }),
];
