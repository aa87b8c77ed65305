/** This file tests what comes in under the provider's name, and what it may do. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import { startShop, WEBHOOK_SECRETS, type Shop } from '../../../test/setup/shop.ts';
import { signatureOf } from '../../../test/setup/stripe/index.ts';

const postgresHere = await has('postgres');
const PATH = '/billing/webhooks/stripe';

interface EventFields {
  readonly id?: string;
  readonly type?: string;
  readonly livemode?: boolean;
  readonly object?: object;
}

let n = 0;
const eventText = ({
  id = `evt_own_${(n += 1)}`,
  type = 'customer.subscription.updated',
  livemode = false,
  object,
}: EventFields = {}) =>
  JSON.stringify({
    id,
    object: 'event',
    type,
    livemode,
    data: { object: object ?? { id: 'sub_1', object: 'subscription', customer: 'cus_nobody' } },
  });

describe.skipIf(!postgresHere)('an event of the provider', () => {
  let shop: Shop;
  const [secret = '', before = ''] = WEBHOOK_SECRETS;
  beforeAll(async () => (shop = await startShop()));
  afterAll(async () => await shop?.stop());

  const seconds = () => Math.floor(shop.clock.now().getTime() / 1_000);
  const send = async (body: string, signature?: string) =>
    await shop.server.call(`POST ${PATH}`, {
      body,
      headers: signature === undefined ? {} : { 'stripe-signature': signature },
    });
  const signed = (body: string, { at = seconds(), secrets = [secret] } = {}) =>
    signatureOf(body, { secrets, at });
  const stored = async () => (await shop.server.db.sql`select from billing_events`).length;

  it('is taken by either secret, and stored once', async () => {
    const text = eventText();
    expect(await send(text, signed(text))).toMatchObject({ status: 200, body: { received: true } });
    expect(await send(text, signed(text, { secrets: [before] }))).toMatchObject({
      status: 200,
      body: { received: true, duplicate: true },
    });
    const other = eventText();
    expect((await send(other, signed(other, { secrets: ['whsec_unknown', before] }))).status).toBe(200);
    expect((await send(other, signed(other, { at: seconds() - 299 }))).status).toBe(200);
    expect((await send(other, signed(other, { at: seconds() + 299 }))).status).toBe(200);
  });

  it('is refused without a proof, and nothing is stored', async () => {
    const text = eventText();
    const count = await stored();
    const good = signed(text);
    const [time = '', v1 = ''] = good.split(',');
    const plain = createHmac('sha256', secret).update(text).digest('hex');
    const wrong: ReadonlyArray<readonly [string, string | undefined]> = [
      [text, undefined],
      [text, ''],
      [text, 'x'],
      [text, time],
      [text, v1],
      [text, `${time},v0=${v1.slice(3)}`],
      [text, `${time},v1=${v1.slice(3).toUpperCase()}`],
      [text, `${time}, ${v1}`],
      [text, `${time},v1=${plain}`],
      [text, `${time},v1=`],
      [`${text} `, good],
      [text.replace('sub_1', 'sub_2'), good],
      ['', good],
      [text, signed(text, { secrets: ['whsec_unknown'] })],
      [text, signed(text, { secrets: [secret.slice('whsec_'.length)] })],
      [text, signed(text, { at: seconds() - 301 })],
      [text, signed(text, { at: seconds() + 302 })],
      [text, signed(text, { at: seconds() + 3_600 })],
      [text, `t=${seconds()},${signed(text, { at: seconds() - 3_600 })}`],
      [text, `${signed(text, { at: seconds() + 3_600 })},t=${seconds()}`],
      [text, signed(text, { at: 0 })],
      [text, `t=NaN,${v1}`],
    ];
    for (const [body, header] of wrong)
      expect(await send(body, header), `${header} over ${body}`).toMatchObject({
        status: 401,
        code: 'signature_invalid',
      });
    expect(await stored()).toBe(count);
    const big = eventText({ object: { id: 'sub_1', text: 'x'.repeat(600_000) } });
    expect((await send(big, signed(big))).code).toBe('body_too_large');
    expect((await shop.server.call(`GET ${PATH}`)).status).toBe(405);
  });

  it('of no concern is answered and forgotten', async () => {
    const count = await stored();
    for (const told of [
      { type: 'customer.created' },
      { type: 'svc.refund', object: { id: 'pi_1' } },
      { type: 'svc.statement', object: { id: 'stm_1' } },
      { type: 'constructor' },
      { type: '__proto__' },
      { livemode: true },
      { object: {} },
      { object: { id: 7 } },
    ]) {
      const text = eventText(told);
      expect(await send(text, signed(text))).toMatchObject({ status: 200, body: { ignored: true } });
    }
    expect(await stored()).toBe(count);
  });

  it('one hundred times at once is one', async () => {
    const text = eventText();
    const header = signed(text);
    const answers = await Promise.all(Array.from({ length: 100 }, async () => await send(text, header)));
    expect(answers.filter(({ body }) => body['duplicate'] === undefined)).toHaveLength(1);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    await shop.settled();
  });
});

describe.skipIf(!postgresHere)('without a provider of payments', () => {
  it('everybody is self-hosted, nothing is for sale, and nothing is refused by a plan', async () => {
    const server = await startTestServer();
    try {
      const as = server.first.apiKey;
      const { teamId } = server.first;
      expect((await server.call('GET /plans')).body).toMatchObject({
        plans: [
          {
            id: 'self_hosted',
            priceCents: 0,
            includedSeconds: 0,
            overage: true,
            available: true,
            current: false,
          },
        ],
      });
      expect((await server.call('GET /plans', { as })).body).toMatchObject({ plans: [{ current: true }] });
      expect((await server.call('GET /account/plan', { as })).body).toMatchObject({
        name: 'self_hosted',
        standing: 'self_hosted',
        includedSeconds: 0,
        usedSeconds: 0,
        runnersPerTeamMax: 1_000,
      });
      expect((await server.call(`GET /teams/${teamId}/billing`, { as })).body).toMatchObject({
        plan: 'self_hosted',
        standing: 'self_hosted',
        creditBalanceCents: 0,
        pendingCents: 0,
        statements: [],
      });
      const urls = { successUrl: server.baseUrl, cancelUrl: server.baseUrl };
      for (const [path, body] of [
        ['/billing/checkout', { plan: 'team', ...urls }],
        ['/billing/portal', {}],
        [`/teams/${teamId}/credits/checkout`, { amountCents: 500, ...urls }],
        [PATH, {}],
      ] as const)
        expect(await server.call(`POST ${path}`, { as, body })).toMatchObject({
          status: 503,
          code: 'billing_unconfigured',
          body: { error: { retryable: false } },
        });
      const [limits] = await server.db.sql`select count(*)::int as count from team_limits`;
      expect(limits).toEqual({ count: 0 });
    } finally {
      await server.stop();
    }
  });
});
