/** Parts of objects that Stripe always shows, flags as it reads them, and customers that are deleted. */
import { afterAll, describe, expect, it } from 'vitest';
import { DAY, refusalOf, startBench } from './bench.ts';

const bench = await startBench();
afterAll(bench.stop);

describe('objects', () => {
  it('have the parts that Stripe shows of them', async () => {
    const { stripe, counterpart } = bench;
    const session = await bench.creditSession();
    expect(session.phone_number_collection).toEqual({ enabled: false });
    counterpart.pay(session.id);
    const [charge] = (await stripe.charges.list({ limit: 1 })).data;
    const id = charge?.id ?? '';
    const intent = await stripe.paymentIntents.retrieve(String(charge?.payment_intent));
    expect(intent.amount_details).toEqual({ tip: {} });
    const refund = await stripe.refunds.create({ charge: id, amount: 100 });
    expect(refund.destination_details).toMatchObject({ type: 'card', card: { type: 'refund' } });
    // A charge has its refunds for those who ask for them.
    const expanded = await stripe.charges.retrieve(id, { expand: ['refunds'] });
    expect(expanded.refunds?.data.map((each) => each.id)).toEqual([refund.id]);
    const dispute = await stripe.disputes.retrieve(counterpart.dispute(id, 4_900).id);
    expect(dispute.payment_method_details).toMatchObject({ type: 'card', card: { case_type: 'chargeback' } });
  });
});

describe('flags', () => {
  it.each(['True', 'False', '1'])('are not %s', async (value) => {
    const { counterpart } = bench;
    const { subscription } = await bench.subscribed();
    const answer = await fetch(`${counterpart.url}/v1/subscriptions/${subscription.id}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${counterpart.key}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: `cancel_at_period_end=${value}`,
    });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      {
        error: expect.objectContaining({
          message: `Invalid boolean: ${value}`,
          param: 'cancel_at_period_end',
        }),
      },
    ]);
    expect((await bench.stripe.subscriptions.retrieve(subscription.id)).cancel_at_period_end).toBe(false);
  });
});

describe('a deleted customer', () => {
  it('has no subscription and buys nothing; what it paid is still there', async () => {
    const { stripe, counterpart, endpoint } = bench;
    const { customer, subscription } = await bench.subscribed();
    const gone = { id: customer.id, object: 'customer', deleted: true };
    expect(await stripe.customers.del(customer.id)).toMatchObject(gone);
    expect(await stripe.customers.retrieve(customer.id)).toMatchObject(gone);
    expect((await stripe.subscriptions.retrieve(subscription.id)).status).toBe('canceled');
    expect((await stripe.customers.list({ limit: 100 })).data.map(({ id }) => id)).not.toContain(customer.id);
    for (const refused of [
      stripe.invoices.create({ customer: customer.id }),
      stripe.billingPortal.sessions.create({ customer: customer.id }),
      bench.creditSession({ customer: customer.id }),
      stripe.customers.del(customer.id),
    ])
      expect(await refusalOf(refused)).toMatchObject({ code: 'resource_missing' });
    await counterpart.advance(40 * DAY);
    expect(counterpart.countsOf(customer.id)).toMatchObject({ charges: 1, liveSubscriptions: 0 });
    expect(endpoint.types()).toEqual(
      expect.arrayContaining(['customer.deleted', 'customer.subscription.deleted']),
    );
  });
});
