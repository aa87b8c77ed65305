/** Plans and credit are bought: what people and attackers ask, and what is there in the end. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gainCredit, priceOf } from '../../../test/setup/money/paid.ts';
import { has } from '../../../test/setup/needs.ts';
import { newKey } from '../../../test/setup/people.ts';
import { BACK, DAY, startShop, type Buyer, type Shop } from '../../../test/setup/shop.ts';
import type { TestResponse } from '../../../test/setup/server.ts';

describe.skipIf(!(await has('postgres')))('a purchase', () => {
  let shop: Shop;
  beforeAll(async () => (shop = await startShop()));
  afterAll(async () => await shop?.stop());

  const post = async (buyer: Buyer, path: string, body: object): Promise<TestResponse> =>
    await shop.server.call(`POST ${path}`, { as: buyer.key, body });
  const refused = async (...asked: Parameters<typeof post>): Promise<string> => {
    const { status, code } = await post(...asked);
    return `${status} ${code}`;
  };
  it('of a plan: checkout, payment, plan, told once, in the ledger', async () => {
    const buyer = await shop.buyer();
    expect(await shop.plan(buyer)).toMatchObject({
      name: 'free',
      standing: 'free',
      runnersPerTeamMax: 3,
      queuedRunsPerTeamMax: 100,
      teamIds: [buyer.teamId],
    });
    const begun = await shop.checkout(buyer);
    expect(begun).toMatchObject({
      status: 201,
      body: { kind: 'checkout', id: expect.stringMatching(/^chk_/) },
    });
    expect(Date.parse(String(begun.body['expiresAt']))).toBeGreaterThan(Date.now());
    const sessionId = shop.sessionOf(begun);
    // The address is sent as it was given: only then is the placeholder filled in.
    expect(shop.stripe.pay(sessionId)).toBe(`https://app.example.com/paid?session=${sessionId}`);
    await shop.settled();
    expect(await shop.plan(buyer)).toMatchObject({ name: 'team', standing: 'active', runnersPerTeamMax: 25 });
    const { body: plans } = await shop.server.call('GET /plans', { as: buyer.key });
    expect(plans).toMatchObject({
      plans: [
        { id: 'free', available: true, current: false, queuedMax: 100 },
        {
          id: 'team',
          available: true,
          current: true,
          priceCents: 2_900,
          currency: 'usd',
          includedSeconds: 600_000,
        },
        { id: 'business', available: true, current: false },
      ],
    });
    const { body: billing } = await shop.server.call(`GET /teams/${buyer.teamId}/billing`, { as: buyer.key });
    expect(billing).toMatchObject({
      plan: 'team',
      standing: 'active',
      payer: { userId: buyer.userId, username: buyer.username },
      net: '0.000000000000',
      statements: [],
    });
    expect(await shop.acts(String(begun.body['id']))).toEqual([
      'billing.checkout_started',
      'billing.checkout_completed',
    ]);
    expect(await shop.acts(buyer.userId)).toContain('billing.plan_changed');
    expect(await shop.told(buyer)).toEqual(['other team has the plan Team']);
    expect(shop.stripe.countsOf(await shop.customerOf(buyer))).toMatchObject({
      liveSubscriptions: 1,
      charges: 1,
    });
    expect((await shop.checkout(buyer)).code).toBe('plan_current');
  });

  it('of another plan by somebody who has one is a change at the portal', async () => {
    const buyer = await shop.buyer();
    const subscription = await shop.subscribe(buyer);
    const changing = await shop.checkout(buyer, 'business');
    expect(changing).toMatchObject({ status: 201, body: { kind: 'portal', id: '' } });
    expect(changing.body).not.toHaveProperty('expiresAt');
    expect(shop.stripe.callsOf('POST /v1/billing_portal/sessions').at(-1)?.params).toMatchObject({
      flow_data: { subscription_update_confirm: { subscription } },
    });
    shop.stripe.changePlan(subscription, priceOf(shop, 'business').id);
    await shop.settled();
    expect(await shop.plan(buyer)).toMatchObject({ name: 'business', standing: 'active' });
    expect(shop.stripe.countsOf(await shop.customerOf(buyer)).liveSubscriptions).toBe(1);
    const [row] = await shop.server.db.sql`select 1 from team_limits where team_id = ${buyer.teamId}`;
    expect(row).toBeUndefined();
  });

  it('of credit: an address, a payment, and the ledger has it once', async () => {
    const buyer = await shop.buyer();
    const begun = await shop.buyCredit(buyer, 5_000);
    expect(begun.status).toBe(201);
    shop.stripe.pay(shop.sessionOf(begun));
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(5_000);
    expect(await shop.acts(String(begun.body['id']))).toEqual([
      'billing.checkout_started',
      'billing.checkout_completed',
    ]);
    const [charge] = [...shop.stripe.tables.charge.values()].slice(-1);
    expect(charge).toMatchObject({ amount: 5_000, currency: 'usd' });
    // Another one of the same amount is another purchase.
    await gainCredit(shop, buyer, 5_000);
    expect(await shop.credit(buyer)).toBe(10_000);
  });

  it('of credit that is paid later is credit when it is paid, and none when it is not', async () => {
    const buyer = await shop.buyer();
    const begun = await shop.buyCredit(buyer);
    const bank = shop.stripe.payLater(shop.sessionOf(begun));
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(0);
    // What waits for its bank does not stand in the way of another one.
    const other = await shop.buyCredit(buyer);
    expect(shop.sessionOf(other)).not.toBe(shop.sessionOf(begun));
    const failing = shop.stripe.payLater(shop.sessionOf(other));
    bank.succeed();
    failing.fail();
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(5_000);
    const states = await shop.server.db.sql`
      select state, ended_at is not null as ended from billing_checkouts where user_id = ${buyer.userId} order by id`;
    expect(states).toMatchObject([
      { state: 'completed', ended: true },
      { state: 'failed', ended: true },
    ]);
  });

  it('that is open is given again, and one of another plan or amount takes its place', async () => {
    const buyer = await shop.buyer();
    const first = await shop.checkout(buyer);
    const again = await shop.checkout(buyer);
    expect(again.body).toEqual(first.body);
    const other = await shop.checkout(buyer, 'business');
    expect(other.body['id']).not.toBe(first.body['id']);
    expect(shop.stripe.tables['checkout.session'].get(shop.sessionOf(first))?.status).toBe('expired');
    const credits = await Promise.all(Array.from({ length: 32 }, async () => await shop.buyCredit(buyer)));
    expect(shop.different(credits)).toEqual([expect.stringMatching(/^201 /)]);
    const more = await shop.buyCredit(buyer, 7_000);
    expect(more.body['id']).not.toBe(credits[0]?.body['id']);
    shop.stripe.pay(shop.sessionOf(more));
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(7_000);
    const sessions = [...shop.stripe.tables['checkout.session'].values()].filter(
      (session) =>
        session.customer === shop.stripe.tables['checkout.session'].get(shop.sessionOf(more))?.customer,
    );
    expect(sessions.map(({ status }) => status)).toEqual(['expired', 'open', 'expired', 'complete']);
    expect(shop.stripe.callsOf('POST /v1/customers')).toHaveLength(
      new Set(shop.stripe.callsOf('POST /v1/customers').map(({ idempotencyKey }) => idempotencyKey)).size,
    );
  });

  it('that nobody comes back to ends by itself', async () => {
    const buyer = await shop.buyer();
    const begun = await shop.buyCredit(buyer);
    await shop.goOn(DAY + 60_000);
    const [row] = await shop.server.db
      .sql`select state, url from billing_checkouts where id = ${String(begun.body['id'])}`;
    expect(row).toMatchObject({ state: 'expired', url: null });
    expect((await shop.buyCredit(buyer)).body['id']).not.toBe(begun.body['id']);
  });

  it('is refused for what may not be bought, for addresses of others, and for keys that are narrowed', async () => {
    const buyer = await shop.buyer();
    for (const plan of ['free', 'self_hosted', 'no-such', 'team ', '__proto__'])
      expect(await refused(buyer, '/billing/checkout', { plan, ...BACK })).toBe('400 plan_unknown');
    for (const [field, given] of [
      ['successUrl', 'https:evil.example'],
      ['cancelUrl', 'https:\\\\evil.example\\@app.example.com'],
      ['successUrl', 'https://app.example.com@evil.example/'],
      ['cancelUrl', 'http://app.example.com/'],
    ] as const) {
      const answer = await post(buyer, '/billing/checkout', { plan: 'team', ...BACK, [field]: given });
      expect(answer).toMatchObject({
        status: 400,
        code: 'validation_failed',
        body: { error: { details: { fields: [{ field }] } } },
      });
    }
    const evil = { returnUrl: 'https://evil.example/' };
    expect(await refused(buyer, '/billing/portal', evil)).toBe('400 validation_failed');
    expect(await refused(buyer, '/billing/portal', {})).toBe('409 billing_not_started');
    const creditPath = `/teams/${buyer.teamId}/credits/checkout`;
    for (const amountCents of [-1, 0, 499, 499.5, 500.5, 1_000_001, 1e18, '1000', null, 'NaN', 'Infinity'])
      expect(await refused(buyer, creditPath, { amountCents, ...BACK })).toBe('400 validation_failed');
    const narrowed = await newKey(shop.server, buyer.token, {
      teamId: buyer.teamId,
      scopes: ['billing:read', 'billing:manage'],
    });
    const asNarrowed = { ...buyer, key: narrowed.secret };
    const plan = { plan: 'team', ...BACK };
    expect(await refused(asNarrowed, '/billing/checkout', plan)).toBe('403 scope_missing');
    expect(await refused(asNarrowed, '/billing/portal', {})).toBe('403 scope_missing');
    const stranger = await shop.buyer();
    expect((await post(stranger, creditPath, { amountCents: 500, ...BACK })).status).toBe(404);
    const [made] = await shop.server.db.sql`select 1 from billing_checkouts where user_id = ${buyer.userId}`;
    expect(made).toBeUndefined();
  });

  it('leads to the portal, and what is cancelled there ends with the period', async () => {
    const buyer = await shop.buyer();
    const subscription = await shop.subscribe(buyer);
    const portal = await post(buyer, '/billing/portal', { returnUrl: 'https://app.example.com/account' });
    expect(portal.status).toBe(201);
    expect(String(portal.body['url'])).toMatch(/^http/);
    expect(await shop.acts(buyer.userId)).toContain('billing.portal_opened');
    shop.stripe.cancelAtPeriodEnd(subscription);
    await shop.settled();
    const cancelled = await shop.plan(buyer);
    expect(cancelled).toMatchObject({ name: 'team', standing: 'active' });
    const end = Date.parse(String(cancelled['cancelAt']));
    expect(new Date(end).getUTCDate()).toBe(1);
    // The same plan again is where it goes on.
    expect(await shop.checkout(buyer)).toMatchObject({ status: 201, body: { kind: 'portal' } });
    await shop.goOn(end - shop.clock.now().getTime() + 60_000, DAY / 2);
    const after = await shop.plan(buyer);
    expect(after).toMatchObject({ name: 'free', standing: 'free' });
    expect(after).not.toHaveProperty('cancelAt');
    expect((await shop.checkout(buyer)).body).toMatchObject({ kind: 'checkout' });
  });

  it('leaves no secret, address or e-mail in logs and the ledger', async () => {
    const { sql } = shop.server.db;
    const entries = JSON.stringify(
      await sql`select * from audit_entries where action like 'billing.%' or action like 'credit.%'`,
    );
    const events = JSON.stringify(await sql`select * from billing_events`);
    for (const text of [entries, events, shop.logged.join('\n')]) {
      expect(text).not.toMatch(/\/c\/pay\/|\/p\/session|@example\.com|whsec_of|sk_test_|app\.example\.com/);
    }
  });
});
