import type Stripe from 'stripe';
import { linesOf, summed } from './invoice-object.ts';
import { addItem } from './pending-items.ts';
import { mustBePayable } from './payable.ts';
import { invalid } from './refusal.ts';
import { accepts, del, get, matching, pageOf, post, shows, type Call, type Route } from './routes.ts';
import { idOf } from './world.ts';

const PATH = '/v1/invoiceitems';

function created({ world, params }: Call): Stripe.InvoiceItem {
  const customer = world.find('customer', params.need('customer'), 'customer');
  const invoiceId = params.text('invoice');
  const invoice = invoiceId === undefined ? undefined : world.find('invoice', invoiceId, 'invoice');
  const subscription = params.text('subscription');
  if (subscription !== undefined) world.find('subscription', subscription, 'subscription');
  const amount = params.whole('amount');
  if (amount === undefined) params.need('amount');
  const currency = (params.text('currency') ?? invoice?.currency ?? customer.currency ?? 'usd').toLowerCase();
  mustBePayable(amount ?? 0, currency, 'amount');
  const period = params.child('period');
  return addItem(world, {
    customer: customer.id,
    amount: amount ?? 0,
    currency,
    description: params.text('description'),
    metadata: params.map('metadata'),
    period:
      period === undefined
        ? undefined
        : { start: period.whole('start') ?? world.now(), end: period.whole('end') ?? world.now() },
    subscription,
    invoice,
  });
}

function deleted({ world, id }: Call): Stripe.DeletedInvoiceItem {
  const item = world.find('invoiceitem', id);
  const invoice = world.tables.invoice.get(idOf(item.invoice));
  if (invoice !== undefined && invoice.status !== 'draft')
    throw invalid(`Invoice ${invoice.id} is not a draft.`, { code: 'invoice_not_editable' });
  world.tables.invoiceitem.delete(id);
  if (invoice !== undefined) {
    const ownLine = ({ parent }: Stripe.InvoiceLineItem) =>
      parent?.invoice_item_details?.invoice_item === id ||
      parent?.subscription_item_details?.invoice_item === id;
    world.lines.set(
      invoice.id,
      linesOf(world, invoice.id).filter((line) => !ownLine(line)),
    );
    summed(world, invoice);
  }
  world.emit('invoiceitem.deleted', item);
  return { id, object: 'invoiceitem', deleted: true };
}

export const invoiceItemRoutes: readonly Route[] = [
  post(
    PATH,
    accepts<Stripe.InvoiceItemCreateParams>(
      'customer',
      'amount',
      'currency',
      'description',
      'discountable',
      'invoice',
      'subscription',
      'period',
      'metadata',
      'expand',
    ),
    created,
  ),
  shows('invoiceitem', PATH),
  del(`${PATH}/:id`, [], deleted),
  get(
    PATH,
    ['limit', 'starting_after', 'ending_before', 'expand', 'customer', 'invoice', 'pending'],
    ({ world, params }) => {
      const pending = params.flag('pending');
      return pageOf(params, {
        path: PATH,
        all: matching(world.tables.invoiceitem.values(), params, ['customer', 'invoice']).filter(
          (each) => pending === undefined || (each.invoice === null) === pending,
        ),
      });
    },
  ),
];
