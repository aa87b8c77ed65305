/** These tests play months of subscriptions: how they renew, change, fall behind and end. */
import type Stripe from 'stripe';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../clock.ts';
import { benchOfTest, DAY, HOUR, refusalOf, startBench } from './bench.ts';

const bench = await startBench();
const { stripe } = bench;
beforeEach(() => void bench.endpoint.events.splice(0));
afterAll(bench.stop);

const isoOf = (seconds: number | undefined) => new Date((seconds ?? 0) * 1000).toISOString();
const intervalOf = (subscription: Stripe.Subscription) => {
  const [item] = subscription.items.data;
  return [isoOf(item?.current_period_start), isoOf(item?.current_period_end)];
};

describe('subscriptions', () => {
  it('begin in the middle of a month, renew on the 1st, and charge the part', async () => {
    const clock = createFakeClock(new Date('2026-01-16T12:00:00Z'));
    const own = await benchOfTest({ clock });
    const { subscription, customer } = await own.subscribed({
      unitAmount: 3100,
      data: { billing_cycle_anchor_config: { day_of_month: 1 } },
    });
    expect(intervalOf(subscription)).toEqual(['2026-01-16T12:00:00.000Z', '2026-02-01T00:00:00.000Z']);
    // They are 15.5 of the 31 days of January.
    expect(own.counterpart.countsOf(customer.id).chargedCents).toBe(1550);
    await own.counterpart.advance(16 * DAY);
    const renewed = await own.stripe.subscriptions.retrieve(subscription.id);
    expect(intervalOf(renewed)).toEqual(['2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z']);
    const [latest] = (await own.stripe.invoices.list({ customer: customer.id })).data;
    expect(latest).toMatchObject({ billing_reason: 'subscription_cycle', status: 'paid', total: 3100 });
    expect(isoOf(latest?.status_transitions.finalized_at ?? 0)).toBe('2026-02-01T01:00:00.000Z');
    await own.counterpart.advance(61 * DAY);
    expect(own.counterpart.countsOf(customer.id)).toMatchObject({ charges: 4, chargedCents: 10_850 });
  });

  it('keep the 31st where a month has one', async () => {
    const own = await benchOfTest({ clock: createFakeClock(new Date('2026-01-31T08:00:00Z')) });
    const { subscription } = await own.subscribed();
    await own.counterpart.advance(35 * DAY);
    expect(intervalOf(await own.stripe.subscriptions.retrieve(subscription.id))).toEqual([
      '2026-02-28T08:00:00.000Z',
      '2026-03-31T08:00:00.000Z',
    ]);
  });

  it('change plans by the portal, with lines for what is left of both', async () => {
    const own = await benchOfTest({ clock: createFakeClock(new Date('2026-04-01T00:00:00Z')) });
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
    expect(own.counterpart.confirm(portal.id)).toBe('https://app.example.com/back');
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
  });

  it('credit of a shorter first period what was paid for it, and not a whole month', async () => {
    const own = await benchOfTest({ clock: createFakeClock(new Date('2026-05-27T15:30:00Z')) });
    const { subscription, customer } = await own.subscribed({
      unitAmount: 19_900,
      data: { billing_cycle_anchor_config: { day_of_month: 1 } },
    });
    const paid = own.counterpart.countsOf(customer.id).chargedCents;
    // They are 104.5 of the 744 hours of May.
    expect(paid).toBe(2_795);
    const team = own.counterpart.addPrice({ unitAmount: 2_900 });
    own.counterpart.changePlan(subscription.id, team.id);
    const [invoice] = (await own.stripe.invoices.list({ customer: customer.id })).data;
    expect(invoice?.lines.data.map(({ amount }) => amount)).toEqual([-paid, 407]);
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
    expect(await bench.told()).toContain('customer.subscription.paused');
  });

  it.each(['canceled', 'unpaid', 'past_due'] as const)(
    'are tried four times, and then are %s',
    async (afterRetries) => {
      const own = await benchOfTest({ afterRetries });
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
