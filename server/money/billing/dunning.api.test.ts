/**
 * Payments that fail, second subscriptions, what others with the key do at the provider, refunds and
 * disputes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeOf, gainCredit, priceOf } from '../../../test/setup/money/paid.ts';
import { has } from '../../../test/setup/needs.ts';
import { signIn } from '../../../test/setup/people.ts';
import { BACK, DAY, HOUR, startShop, type Buyer, type Shop } from '../../../test/setup/shop.ts';

describe.skipIf(!(await has('postgres')))('payments', () => {
  let shop: Shop;
  beforeAll(async () => (shop = await startShop()));
  afterAll(async () => await shop?.stop());

  const planActs = async ({ userId }: Buyer) =>
    await shop.server.db.sql<
      Array<{ details: Record<string, unknown>; actor_kind: string; actor_id: string }>
    >`
      select details, actor_kind, actor_id from audit_entries where target = ${userId} and action = 'billing.plan_changed' order by seq`;
  const failures = async (buyer: Buyer) =>
    (await shop.told(buyer)).filter((title) => title.includes('failed'));
  type Session = Parameters<typeof shop.api.checkout.sessions.create>[0];
  /** Pays a session that somebody else with the key has made. */
  const paidForeign = async (session: Session): Promise<string> => {
    const back = { success_url: BACK.successUrl, cancel_url: BACK.cancelUrl };
    const { id } = await shop.api.checkout.sessions.create({ mode: 'payment', ...back, ...session });
    shop.stripe.pay(id);
    await shop.settled();
    return id;
  };
  const once = (cents: number) => [
    { quantity: 1, price_data: { currency: 'usd', unit_amount: cents, product_data: { name: 'x' } } },
  ];

  it('that fail keep the plan for seven days, and one that comes in later brings it back', async () => {
    const buyer = await shop.buyer();
    const subscription = await shop.subscribe(buyer);
    const customer = await shop.customerOf(buyer);
    shop.stripe.setCard(customer, 'declines');
    const end = shop.stripe.tables.subscription.get(subscription)?.items.data[0]?.current_period_end ?? 0;
    await shop.goOn(end * 1_000 - shop.clock.now().getTime() + DAY, DAY / 4);
    expect(await shop.plan(buyer)).toMatchObject({ name: 'team', standing: 'past_due' });
    expect(await failures(buyer)).toEqual(['A payment for other team failed']);
    await shop.look();
    await shop.goOn(5 * DAY, DAY);
    await shop.look();
    await shop.look();
    expect(await failures(buyer)).toHaveLength(2);
    expect(await shop.plan(buyer)).toMatchObject({ name: 'team', standing: 'past_due' });
    await shop.goOn(2 * DAY + HOUR, DAY);
    await shop.look();
    const [limits] = await shop.server.db.sql`select * from team_limits where team_id = ${buyer.teamId}`;
    expect(await shop.plan(buyer)).toMatchObject({
      name: 'free',
      standing: 'free',
      queuedRunsPerTeamMax: 100,
    });
    expect(limits).toMatchObject({ queued_max: 100, runners_max: 3, run_timeout_seconds_max: 3_600 });
    await shop.reconcile();
    expect(await shop.plan(buyer)).toMatchObject({ name: 'free', standing: 'free' });
    expect((await shop.told(buyer))[0]).toBe('other team has the plan Free');
    const open = [...shop.stripe.tables.invoice.values()].find(
      (invoice) => invoice.customer === customer && invoice.status === 'open',
    );
    shop.stripe.payInvoice(open?.id ?? '');
    await shop.settled();
    expect(await shop.plan(buyer)).toMatchObject({ name: 'team', standing: 'active' });
    const acts = await planActs(buyer);
    expect(acts.map(({ details }) => `${String(details['plan'])} ${String(details['standing'])}`)).toEqual([
      'team active',
      'team past_due',
      'free free',
      'team active',
    ]);
    expect(acts[1]).toMatchObject({ actor_kind: 'system', actor_id: 'stripe' });
    expect(String(acts[1]?.details['eventId'])).toMatch(/^evt_/);
  });

  it('of a second subscription go back, and the first one goes on', async () => {
    const buyer = await shop.buyer();
    const first = await shop.subscribe(buyer);
    const customer = await shop.customerOf(buyer);
    const line_items = [{ price: priceOf(shop, 'business').id, quantity: 1 }];
    shop.stripe.webhooks.twice = true;
    await paidForeign({ mode: 'subscription', customer, line_items });
    shop.stripe.webhooks.twice = false;
    await shop.settled();
    const counts = shop.stripe.countsOf(customer);
    expect(counts.liveSubscriptions).toBe(1);
    expect(shop.stripe.tables.subscription.get(first)?.status).toBe('active');
    expect(counts.refundedCents).toBeGreaterThan(0);
    const second = await chargeOf(shop, buyer);
    expect(second.amount_refunded).toBe(second.amount);
    expect(await shop.plan(buyer)).toMatchObject({ name: 'team', standing: 'active' });
    const titles = (await shop.told(buyer)).filter((title) => title.includes('second subscription'));
    expect(titles).toEqual(['A second subscription that pays for other team was cancelled']);
    const acts = (await planActs(buyer)).filter(({ details }) => details['cancelled'] === true);
    expect(acts).toMatchObject([{ details: { plan: 'business', refunded: true } }]);
  });

  it('for sessions that name what is not theirs have no effect, and an alarm', async () => {
    const buyer = await shop.buyer();
    const begun = await shop.buyCredit(buyer, 5_000);
    const checkout = String(begun.body['id']);
    const customer = await shop.customerOf(buyer);
    const other = await shop.buyer();
    await shop.buyCredit(other, 500);
    const foreign = await shop.customerOf(other);
    const forged = async (of: string | undefined, cents: number, reference = checkout) =>
      await paidForeign({
        ...(of !== undefined && { customer: of }),
        client_reference_id: reference,
        metadata: { checkout: reference, account: buyer.userId, team: buyer.teamId },
        line_items: once(cents),
      });
    // The row is bound to its own session, so that none of these is its.
    const sessions = [
      await forged(customer, 5_000),
      await forged(foreign, 100_000),
      await forged(undefined, 100_000),
      await forged(customer, 100_000, 'chk_00000000000000000000000000'),
    ];
    // It looks as if the answer of its making were lost: then the row decides whose it may be, and over how
    // much.
    await shop.server.db.sql`
      update billing_checkouts set state = 'creating', session_id = null, url = null where id = ${checkout}`;
    sessions.push(
      await forged(foreign, 5_000),
      await forged(customer, 4_999),
      await forged(customer, 100_000),
    );
    expect(await shop.credit(buyer)).toBe(0);
    expect(await shop.credit(other)).toBe(0);
    for (const id of sessions)
      expect(
        shop.logged.filter((line) => line.includes(id) && line.includes('no effect')).length,
      ).toBeGreaterThan(0);
    // It is of another installation's currency.
    await shop.server.db.sql`update billing_checkouts set currency = 'eur' where id = ${checkout}`;
    await forged(customer, 5_000);
    expect(await shop.credit(buyer)).toBe(0);
  });

  it('without anything of ours are nobody’s business', async () => {
    const before = shop.logged.length;
    await paidForeign({ line_items: once(900) });
    expect(shop.logged.slice(before)).toEqual([]);
  });

  it('that are given back take the credit back, each cent once', async () => {
    const buyer = await shop.buyer();
    await gainCredit(shop, buyer, 5_000);
    const { id: charge } = await chargeOf(shop, buyer);
    shop.stripe.webhooks.twice = true;
    shop.stripe.refund(charge, 1_000);
    shop.stripe.refund(charge, 1_500);
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(2_500);
    shop.stripe.refund(charge);
    await shop.settled();
    shop.stripe.webhooks.twice = false;
    expect(await shop.credit(buyer)).toBe(0);
  });

  it('that a bank disputes hold the credit until it is said whose it is', async () => {
    const buyer = await shop.buyer();
    await gainCredit(shop, buyer, 5_000);
    const won = shop.stripe.dispute((await chargeOf(shop, buyer)).id);
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(0);
    shop.stripe.closeDispute(won.id, 'won');
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(5_000);
    await gainCredit(shop, buyer, 700);
    shop.stripe.webhooks.hold();
    const lost = shop.stripe.dispute((await chargeOf(shop, buyer)).id);
    shop.stripe.closeDispute(lost.id, 'lost');
    shop.stripe.webhooks.release({ reversed: true });
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(5_000);
  });

  it('for a team that is gone by then go back', async () => {
    const buyer = await shop.buyer();
    const sessionId = shop.sessionOf(await shop.buyCredit(buyer, 5_000));
    const gone = await shop.server.call(`DELETE /teams/${buyer.teamId}`, { as: buyer.key });
    expect(gone.status).toBe(204);
    shop.stripe.pay(sessionId);
    await shop.settled();
    await shop.settled();
    const customer = await shop.customerOf(buyer);
    expect(shop.stripe.countsOf(customer)).toMatchObject({ chargedCents: 5_000, refundedCents: 5_000 });
    expect(await shop.credit(buyer)).toBe(0);
  });

  it('are another owner’s when that one takes the team over', async () => {
    const payer = await shop.buyer();
    await shop.subscribe(payer, 'business');
    const other = await shop.buyer();
    const { sql } = shop.server.db;
    await sql`
      insert into team_members (team_id, user_id, role, joined_at) values (${payer.teamId}, ${other.userId}, 'owner', now())`;
    const asOther = { as: (await signIn(shop.server, other.email, other.password)).token, body: {} };
    const taken = await shop.server.call(`POST /teams/${payer.teamId}/billing/payer`, asOther);
    expect(taken).toMatchObject({ status: 200, body: { plan: 'free', payer: { userId: other.userId } } });
    const [limits] = await sql`select runners_max from team_limits where team_id = ${payer.teamId}`;
    expect(limits).toEqual({ runners_max: 3 });
    await shop.server.call(`POST /teams/${payer.teamId}/billing/payer`, asOther);
    expect((await shop.acts(payer.teamId)).filter((act) => act === 'billing.payer_changed')).toHaveLength(1);
    const stranger = await shop.buyer();
    const refused = await shop.server.call(`POST /teams/${payer.teamId}/billing/payer`, {
      as: stranger.token,
      body: {},
    });
    expect(refused.status).toBe(404);
  });
});
