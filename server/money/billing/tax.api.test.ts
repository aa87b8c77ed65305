/** Taxes are the provider's: they are paid beside what is bought, and no figure here contains them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeOf, invoicesOf } from '../../../test/setup/money/paid.ts';
import { has } from '../../../test/setup/needs.ts';
import { startShop, type Shop } from '../../../test/setup/shop.ts';

describe.skipIf(!(await has('postgres')))('with taxes', () => {
  let shop: Shop;
  beforeAll(async () => (shop = await startShop({ BILLING_TAX: 'automatic' }, { taxPercent: 20 })));
  afterAll(async () => await shop?.stop());

  it('credit is what was bought, an invoice is over what is due, and what goes back is a part of both', async () => {
    const buyer = await shop.buyer();
    await shop.subscribe(buyer);
    expect(await shop.plan(buyer)).toMatchObject({ name: 'team' });
    const sessionId = shop.sessionOf(await shop.buyCredit(buyer, 5_000));
    shop.stripe.pay(sessionId);
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(5_000);
    const charged = shop.stripe.tables['checkout.session'].get(sessionId)?.amount_total;
    expect(charged).toBe(6_000);
    shop.stripe.refund((await chargeOf(shop, buyer)).id, 3_000);
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(2_500);
    await shop.server.db.sql`
      insert into statements (id, team_id, payer_id, period, currency, plan, list_cents, included_cents, net_cents, credit_cents, due_cents, state, closed_at)
      values ('stm_taxed', ${buyer.teamId}, ${buyer.userId}, '2026-01-01', 'usd', 'team', 1000, 0, 1000, 0, 1000, 'closed', now())`;
    await shop.look();
    expect(invoicesOf(shop, 'stm_taxed')[0]).toMatchObject({ total_excluding_tax: 1_000, total: 1_200 });
    const [row] = await shop.server.db.sql`select state from statements where id = 'stm_taxed'`;
    expect(row).toEqual({ state: 'invoiced' });
  });
});
