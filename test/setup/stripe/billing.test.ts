/** These tests play months of customers: what they buy, owe, and get back. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { benchOfTest, HOUR, refusalOf, startBench, whole } from './bench.ts';

const bench = await startBench();
const { stripe } = bench;
beforeEach(() => void bench.endpoint.events.splice(0));
afterAll(bench.stop);

describe('checkout', () => {
  it('sells a plan: the session, the subscription, its paid invoice, and their events', async () => {
    const { session, subscription, back, customer } = await bench.subscribed({
      data: { metadata: { account: 'usr_1' } },
    });
    expect(back).toBe(`https://app.example.com/ok?session=${session.id}`);
    expect(session).toMatchObject({ status: 'complete', payment_status: 'paid', amount_total: 2900 });
    expect(subscription).toMatchObject({ status: 'active', metadata: { account: 'usr_1' } });
    expect(bench.endpoint.types()).toEqual([
      'customer.created',
      'customer.subscription.created',
      'invoice.created',
      'invoice.finalized',
      'charge.succeeded',
      'payment_intent.succeeded',
      'invoice.paid',
      'invoice.payment_succeeded',
      'customer.subscription.updated',
      'checkout.session.completed',
    ]);
    // What is told is how it was then.
    expect(bench.endpoint.events[1]?.data.object).toMatchObject({ status: 'incomplete' });
    const invoice = await stripe.invoices.retrieve(String(subscription.latest_invoice));
    expect(invoice.parent?.subscription_details?.subscription).toBe(subscription.id);
    expect(invoice).toMatchObject({ status: 'paid', billing_reason: 'subscription_create', total: 2900 });
    expect(bench.counterpart.countsOf(customer.id)).toEqual({
      liveSubscriptions: 1,
      charges: 1,
      chargedCents: 2900,
      refundedCents: 0,
      invoices: 1,
      drafts: 0,
    });
  });

  it('sells credit to a guest, whose bank may answer days later', async () => {
    const paid = await bench.creditSession();
    expect(bench.counterpart.pay(paid.id)).toBe(`https://app.example.com/ok/${paid.id}`);
    const session = await stripe.checkout.sessions.retrieve(paid.id, {
      expand: ['payment_intent.latest_charge'],
    });
    expect(session).toMatchObject({
      payment_status: 'paid',
      amount_total: 5000,
      currency: 'usd',
      client_reference_id: 'chk_1',
      customer: null,
    });
    expect(whole(whole(session.payment_intent).latest_charge)).toMatchObject({ paid: true, amount: 5000 });
    expect(await bench.told()).toEqual([
      'charge.succeeded',
      'payment_intent.succeeded',
      'checkout.session.completed',
    ]);

    for (const [outcome, status] of [
      ['succeed', 'paid'],
      ['fail', 'unpaid'],
    ] as const) {
      bench.endpoint.events.length = 0;
      const later = await bench.creditSession();
      const bank = bench.counterpart.payLater(later.id);
      const waiting = await stripe.checkout.sessions.retrieve(later.id);
      expect(waiting).toMatchObject({ status: 'complete', payment_status: 'unpaid' });
      bank[outcome]();
      expect(await stripe.checkout.sessions.retrieve(later.id)).toMatchObject({ payment_status: status });
      expect((await bench.told()).filter((type) => type.startsWith('checkout'))).toEqual([
        'checkout.session.completed',
        `checkout.session.async_payment_${outcome === 'succeed' ? 'succeeded' : 'failed'}`,
      ]);
    }
  });

  it('stays open when a card is declined or the person leaves, and ends by itself or by us', async () => {
    const session = await bench.creditSession();
    bench.counterpart.fail(session.id);
    expect(bench.counterpart.leave(session.id)).toBe('https://app.example.com/no');
    expect((await stripe.checkout.sessions.retrieve(session.id)).status).toBe('open');
    bench.counterpart.pay(session.id);
    const { payment_intent: intent } = await stripe.checkout.sessions.retrieve(session.id);
    const charges = await stripe.charges.list({ payment_intent: String(intent) });
    expect(charges.data.map(({ status }) => status)).toEqual(['succeeded', 'failed']);
    expect(await refusalOf(stripe.checkout.sessions.expire(session.id))).toMatchObject({ statusCode: 400 });

    const ours = await bench.creditSession();
    expect(await stripe.checkout.sessions.expire(ours.id)).toMatchObject({ status: 'expired', url: null });
    const soon = Math.floor(Date.now() / 1000) + 1800;
    const own = await bench.creditSession({ expires_at: soon });
    await bench.counterpart.advance(31 * 60_000);
    expect((await stripe.checkout.sessions.retrieve(own.id)).status).toBe('expired');
    expect((await bench.told()).filter((type) => type === 'checkout.session.expired').length).toBe(2);
    expect(await refusalOf(bench.creditSession({ expires_at: soon - 3600 }))).toMatchObject({
      param: 'expires_at',
    });
  });

  it('refuses what it cannot sell', async () => {
    const monthly = bench.counterpart.addPrice({ unitAmount: 100 });
    const line_items = [{ price: monthly.id, quantity: 1 }];
    expect(await refusalOf(bench.creditSession({ line_items }))).toMatchObject({ param: 'line_items' });
    await stripe.prices.update(monthly.id, { active: false });
    const mode = 'subscription';
    expect(await refusalOf(bench.creditSession({ line_items, mode }))).toMatchObject({ statusCode: 400 });
    expect(await refusalOf(bench.creditSession({ customer: 'cus_none' }))).toMatchObject({
      code: 'resource_missing',
    });
    expect(await refusalOf(bench.creditSession({ success_url: 'nowhere' }))).toMatchObject({
      code: 'url_invalid',
    });
    const price_data = { currency: 'usd', unit_amount: 49, product_data: { name: 'Little' } };
    expect(await refusalOf(bench.creditSession({ line_items: [{ price_data, quantity: 1 }] }))).toMatchObject(
      {
        code: 'amount_too_small',
      },
    );
  });
});

describe('invoices', () => {
  const draft = async (amounts: readonly number[]) => {
    const customer = await bench.customer();
    const invoice = await stripe.invoices.create({
      customer: customer.id,
      auto_advance: false,
      pending_invoice_items_behavior: 'exclude',
      metadata: { statement: 'stm_1' },
    });
    const add = (amount: number) =>
      stripe.invoiceItems.create({
        customer: customer.id,
        invoice: invoice.id,
        amount,
        currency: 'usd',
        description: `Line of ${amount}`,
      });
    for (let at = 0; at < amounts.length; at += 25) await Promise.all(amounts.slice(at, at + 25).map(add));
    return { customer, invoice };
  };

  it('are drafted with lines, finalised, and charged an hour later', async () => {
    const { customer, invoice } = await draft([1200, 800, -500]);
    const read = await stripe.invoices.retrieve(invoice.id);
    expect(read).toMatchObject({ status: 'draft', total: 1500, metadata: { statement: 'stm_1' } });
    const open = await stripe.invoices.finalizeInvoice(invoice.id, { auto_advance: true });
    expect(open).toMatchObject({ status: 'open', amount_due: 1500, amount_remaining: 1500 });
    expect(open.hosted_invoice_url).toMatch(/^http/);
    expect(await refusalOf(stripe.invoices.finalizeInvoice(invoice.id))).toMatchObject({ statusCode: 400 });
    bench.counterpart.setCard(customer.id, 'works');
    await bench.counterpart.advance(2 * HOUR);
    expect(await stripe.invoices.retrieve(invoice.id)).toMatchObject({ status: 'paid', amount_paid: 1500 });
    expect((await bench.told()).filter((type) => /^invoice\.(finalized|paid)$/.test(type))).toEqual([
      'invoice.finalized',
      'invoice.paid',
    ]);
  });

  it('take nothing once finalised: an item without an invoice waits for the next one', async () => {
    const { customer, invoice } = await draft([1000]);
    await stripe.invoices.finalizeInvoice(invoice.id);
    const item = { customer: customer.id, amount: 300, currency: 'usd' };
    expect(await refusalOf(stripe.invoiceItems.create({ ...item, invoice: invoice.id }))).toMatchObject({
      code: 'invoice_not_editable',
    });
    await stripe.invoiceItems.create(item);
    expect((await stripe.invoices.retrieve(invoice.id)).total).toBe(1000);
    const without = await stripe.invoices.create({ customer: customer.id });
    expect(without.total).toBe(0);
    const next = await stripe.invoices.create({
      customer: customer.id,
      pending_invoice_items_behavior: 'include',
    });
    expect(next.total).toBe(300);
    // With the draft gone, what it took waits again.
    await stripe.invoices.del(next.id);
    expect((await stripe.invoiceItems.list({ customer: customer.id, pending: true })).data.length).toBe(1);
    expect(await refusalOf(stripe.invoices.del(invoice.id))).toMatchObject({ statusCode: 400 });
  });

  it('below the minimum are paid, and the customer owes it', async () => {
    const { customer, invoice } = await draft([49]);
    expect(await stripe.invoices.finalizeInvoice(invoice.id)).toMatchObject({
      status: 'paid',
      total: 49,
      amount_due: 0,
      ending_balance: 49,
    });
    expect(await stripe.customers.retrieve(customer.id)).toMatchObject({ balance: 49 });
    expect(bench.counterpart.countsOf(customer.id).charges).toBe(0);
    const next = await stripe.invoices.create({ customer: customer.id });
    await stripe.invoiceItems.create({
      customer: customer.id,
      invoice: next.id,
      amount: 100,
      currency: 'usd',
    });
    expect(await stripe.invoices.finalizeInvoice(next.id)).toMatchObject({ total: 100, amount_due: 149 });
  });

  it('hold 250 lines, show ten, and list the rest in pages', async () => {
    const { customer, invoice } = await draft(Array.from({ length: 250 }, () => 10));
    const more = { customer: customer.id, invoice: invoice.id, amount: 10, currency: 'usd' };
    expect(await refusalOf(stripe.invoiceItems.create(more))).toMatchObject({ statusCode: 400 });
    const read = await stripe.invoices.retrieve(invoice.id);
    expect([read.total, read.lines.data.length, read.lines.has_more]).toEqual([2500, 10, true]);
    const lines = await stripe.invoices
      .listLineItems(invoice.id, { limit: 100 })
      .autoPagingToArray({ limit: 300 });
    expect(lines.length).toBe(250);
  });

  it('are paid, failed, voided and given up', async () => {
    const { customer, invoice } = await draft([2000]);
    await stripe.invoices.finalizeInvoice(invoice.id, { auto_advance: true });
    expect(await refusalOf(stripe.invoices.pay(invoice.id))).toMatchObject({
      statusCode: 402,
      code: 'card_declined',
    });
    bench.counterpart.failInvoice(invoice.id);
    bench.counterpart.payInvoice(invoice.id);
    expect(await stripe.invoices.retrieve(invoice.id)).toMatchObject({ status: 'paid', attempt_count: 3 });
    expect(bench.counterpart.countsOf(customer.id)).toMatchObject({ charges: 1, chargedCents: 2000 });

    const second = await draft([700]);
    await stripe.invoices.finalizeInvoice(second.invoice.id);
    expect((await stripe.invoices.markUncollectible(second.invoice.id)).status).toBe('uncollectible');
    expect((await stripe.invoices.voidInvoice(second.invoice.id)).status).toBe('void');
    const types = await bench.told();
    expect(types).toContain('invoice.voided');
    expect(types).toContain('invoice.marked_uncollectible');
    expect(types.filter((type) => type === 'invoice.payment_failed').length).toBe(2);
  });
});

describe('taxes', () => {
  it('come on top, where they are automatic, and are known once the person has paid', async () => {
    const own = await benchOfTest({ taxPercent: 19, name: 'T' });

    const session = await own.creditSession({ automatic_tax: { enabled: true } });
    expect(session).toMatchObject({ id: 'cs_test_T00000000000001', amount_total: 5000 });
    own.counterpart.pay(session.id);
    expect(await own.stripe.checkout.sessions.retrieve(session.id)).toMatchObject({
      amount_subtotal: 5000,
      amount_total: 5950,
      total_details: { amount_tax: 950 },
    });
    const { id: customer } = await own.customer();
    const invoice = await own.stripe.invoices.create({ customer, automatic_tax: { enabled: true } });
    await own.stripe.invoiceItems.create({ customer, invoice: invoice.id, amount: 1000, currency: 'usd' });
    expect(await own.stripe.invoices.retrieve(invoice.id)).toMatchObject({
      total: 1190,
      total_excluding_tax: 1000,
      total_taxes: [{ amount: 190 }],
    });
  });
});

describe('money back', () => {
  it('is refunded by us or by a person, never more than was paid', async () => {
    const session = await bench.creditSession();
    bench.counterpart.pay(session.id);
    const { payment_intent: intent } = await stripe.checkout.sessions.retrieve(session.id);
    const refund = await stripe.refunds.create({ payment_intent: String(intent), amount: 2000 });
    expect(refund).toMatchObject({ status: 'succeeded', amount: 2000 });
    bench.counterpart.refund(String(refund.charge));
    const charge = await stripe.charges.retrieve(String(refund.charge), { expand: ['refunds'] });
    expect(charge).toMatchObject({ refunded: true, amount_refunded: 5000 });
    expect(charge.refunds?.data.map(({ amount }) => amount)).toEqual([3000, 2000]);
    expect(await refusalOf(stripe.refunds.create({ charge: charge.id }))).toMatchObject({
      code: 'charge_already_refunded',
    });
    expect((await bench.told()).filter((type) => type === 'charge.refunded').length).toBe(2);
  });

  it('is taken by a bank, and comes back or not', async () => {
    const { subscription } = await bench.subscribed();
    const payments = await stripe.invoicePayments.list({ invoice: String(subscription.latest_invoice) });
    const intent = String(payments.data[0]?.payment.payment_intent);
    const charge = String((await stripe.paymentIntents.retrieve(intent)).latest_charge);
    const dispute = bench.counterpart.dispute(charge);
    expect(await refusalOf(stripe.refunds.create({ charge }))).toMatchObject({ code: 'charge_disputed' });
    bench.counterpart.closeDispute(dispute.id, 'lost');
    expect(await stripe.disputes.retrieve(dispute.id)).toMatchObject({
      status: 'lost',
      charge,
      amount: 2900,
    });
    expect((await bench.told()).filter((type) => type.includes('dispute'))).toEqual([
      'charge.dispute.created',
      'charge.dispute.funds_withdrawn',
      'charge.dispute.closed',
    ]);
  });
});
