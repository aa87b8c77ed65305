/**
 * The provider loses answers, fails, resets and is away while people buy: they get the same page again, or a
 * new one, and never two charges.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { gainCredit, priceOf } from '../../../test/setup/money/paid.ts';
import { has } from '../../../test/setup/needs.ts';
import { BACK, HOUR, startShop, type Buyer, type Shop } from '../../../test/setup/shop.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { createAvailability } from './availability.ts';

const SESSIONS = 'POST /v1/checkout/sessions';
const CUSTOMERS = 'POST /v1/customers';

describe.skipIf(!(await has('postgres')))('while the provider is not well', () => {
  let shop: Shop;
  beforeAll(async () => (shop = await startShop()));
  afterAll(async () => await shop?.stop());
  afterEach(() => shop.stripe.api.up());

  const sessionsOf = async (buyer: Buyer) => {
    const customer = await shop.customerOf(buyer);
    return [...shop.stripe.tables['checkout.session'].values()].filter((each) => each.customer === customer);
  };
  const rows = async ({ userId }: Buyer) =>
    await shop.server.db.sql`select id, state from billing_checkouts where user_id = ${userId} order by id`;
  const away = { status: 503, code: 'unavailable', body: { error: { retryable: true } } };

  it('a page whose address was lost is the one that is given next time', async () => {
    const buyer = await shop.buyer();
    shop.stripe.api.loseAnswerAfterEffect(2, SESSIONS);
    const lost = await shop.checkout(buyer);
    expect(lost).toMatchObject(away);
    const again = await shop.checkout(buyer);
    expect(again.status).toBe(201);
    const [session, ...more] = await sessionsOf(buyer);
    expect(more).toEqual([]);
    expect(session?.client_reference_id).toBe(again.body['id']);
    shop.stripe.pay(shop.sessionOf(again));
    await shop.settled();
    expect(await shop.plan(buyer)).toMatchObject({ name: 'team' });
  });

  it('a page whose address was lost, and that nobody asks for again, ends with its day', async () => {
    const buyer = await shop.buyer();
    shop.stripe.api.loseAnswerAfterEffect(2, SESSIONS);
    await shop.buyCredit(buyer);
    expect(await rows(buyer)).toMatchObject([{ state: 'creating' }]);
    await shop.goOn(25 * HOUR, HOUR * 5);
    await shop.look();
    expect(await rows(buyer)).toMatchObject([{ state: 'expired' }]);
    await gainCredit(shop, buyer);
    expect(await shop.credit(buyer)).toBe(5_000);
  });

  it('a person who pays on a page that only the provider knows of has paid', async () => {
    const buyer = await shop.buyer();
    shop.stripe.api.loseAnswerAfterEffect(2, SESSIONS);
    await shop.buyCredit(buyer);
    const [session] = await sessionsOf(buyer);
    shop.stripe.webhooks.twice = true;
    shop.stripe.pay(session?.id ?? '');
    await shop.settled();
    shop.stripe.webhooks.twice = false;
    expect(await shop.credit(buyer)).toBe(5_000);
    expect(await rows(buyer)).toMatchObject([{ state: 'completed' }]);
  });

  it('an answer of 500 after the effect is looked for, and one without makes room for another purchase', async () => {
    const buyer = await shop.buyer();
    shop.stripe.api.answer500(1, { which: SESSIONS, effect: true });
    const found = await shop.checkout(buyer);
    expect(found.status).toBe(201);
    expect(await sessionsOf(buyer)).toHaveLength(1);
    const other = await shop.buyer();
    shop.stripe.api.answer500(1, { which: SESSIONS });
    expect(await shop.checkout(other)).toMatchObject(away);
    const next = await shop.checkout(other);
    expect(next.status).toBe(201);
    expect(await rows(other)).toMatchObject([{ state: 'failed' }, { state: 'open' }]);
    expect(await sessionsOf(other)).toHaveLength(1);
  });

  it('a reset connection, and a customer whose making was not answered, cost a try', async () => {
    const buyer = await shop.buyer();
    shop.stripe.api.loseAnswerAfterEffect(2, 'POST /v1/customers');
    shop.stripe.api.reset(1, SESSIONS);
    expect(await shop.checkout(buyer)).toMatchObject(away);
    expect((await shop.checkout(buyer)).status).toBe(201);
    const mine = [...shop.stripe.tables.customer.values()].filter((each) => each.email === buyer.email);
    expect(mine).toHaveLength(1);
    expect(mine[0]?.metadata).toEqual({ account: buyer.userId });
  });

  it('of two tabs one page comes', async () => {
    const buyer = await shop.buyer();
    await shop.buyCredit(buyer); // Its customer is there.
    const release = shop.stripe.api.pause(SESSIONS);
    const tabs = [shop.checkout(buyer), shop.checkout(buyer), shop.checkout(buyer, 'team')];
    await new Promise((resolve) => setImmediate(resolve));
    release();
    const answers = await Promise.all(tabs);
    expect(shop.different(answers)).toEqual([expect.stringMatching(/^201 /)]);
    expect((await sessionsOf(buyer)).filter(({ mode }) => mode === 'subscription')).toHaveLength(1);
  });

  it('of two servers one page comes, one charge, and one effect', async () => {
    const buyer = await shop.buyer();
    const other = await shop.another();
    try {
      const path = `POST /teams/${buyer.teamId}/credits/checkout`;
      const call = { as: buyer.key, body: { amountCents: 6_000, ...BACK } };
      const release = shop.stripe.api.pause(CUSTOMERS);
      const asked = Promise.all(
        Array.from(
          { length: 32 },
          async (_, n) => await (n % 2 === 0 ? shop.server : other).call(path, call),
        ),
      );
      // One makes the customer; each of the others is told twice that it is being made.
      await waitFor(
        'calls for the customer that are told to come again',
        () => shop.stripe.callsOf(CUSTOMERS).filter(({ status }) => status === 409).length,
        { holds: (count) => count >= 62 },
      );
      release();
      const answers = await asked;
      expect(shop.different(answers)).toEqual([expect.stringMatching(/^201 /)]);
      expect(await sessionsOf(buyer)).toHaveLength(1);
      // Nobody took a customer that was just made for one that is gone.
      expect(await shop.acts(buyer.userId)).not.toContain('billing.customer_replaced');
      shop.stripe.webhooks.twice = true;
      shop.stripe.pay(shop.sessionOf(answers[0] ?? (await shop.buyCredit(buyer))));
      await shop.settled();
      shop.stripe.webhooks.twice = false;
      expect(await shop.credit(buyer)).toBe(6_000);
    } finally {
      await other.stop();
    }
  });

  it('nothing is for sale, nothing fails that needs no provider, and what was told is not forgotten', async () => {
    const buyer = await shop.buyer();
    const begun = await shop.buyCredit(buyer);
    const available = createAvailability(shop.deps);
    expect([...(await available())]).toEqual(['team', 'business']);
    shop.stripe.api.down();
    expect([...(await createAvailability(shop.deps)())]).toEqual([]);
    expect([...(await available())]).toEqual(['team', 'business']);
    expect(await shop.checkout(buyer)).toMatchObject(away);
    expect(await shop.server.call('POST /billing/portal', { as: buyer.key, body: {} })).toMatchObject(away);
    expect((await shop.plan(buyer))['name']).toBe('free');
    expect((await shop.server.call('GET /plans')).status).toBe(200);
    shop.stripe.pay(shop.sessionOf(begun));
    await shop.stripe.delivered();
    expect(await shop.credit(buyer)).toBe(0);
    shop.stripe.api.up();
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(5_000);
  });

  it('prices that are missing, inactive or of another amount are not for sale', async () => {
    const [team, business] = [priceOf(shop, 'team'), priceOf(shop, 'business')];
    const buyer = await shop.buyer();
    team.active = false;
    business.unit_amount = 19_899;
    expect([...(await createAvailability(shop.deps)())]).toEqual([]);
    expect(await shop.checkout(buyer)).toMatchObject({ status: 400, code: 'plan_unknown' });
    expect(await shop.checkout(buyer, 'business')).toMatchObject({ status: 400, code: 'plan_unknown' });
    team.active = true;
    business.unit_amount = 19_900;
    expect((await shop.checkout(buyer)).status).toBe(201);
  });
});
