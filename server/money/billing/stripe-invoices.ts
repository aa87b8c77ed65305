/** Invoices, refunds and disputes at Stripe. */
import type { InvoiceLine, Provider, ProviderInvoice } from './provider.ts';
import { orMissing, type Ask } from './stripe-ask.ts';
import { disputeOf, idOf, invoiceOf, isGiven } from './stripe-values.ts';

const PAGE = 100;
/** Most invoices of one customer that are read. */
const INVOICES_MAX = 10_000;

export function invoiceCalls(ask: Ask, isTaxed: boolean) {
  const invoice: Provider['invoice'] = async (id) =>
    await orMissing(
      ask('read an invoice', async ({ invoices }) => {
        const found = await invoices.retrieve(id);
        return 'deleted' in found && found.deleted ? undefined : invoiceOf(found);
      }),
    );
  return {
    invoice,
    invoicesOf: async (customer, statementId) =>
      await ask('list invoices', async ({ invoices }) => {
        const all = await invoices.list({ customer, limit: PAGE }).autoPagingToArray({ limit: INVOICES_MAX });
        return all.map(invoiceOf).filter((each) => each.statementId === statementId);
      }),
    createInvoice: async ({ customerId: customer, statementId: statement, currency }, nth) => {
      const made = await ask('make an invoice', async ({ invoices }) =>
        invoices.create(
          {
            customer,
            currency,
            auto_advance: false,
            pending_invoice_items_behavior: 'exclude',
            metadata: { statement },
            ...(isTaxed && { automatic_tax: { enabled: true } }),
          },
          { idempotencyKey: `${statement}:inv${nth === 1 ? '' : nth}` },
        ),
      );
      // The answer may be a saved one, of a draft that is gone.
      return await invoice(made.id);
    },
    addLines: async (to, lines) => await addLines(ask, to, lines),
    deleteDraft: async (id) => {
      await orMissing(ask('delete a draft', async ({ invoices }) => invoices.del(id)));
    },
    finalise: async (id) => {
      const before = await invoice(id);
      if (before?.state !== 'draft') return before;
      return await ask('finalise an invoice', async ({ invoices }) =>
        invoiceOf(await invoices.finalizeInvoice(id, { auto_advance: true })),
      );
    },
    ...paidCalls(ask, invoice),
    refundsOfCharge: async (id) =>
      await orMissing(
        ask('read refunds', async ({ charges, refunds }) => {
          const charge = await charges.retrieve(id);
          const all = await refunds.list({ charge: id, limit: PAGE }).autoPagingToArray({ limit: 1_000 });
          const givenCents = all.filter(isGiven).reduce((total, { amount }) => total + amount, 0);
          return { paymentId: idOf(charge.payment_intent), givenCents };
        }),
      ),
    dispute: async (id) =>
      await orMissing(ask('read a dispute', async ({ disputes }) => disputeOf(await disputes.retrieve(id)))),
  } satisfies Partial<Provider>;
}

function paidCalls(ask: Ask, invoice: Provider['invoice']) {
  return {
    invoiceOfPayment: async (payment_intent) => {
      const payment = { type: 'payment_intent', payment_intent } as const;
      const found = await ask('find the invoice of a payment', async ({ invoicePayments }) =>
        invoicePayments.list({ payment, limit: 1 }),
      );
      const id = idOf(found.data.at(0)?.invoice);
      return id === undefined ? undefined : await invoice(id);
    },
    planInvoicesOf: async (customer) => {
      const paid = await orMissing(
        ask('list paid invoices', async ({ invoices }) =>
          invoices.list({ customer, status: 'paid', limit: PAGE }),
        ),
      );
      return (paid?.data ?? []).map(invoiceOf).filter(({ subscriptionId }) => subscriptionId !== undefined);
    },
  } satisfies Partial<Provider>;
}

async function addLines(
  ask: Ask,
  { id, customerId, statementId = '', currency }: ProviderInvoice,
  lines: readonly InvoiceLine[],
): Promise<void> {
  if (customerId === undefined) return;
  const there = await ask('list invoice items', async ({ invoiceItems }) =>
    invoiceItems.list({ invoice: id, limit: PAGE }).autoPagingToArray({ limit: 1_000 }),
  );
  const known = new Set(there.map(({ metadata }) => metadata?.['line']));
  for (const { n, amountCents, description } of lines) {
    if (known.has(String(n))) continue;
    await ask('add an invoice item', async ({ invoiceItems }) =>
      invoiceItems.create(
        {
          customer: customerId,
          invoice: id,
          amount: amountCents,
          currency,
          description,
          discountable: false,
          metadata: { line: String(n) },
        },
        { idempotencyKey: `${statementId}:${n}:${id}` },
      ),
    );
  }
}
