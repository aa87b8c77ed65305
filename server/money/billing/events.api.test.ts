/**
 * Tests what the provider tells, late, twice, in any order or not at all: the end is always what the provider
 * says when it is asked.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chargeOf, payCredit } from '../../../test/setup/money/paid.ts';
import { has } from '../../../test/setup/needs.ts';
import { startShop, type Buyer, type Shop } from '../../../test/setup/shop.ts';

describe.skipIf(!(await has('postgres')))('what the provider tells', () => {
  let shop: Shop;
  beforeAll(async () => (shop = await startShop()));
  afterAll(async () => await shop?.stop());
  afterEach(() => {
    shop.stripe.webhooks.twice = false;
    shop.stripe.webhooks.release();
    shop.stripe.api.up();
  });

  const sqlOf = () => shop.server.db.sql;
  const changes = async ({ userId }: Buyer) =>
    await sqlOf()`select plan, standing from plan_changes where user_id = ${userId} order by from_at, id`;
  it('twice and reversed has one effect', async () => {
    const buyer = await shop.buyer();
    shop.stripe.webhooks.twice = true;
    shop.stripe.webhooks.hold();
    await payCredit(shop, buyer);
    shop.stripe.refund((await chargeOf(shop, buyer)).id, 2_000);
    shop.stripe.pay(shop.sessionOf(await shop.checkout(buyer)));
    shop.stripe.webhooks.release({ reversed: true });
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(3_000);
    expect(await shop.plan(buyer)).toMatchObject({ name: 'team', standing: 'active' });
    expect(await changes(buyer)).toEqual([{ plan: 'team', standing: 'active' }]);
    const acts = await sqlOf()`
      select action from audit_entries where chain = ${buyer.teamId} and (action like 'credit.%' or action like 'billing.%') order by seq`;
    expect(acts.map(({ action }) => action as string)).toEqual([
      'billing.checkout_started',
      'credit.purchased',
      'billing.checkout_completed',
      'credit.refunded',
    ]);
  });

  it('in fifty shuffled pieces ends where the provider is', async () => {
    const buyer = await shop.buyer();
    shop.stripe.webhooks.hold();
    shop.stripe.pay(shop.sessionOf(await shop.checkout(buyer)));
    const customer = await shop.customerOf(buyer);
    const subscriptions = [...shop.stripe.tables.subscription.values()];
    const subscription = subscriptions.find((each) => each.customer === customer)?.id ?? '';
    const prices = [...shop.stripe.tables.price.values()].filter((price) =>
      price.lookup_key?.startsWith('svc_'),
    );
    while ([...shop.stripe.tables.event.values()].length < 50) {
      for (const { id } of prices) shop.stripe.changePlan(subscription, id);
    }
    for (const { id } of prices) shop.stripe.changePlan(subscription, id);
    const ids = [...shop.stripe.tables.event.keys()].slice(-50);
    const seed = Date.now();
    let state = seed % 2_147_483_647;
    const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    for (let at = ids.length - 1; at > 0; at -= 1) {
      const other = Math.floor(random() * (at + 1));
      [ids[at], ids[other]] = [ids[other] ?? '', ids[at] ?? ''];
    }
    shop.stripe.webhooks.hold(() => false);
    for (const id of ids) shop.stripe.webhooks.resend(id);
    await shop.settled();
    expect(await shop.plan(buyer), `seed ${seed}`).toMatchObject({ name: 'business', standing: 'active' });
  });

  it('of a subscription that has ended since is no plan', async () => {
    const buyer = await shop.buyer();
    const subscription = await shop.subscribe(buyer);
    const updated = [...shop.stripe.tables.event.values()].findLast(
      (event) =>
        event.type === 'customer.subscription.updated' && JSON.stringify(event).includes(subscription),
    );
    shop.stripe.cancelNow(subscription);
    await shop.settled();
    expect(await shop.plan(buyer)).toMatchObject({ name: 'free', standing: 'free' });
    await sqlOf()`delete from billing_events where id = ${updated?.id ?? ''}`;
    shop.stripe.webhooks.resend(updated?.id ?? '');
    await shop.settled();
    expect(await shop.plan(buyer)).toMatchObject({ name: 'free', standing: 'free' });
    expect(await changes(buyer)).toHaveLength(2);
  });

  it('and nobody hears is found by looking', async () => {
    const buyer = await shop.buyer();
    let isDeaf = true;
    shop.stripe.webhooks.drop(1_000, () => isDeaf);
    await payCredit(shop, buyer);
    shop.stripe.pay(shop.sessionOf(await shop.checkout(buyer)));
    await shop.stripe.delivered();
    expect(await shop.credit(buyer)).toBe(0);
    const { looks } = await shop.reconcile();
    expect((looks as { checkouts: number }).checkouts).toBeGreaterThanOrEqual(2);
    expect(await shop.credit(buyer)).toBe(5_000);
    expect(await shop.plan(buyer)).toMatchObject({ name: 'team', standing: 'active' });
    await shop.reconcile();
    expect(await shop.credit(buyer)).toBe(5_000);
    expect(await changes(buyer)).toHaveLength(1);
    isDeaf = false;
  });
});
