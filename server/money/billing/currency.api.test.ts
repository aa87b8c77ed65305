/**
 * Tests payments in a currency of three decimals, of which the provider takes no amount whose last digit is
 * not 0.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gainCredit } from '../../../test/setup/money/paid.ts';
import { has } from '../../../test/setup/needs.ts';
import { startShop, type Shop } from '../../../test/setup/shop.ts';

describe.skipIf(!(await has('postgres')))('in dinars of Kuwait', () => {
  let shop: Shop;
  beforeAll(async () => (shop = await startShop({ BILLING_CURRENCY: 'kwd' })));
  afterAll(async () => await shop?.stop());

  it('credit is bought in steps of ten fils', async () => {
    const buyer = await shop.buyer();
    const refused = await shop.buyCredit(buyer, 5_124);
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('a multiple of 10, since payments in KWD are of whole 0.010 KWD; got 5124'),
    ]);
    await gainCredit(shop, buyer, 5_120);
    expect(await shop.credit(buyer)).toBe(5_120);
  });
});
