/**
 * A customer that somebody deleted at the provider: the account goes on with a new one, and nothing is
 * charged twice.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gainCredit, invoicesOf } from '../../../test/setup/money/paid.ts';
import { has } from '../../../test/setup/needs.ts';
import { startShop, type Buyer, type Shop } from '../../../test/setup/shop.ts';

describe.skipIf(!(await has('postgres')))('after the customer was deleted at the provider', () => {
  let shop: Shop;
  beforeAll(async () => (shop = await startShop()));
  afterAll(async () => await shop?.stop());

  const left = async (): Promise<{ buyer: Buyer; gone: string }> => {
    const buyer = await shop.buyer();
    await shop.subscribe(buyer);
    const gone = await shop.customerOf(buyer);
    await shop.api.customers.del(gone);
    await shop.settled();
    expect(await shop.plan(buyer)).toMatchObject({ name: 'free' });
    return { buyer, gone };
  };
  const portal = async ({ key }: Buyer) =>
    await shop.server.call('POST /billing/portal', {
      as: key,
      body: { returnUrl: 'https://app.example.com/back' },
    });
  const charges = (customer: string): number => shop.stripe.countsOf(customer).charges;

  it('credit is bought by a new customer, which later purchases use too', async () => {
    const { buyer, gone } = await left();
    await gainCredit(shop, buyer);
    const made = await shop.customerOf(buyer);
    expect(made).not.toBe(gone);
    expect(await shop.credit(buyer)).toBe(5_000);
    await gainCredit(shop, buyer, 700);
    expect([await shop.customerOf(buyer), await shop.credit(buyer)]).toEqual([made, 5_700]);
    expect([charges(gone), charges(made)]).toEqual([1, 2]);
    const acts = await shop.acts(buyer.userId);
    expect(acts.filter((act) => act === 'billing.customer_replaced')).toHaveLength(1);
  });

  it('a plan is bought again, once', async () => {
    const { buyer, gone } = await left();
    await shop.subscribe(buyer, 'business');
    const made = await shop.customerOf(buyer);
    expect(await shop.plan(buyer)).toMatchObject({ name: 'business' });
    expect(shop.stripe.countsOf(made)).toMatchObject({ liveSubscriptions: 1, charges: 1 });
    expect(shop.stripe.countsOf(gone)).toMatchObject({ liveSubscriptions: 0, charges: 1 });
  });

  it('there is no portal until something is bought anew', async () => {
    const { buyer } = await left();
    const refused = await portal(buyer);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('billing_not_started')]);
    await shop.subscribe(buyer);
    expect((await portal(buyer)).body).toMatchObject({ url: expect.stringContaining('/p/session/') });
  });

  it('a statement is invoiced once, to the new customer, which the next purchase uses', async () => {
    const { buyer, gone } = await left();
    const id = `stm_${gone}`;
    await shop.server.db.sql`
      insert into statements (id, team_id, payer_id, period, currency, plan, list_cents, included_cents, net_cents, credit_cents, due_cents, state, closed_at)
      values (${id}, ${buyer.teamId}, ${buyer.userId}, '2026-01-01', 'usd', 'team', 1234, 0, 1234, 0, 1234, 'closed', now())`;
    const stateOf = async () => {
      const [row] = await shop.server.db.sql<Array<{ state: string }>>`
        select state from statements where id = ${id}`;
      return row?.state;
    };
    await shop.look();
    await shop.look();
    expect(await stateOf()).toBe('invoiced');
    const made = await shop.customerOf(buyer);
    expect(made).not.toBe(gone);
    await shop.subscribe(buyer);
    await shop.look();
    expect(await shop.customerOf(buyer)).toBe(made);
    expect(invoicesOf(shop, id).map(({ customer, total }) => [customer, total])).toEqual([[made, 1_234]]);
  });
});
