/** Amounts of currencies that Stripe takes in steps alone. */
import { afterAll, describe, expect, it } from 'vitest';
import { refusalOf, startBench } from './bench.ts';

const bench = await startBench({ taxPercent: 7 });
afterAll(bench.stop);

describe.each([
  ['kwd', 5_124, 5_120],
  ['isk', 50_010, 50_000],
  ['ugx', 500_050, 500_000],
])('in %s', (currency, odd, even) => {
  const code = 'invalid_charge_amount_no_decimal_compatible';
  const price = (unit_amount: number) => ({ currency, unit_amount, product_data: { name: 'Credit' } });
  const session = async (amount: number) =>
    await bench.creditSession({
      line_items: [{ price_data: price(amount), quantity: 1 }],
      automatic_tax: { enabled: true },
    });

  it('prices, sessions and refunds are of whole steps, taxes too', async () => {
    const { stripe } = bench;
    expect(await refusalOf(session(odd))).toMatchObject({ statusCode: 400, code });
    expect(await refusalOf(stripe.prices.create(price(odd)))).toMatchObject({ code, param: 'unit_amount' });
    const { id } = await session(even);
    bench.counterpart.pay(id);
    const paid = await stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent'] });
    expect(Number(paid.amount_total) % 10).toBe(0);
    const intent = paid.payment_intent as { readonly id: string };
    const refund = async (amount: number) =>
      await stripe.refunds.create({ payment_intent: intent.id, amount });
    expect(await refusalOf(refund(odd - even))).toMatchObject({ code, param: 'amount' });
    expect(await refund(even)).toMatchObject({ amount: even, status: 'succeeded' });
  });

  it('items of invoices are too, also below 0', async () => {
    const { stripe } = bench;
    const customer = await bench.customer();
    const add = async (amount: number) =>
      await stripe.invoiceItems.create({ customer: customer.id, currency, amount });
    for (const wrong of [odd, -odd])
      expect(await refusalOf(add(wrong))).toMatchObject({ code, param: 'amount' });
    expect((await add(-even)).amount).toBe(-even);
  });
});

it('others have no step', async () => {
  const customer = await bench.customer();
  for (const currency of ['usd', 'jpy', 'huf'])
    expect(
      await bench.stripe.invoiceItems.create({ customer: customer.id, currency, amount: 5_123 }),
    ).toMatchObject({
      amount: 5_123,
    });
});
