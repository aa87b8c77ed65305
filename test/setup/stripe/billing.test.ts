/** Months of customers: what they buy, change, owe, and get back. */
import type Stripe from 'stripe';
import { createFakeClock } from '../clock.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DAY, HOUR, refusalOf, startBench, whole } from './bench.ts';
import type { Bench } from './bench.ts';
import { sendSigned, signatureOf } from './index.ts';

let bench: Bench;
let stripe: Stripe;
beforeAll(async () => {
  bench = await startBench();
  stripe = bench.stripe;
});
beforeEach(() => {
  bench.endpoint.events.length = 0;
});
afterAll(() => bench.stop());

const isoOf = (seconds: number | undefined) => new Date((seconds ?? 0) * 1000).toISOString();
const told = async () => {
  await bench.counterpart.delivered();
  return bench.endpoint.types();
};
const intervalOf = (subscription: Stripe.Subscription) => {
  const [item] = subscription.items.data;
  return [isoOf(item?.current_period_start), isoOf(item?.current_period_end)];
};

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
    expect(await told()).toEqual([
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
      expect((await told()).filter((type) => type.startsWith('checkout'))).toEqual([
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
    expect((await told()).filter((type) => type === 'checkout.session.expired').length).toBe(2);
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

describe('subscriptions', () => {
  it('begin in the middle of a month, renew on the 1st, and charge the part', async () => {
    const clock = createFakeClock(new Date('2026-01-16T12:00:00Z'));
    const own = await startBench({ clock });
    try {
      const { subscription, customer } = await own.subscribed({
        unitAmount: 3100,
        data: { billing_cycle_anchor_config: { day_of_month: 1 } },
      });
      expect(intervalOf(subscription)).toEqual(['2026-01-16T12:00:00.000Z', '2026-02-01T00:00:00.000Z']);
      // 15.5 of the 31 days of January.
      expect(own.counterpart.countsOf(customer.id).chargedCents).toBe(1550);
      await own.counterpart.advance(16 * DAY);
      const renewed = await own.stripe.subscriptions.retrieve(subscription.id);
      expect(intervalOf(renewed)).toEqual(['2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z']);
      const [latest] = (await own.stripe.invoices.list({ customer: customer.id })).data;
      expect(latest).toMatchObject({ billing_reason: 'subscription_cycle', status: 'paid', total: 3100 });
      expect(isoOf(latest?.status_transitions.finalized_at ?? 0)).toBe('2026-02-01T01:00:00.000Z');
      await own.counterpart.advance(61 * DAY);
      expect(own.counterpart.countsOf(customer.id)).toMatchObject({ charges: 4, chargedCents: 10_850 });
    } finally {
      await own.stop();
    }
  });

  it('keep the 31st where a month has one', async () => {
    const own = await startBench({ clock: createFakeClock(new Date('2026-01-31T08:00:00Z')) });
    try {
      const { subscription } = await own.subscribed();
      await own.counterpart.advance(35 * DAY);
      expect(intervalOf(await own.stripe.subscriptions.retrieve(subscription.id))).toEqual([
        '2026-02-28T08:00:00.000Z',
        '2026-03-31T08:00:00.000Z',
      ]);
    } finally {
      await own.stop();
    }
  });

  it('change plans by the portal, with lines for what is left of both', async () => {
    const own = await startBench({ clock: createFakeClock(new Date('2026-04-01T00:00:00Z')) });
    try {
      const { subscription, customer } = await own.subscribed({ unitAmount: 3000 });
      const business = own.counterpart.addPrice({ unitAmount: 9000 });
      const item = subscription.items.data[0]?.id ?? '';
      const portal = await own.stripe.billingPortal.sessions.create({
        customer: customer.id,
        return_url: 'https://app.example.com/back',
        flow_data: {
          type: 'subscription_update_confirm',
          subscription_update_confirm: {
            subscription: subscription.id,
            items: [{ id: item, price: business.id, quantity: 1 }],
          },
        },
      });
      expect(portal.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/p\/session\//);
      expect(portal.flow?.subscription_update_confirm?.items[0]?.price).toBe(business.id);
      await own.counterpart.advance(10 * DAY);
      own.counterpart.changePlan(subscription.id, business.id);
      const [invoice] = (await own.stripe.invoices.list({ customer: customer.id })).data;
      expect(invoice?.lines.data.map(({ amount }) => amount)).toEqual([-2000, 6000]);
      expect(invoice).toMatchObject({ billing_reason: 'subscription_update', status: 'paid', total: 4000 });
      expect(invoice?.lines.data[0]?.parent?.subscription_item_details?.proration).toBe(true);
      // By the API they wait for the next invoice.
      const small = own.counterpart.addPrice({ unitAmount: 3000 });
      await own.stripe.subscriptions.update(subscription.id, { items: [{ id: item, price: small.id }] });
      await own.counterpart.advance(20 * DAY + HOUR);
      const [next] = (await own.stripe.invoices.list({ customer: customer.id })).data;
      expect(next?.lines.data.map(({ amount }) => amount)).toEqual([3000, -6000, 2000]);
      // A total below nothing is kept for later.
      expect(next).toMatchObject({ total: -1000, amount_due: 0, status: 'paid' });
      expect(await own.stripe.customers.retrieve(customer.id)).toMatchObject({ balance: -1000 });
    } finally {
      await own.stop();
    }
  });

  it('end at once, or with their period unless that is taken back', async () => {
    const { subscription, customer } = await bench.subscribed();
    bench.counterpart.cancelAtPeriodEnd(subscription.id);
    const ending = await stripe.subscriptions.retrieve(subscription.id);
    expect(ending).toMatchObject({ status: 'active', cancel_at_period_end: true });
    expect(ending.cancel_at).toBe(ending.items.data[0]?.current_period_end);
    bench.counterpart.resume(subscription.id);
    expect((await stripe.subscriptions.retrieve(subscription.id)).cancel_at).toBeNull();
    await stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true });
    await bench.counterpart.advance(32 * DAY);
    expect(await stripe.subscriptions.retrieve(subscription.id)).toMatchObject({ status: 'canceled' });
    expect((await stripe.subscriptions.list({ customer: customer.id })).data).toEqual([]);
    expect((await stripe.subscriptions.list({ customer: customer.id, status: 'all' })).data.length).toBe(1);
    expect(bench.counterpart.countsOf(customer.id).charges).toBe(1);

    const second = await bench.subscribed();
    expect((await stripe.subscriptions.cancel(second.subscription.id)).status).toBe('canceled');
    expect(await refusalOf(stripe.subscriptions.cancel(second.subscription.id))).toMatchObject({
      code: 'resource_missing',
    });
    bench.counterpart.pause((await bench.subscribed()).subscription.id);
    expect(await told()).toContain('customer.subscription.paused');
  });

  it.each(['canceled', 'unpaid', 'past_due'] as const)(
    'are tried four times, and then are %s',
    async (afterRetries) => {
      const own = await startBench({ afterRetries });
      try {
        const { subscription, customer } = await own.subscribed();
        own.counterpart.setCard(customer.id, 'declines');
        own.endpoint.events.length = 0;
        await own.counterpart.advance(31 * DAY + 2 * HOUR);
        const statusOf = async () => (await own.stripe.subscriptions.retrieve(subscription.id)).status;
        expect(await statusOf()).toBe('past_due');
        expect(own.endpoint.types()).toContain('invoice.payment_failed');
        await own.counterpart.advance(15 * DAY);
        expect(await statusOf()).toBe(afterRetries);
        const failures = own.endpoint.types().filter((type) => type === 'invoice.payment_failed');
        expect(failures.length).toBe(4);
        const [invoice] = (await own.stripe.invoices.list({ customer: customer.id })).data;
        expect(invoice).toMatchObject({ status: 'open', attempt_count: 4, next_payment_attempt: null });
        own.counterpart.payInvoice(invoice?.id ?? '');
        expect(await statusOf()).toBe(afterRetries === 'canceled' ? 'canceled' : 'active');
      } finally {
        await own.stop();
      }
    },
  );

  it('without a card stay incomplete for 23 hours', async () => {
    const { id } = await bench.customer();
    const subscription = await stripe.subscriptions.create({
      customer: id,
      items: [{ price: bench.counterpart.addPrice({ unitAmount: 2900 }).id }],
    });
    expect(subscription.status).toBe('incomplete');
    await bench.counterpart.advance(DAY);
    expect((await stripe.subscriptions.retrieve(subscription.id)).status).toBe('incomplete_expired');
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
    expect((await told()).filter((type) => /^invoice\.(finalized|paid)$/.test(type))).toEqual([
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
    const types = await told();
    expect(types).toContain('invoice.voided');
    expect(types).toContain('invoice.marked_uncollectible');
    expect(types.filter((type) => type === 'invoice.payment_failed').length).toBe(2);
  });
});

describe('taxes', () => {
  it('come on top, where they are automatic, and are known once the person has paid', async () => {
    const own = await startBench({ taxPercent: 19, name: 'T' });
    try {
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
    } finally {
      await own.stop();
    }
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
    expect((await told()).filter((type) => type === 'charge.refunded').length).toBe(2);
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
    expect((await told()).filter((type) => type.includes('dispute'))).toEqual([
      'charge.dispute.created',
      'charge.dispute.funds_withdrawn',
      'charge.dispute.closed',
    ]);
  });
});

describe('deliveries', () => {
  const emails = () => bench.endpoint.events.map(({ id }) => id);
  const make = async (n: number) => {
    for (let each = 0; each < n; each += 1) await bench.customer();
    await bench.counterpart.delivered();
  };

  it('are dropped, doubled, held back and reversed', async () => {
    const { webhooks } = bench.counterpart;
    webhooks.drop(1, 'customer.created');
    await make(2);
    expect(emails().length).toBe(1);
    webhooks.twice = true;
    await make(1);
    webhooks.twice = false;
    expect(emails()[1]).toBe(emails()[2]);
    bench.endpoint.events.length = 0;
    webhooks.hold();
    await make(3);
    expect(emails()).toEqual([]);
    webhooks.release({ reversed: true });
    await bench.counterpart.delivered();
    const order = emails();
    expect(order).toEqual([...order].sort().reverse());
    const listed = await stripe.events.list({ type: 'customer.created', limit: 3 });
    expect(listed.data.map(({ id }) => id)).toEqual(order);
    expect((await stripe.events.retrieve(order[0] ?? '')).pending_webhooks).toBe(0);
  });

  it('are tried again for three days, then given up', async () => {
    const { webhooks } = bench.counterpart;
    bench.endpoint.status = 500;
    await make(1);
    bench.endpoint.status = 200;
    expect(emails()).toEqual([]);
    await bench.counterpart.advance(2 * HOUR);
    expect(emails().length).toBe(1);

    webhooks.stop();
    await make(1);
    await bench.counterpart.advance(2 * DAY);
    await make(1);
    const lost = webhooks.lost.length;
    await bench.counterpart.advance(2 * DAY);
    expect(webhooks.lost.length).toBe(lost + 1);
    bench.endpoint.events.length = 0;
    webhooks.start();
    await bench.counterpart.delivered();
    expect(emails().length).toBe(1);
    expect(webhooks.attempts.at(-1)?.status).toBe(200);
  });

  it('come all at once, and as copies that a test sends itself', async () => {
    const { webhooks } = bench.counterpart;
    webhooks.hold('customer.created');
    await make(3);
    webhooks.release({ atOnce: true });
    await bench.counterpart.delivered();
    expect(emails().length).toBe(3);
    const { body, signature } = webhooks.copyOf(emails()[0] ?? '');
    expect(await sendSigned(bench.endpoint.url, body, signature)).toBe(200);
    expect(await sendSigned(bench.endpoint.url, `${body} `, signature)).toBe(401);
    webhooks.resend(emails()[1] ?? '');
    await bench.counterpart.delivered();
    expect(emails().length).toBe(5);
  });

  it('carry a proof for each secret, while one is being replaced', async () => {
    bench.counterpart.webhooks.endpoint = {
      url: bench.endpoint.url,
      secrets: ['whsec_being_replaced', 'whsec_test_secret'],
      types: ['customer.created'],
    };
    await make(1);
    const raw = bench.endpoint.raw.at(-1);
    expect(raw?.signature.split(',').length).toBe(3);
    const at = Number(/^t=(\d+)/.exec(raw?.signature ?? '')?.[1]);
    expect(raw?.signature).toBe(
      signatureOf(raw?.body ?? '', { secrets: ['whsec_being_replaced', 'whsec_test_secret'], at }),
    );
  });
});
