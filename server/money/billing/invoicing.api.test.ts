/** Statements become invoices over the same cents, one each, whatever breaks on the way. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { invoicesOf } from '../../../test/setup/money/paid.ts';
import { picked } from '../../../test/setup/money/picked.ts';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { DAY, HOUR, startShop, type Buyer, type Shop } from '../../../test/setup/shop.ts';
import { newId } from '../../base/ids.ts';
import { purchase, useCredit } from '../credits/index.ts';
import { addLooks } from './reconcile.ts';
import { handleEvents } from './worker.ts';

interface Closed {
  readonly period?: string;
  /** Net of each line. */
  readonly lines?: readonly number[];
  readonly credit?: number;
}

describe.skipIf(!(await has('postgres')))('a statement', () => {
  let shop: Shop;
  beforeAll(async () => (shop = await startShop()));
  afterAll(async () => await shop?.stop());
  afterEach(() => shop.stripe.api.up());

  const sqlOf = () => shop.server.db.sql;
  /** Makes a payer with a customer and a card. */
  const payer = async (): Promise<Buyer> => {
    const buyer = await shop.buyer();
    await shop.subscribe(buyer);
    return buyer;
  };
  let months = 0;
  const closed = async (
    { teamId, userId }: Buyer,
    { period = `20${String(10 + (months += 1))}-03-01`, lines = [1_234, 66], credit = 300 }: Closed = {},
  ): Promise<string> => {
    const id = newId('stm');
    const net = lines.reduce((sum, each) => sum + each, 0);
    await sqlOf()`
      insert into statements (id, team_id, payer_id, period, currency, plan, list_cents, included_cents, net_cents, credit_cents, due_cents, state, closed_at)
      values (${id}, ${teamId}, ${userId}, ${period}, 'usd', 'team', ${net}, 0, ${net}, ${credit}, ${net - credit}, 'closed', now())`;
    for (const [n, cents] of lines.entries())
      await sqlOf()`
        insert into statement_lines (statement_id, n, meter, price_id, metered_ms, included_ms, list, included, list_cents, net_cents)
        values (${id}, ${n}, 'run.runner', 'prc_1', 1000, 0, ${`${cents}0000000000`}, 0, ${cents}, ${cents})`;
    return id;
  };
  const state = async (id: string) => {
    const [row] = await sqlOf()`select state, invoice_id, invoice_url from statements where id = ${id}`;
    return row as { state: string; invoice_id: string | null; invoice_url: string | null };
  };
  const invoices = (id: string) => invoicesOf(shop, id);
  /** Makes a draft over an amount, as somebody else with the key would. */
  const drafted = async (statement: string, customer: string, amount: number): Promise<string> => {
    const { id } = await shop.api.invoices.create({ customer, metadata: { statement } });
    const item = { customer, invoice: id, amount, currency: 'usd', description: 'x' };
    await shop.api.invoiceItems.create(item);
    return id;
  };
  /** Looks for what is due, and handles what is found, without waiting for the rest. */
  const lookOnce = async (): Promise<void> => {
    await addLooks(sqlOf(), { now: shop.clock.now(), all: false });
    await handleEvents(shop.deps);
  };
  const acts = async (id: string) => (await shop.acts(id)).filter((act) => act.startsWith('statement.'));
  /** Tries that wait for their turn are due now. */
  const again = async () =>
    await sqlOf()`update billing_events set due_at = now() where done_at is null and last_error is not null`;
  /** Until nothing is left to do, without the pauses between tries. */
  const persist = async () => {
    for (let round = 0; round < 12; round += 1) {
      await sqlOf()`update billing_events set due_at = now() where done_at is null`;
      if ((await handleEvents(shop.deps)) === 0) break;
    }
    await shop.look();
  };

  it('that is voided gives back the credit that it had used, once', async () => {
    const buyer = await payer();
    const { db } = shop.server;
    const at = shop.clock.now();
    await purchase(db, { teamId: buyer.teamId, cents: 232, source: `cs_${buyer.teamId}`, at });
    const id = await closed(buyer, { lines: [95_154], credit: 232 });
    await useCredit(db, { currency: 'usd', teamId: buyer.teamId, cents: 232, source: id, at });
    expect(await shop.credit(buyer)).toBe(0);
    await shop.look();
    const [invoice] = invoices(id);
    await shop.api.invoices.voidInvoice(invoice?.id ?? '');
    await shop.settled();
    expect((await state(id)).state).toBe('voided');
    expect(await shop.credit(buyer)).toBe(232);
    const voided = [...shop.stripe.tables.event.values()].findLast(({ type }) => type === 'invoice.voided');
    await sqlOf()`delete from billing_events where id = ${voided?.id ?? ''}`;
    shop.stripe.webhooks.resend(voided?.id ?? '');
    await shop.settled();
    expect(await shop.credit(buyer)).toBe(232);
    expect(await shop.acts(id)).toContain('credit.returned');
    const ledger = await shop.server.call(`GET /teams/${buyer.teamId}/credits/ledger`, { as: buyer.key });
    expect(ledger.body['entries']).toMatchObject([
      { kind: 'usage_returned', amountCents: 232, balanceCents: 232 },
      { kind: 'usage' },
      { kind: 'purchase' },
    ]);
  });

  it('that was paid and is given back, or lost in a dispute, says so, and leaves a transfer and a row', async () => {
    const buyer = await payer();
    const [refunded, disputed] = [
      await closed(buyer, { lines: [1_000], credit: 0 }),
      await closed(buyer, { lines: [700], credit: 0 }),
    ];
    await shop.look();
    const chargeOf = async (id: string) => {
      const invoice = invoices(id)[0]?.id ?? '';
      shop.stripe.payInvoice(invoice);
      const payment = [...shop.stripe.tables.invoice_payment.values()].find(
        (each) => each.invoice === invoice,
      );
      const intent = String(payment?.payment.payment_intent);
      return [...shop.stripe.tables.charge.values()].find((each) => each.payment_intent === intent)!;
    };
    const charge = await chargeOf(refunded);
    for (const amount of [300, 150]) {
      await shop.api.refunds.create({ charge: charge.id, amount });
      await shop.settled();
    }
    shop.stripe.closeDispute(shop.stripe.dispute((await chargeOf(disputed)).id).id, 'lost');
    await shop.settled();
    const all = await shop.server.call(`GET /teams/${buyer.teamId}/statements`, { as: buyer.key });
    const statements = all.body['statements'] as Array<Record<string, unknown>>;
    expect(picked(statements, 'id', 'state', 'refundedCents')).toEqual([
      [disputed, 'paid', 700],
      [refunded, 'paid', 450],
    ]);
    const transfers = await sqlOf()`
      select kind, cents from credit_transfers where team_id = ${buyer.teamId} order by created_at, id`;
    expect(transfers).toEqual([
      { kind: 'statement_refund', cents: 300 },
      { kind: 'statement_refund', cents: 150 },
      { kind: 'statement_dispute_lost', cents: 700 },
    ]);
    expect(await shop.acts(refunded)).toContain('statement.refunded');
    const exported = `${shop.server.baseUrl}/teams/${buyer.teamId}/costs/export.json`;
    const rows = await fetch(exported, { headers: { authorization: `Bearer ${buyer.key}` } });
    const lines = (await rows.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>);
    expect(
      lines.filter((row) => row['ChargeClass'] === 'Correction').map((row) => row['BilledCost']),
    ).toEqual(['-3.000000000000', '-1.500000000000', '-7.000000000000']);
    // The fee of the plan, which the account pays for its one team.
    expect(lines.filter((row) => row['SkuId'] === 'plan.team')).toMatchObject([
      { ChargeCategory: 'Purchase', ChargeFrequency: 'Recurring', SkuPriceId: 'plan.team.usd' },
    ]);
  });

  it('is invoiced over its very cents, credit taken off, and paid by the card', async () => {
    const buyer = await payer();
    const id = await closed(buyer);
    await shop.look();
    const [invoice, ...more] = invoices(id);
    expect(more).toEqual([]);
    expect(invoice).toMatchObject({ total: 1_000, currency: 'usd', auto_advance: true });
    expect(invoice?.lines.data.map(({ amount }) => amount).toSorted((a, b) => a - b)).toEqual([
      -300, 66, 1_234,
    ]);
    expect(await state(id)).toMatchObject({ state: 'invoiced', invoice_id: invoice?.id });
    await shop.goOn(2 * HOUR);
    expect(invoices(id)[0]?.status).toBe('paid');
    expect(await state(id)).toMatchObject({ state: 'paid', invoice_url: expect.stringContaining('http') });
    expect(await acts(id)).toEqual(['statement.invoiced', 'statement.paid']);
    const { body } = await shop.server.call(`GET /teams/${buyer.teamId}/billing`, { as: buyer.key });
    expect(body).toMatchObject({
      statements: [
        {
          id,
          state: 'paid',
          dueCents: 1_000,
          creditCents: 300,
          lines: [{ meter: 'run.runner', netCents: 1_234 }, { netCents: 66 }],
        },
      ],
    });
  });

  it('of nobody with a customer stays closed, and so does one with nothing due', async () => {
    const nobody = await shop.buyer();
    const waiting = await closed(nobody);
    const buyer = await payer();
    const nothing = await closed(buyer, { lines: [300], credit: 300 });
    await shop.look();
    expect((await state(waiting)).state).toBe('closed');
    expect((await state(nothing)).state).toBe('closed');
    await shop.buyCredit(nobody);
    await shop.goOn(60_000, 60_000);
    await shop.look();
    expect((await state(waiting)).state).toBe('invoiced');
  });

  it('whose payment fails is told of once, and is paid by another card', async () => {
    const buyer = await payer();
    const customer = await shop.customerOf(buyer);
    shop.stripe.setCard(customer, 'declines');
    const id = await closed(buyer);
    await shop.look();
    await shop.goOn(2 * HOUR);
    expect((await state(id)).state).toBe('failed');
    await shop.goOn(4 * DAY, DAY / 2);
    const titles = (await shop.told(buyer)).filter((title) => title.startsWith('The payment of'));
    expect(titles).toHaveLength(1);
    shop.stripe.payInvoice(invoices(id)[0]?.id ?? '');
    await shop.settled();
    expect((await state(id)).state).toBe('paid');
    expect(await acts(id)).toEqual(['statement.invoiced', 'statement.failed', 'statement.paid']);
  });

  it('that staff void at the provider is voided', async () => {
    const buyer = await payer();
    const id = await closed(buyer);
    await shop.look();
    await shop.api.invoices.voidInvoice(invoices(id)[0]?.id ?? '');
    await shop.settled();
    expect((await state(id)).state).toBe('voided');
    expect(await acts(id)).toEqual(['statement.invoiced', 'statement.voided']);
  });

  it.each(['POST /v1/invoices', 'POST /v1/invoiceitems'])(
    'has one invoice when the answers of %s are lost after the effect, and their keys are forgotten',
    async (call) => {
      const buyer = await payer();
      const id = await closed(buyer, { lines: [700, 800, 900], credit: 100 });
      const { api } = shop.stripe;
      // The library tries a lost answer again with the same key: that one is lost, too.
      api.loseAnswerAfterEffect(2, call);
      await lookOnce();
      await waitFor('a lost answer', async () => {
        const waiting = await sqlOf()`
          update billing_events set due_at = now() + interval '1 hour'
          where object_id = ${id} and done_at is null and last_error is not null returning 1`;
        return waiting.length > 0;
      });
      await shop.goOnAlone(25 * HOUR);
      await persist();
      expect(invoices(id).map(({ total, status }) => [total, status])).toEqual([[2_300, 'open']]);
      expect((await state(id)).state).toBe('invoiced');
      expect(await acts(id)).toEqual(['statement.invoiced']);
    },
  );

  it('has one invoice when the provider answers 500, resets, and is away for four days', async () => {
    const buyer = await payer();
    const id = await closed(buyer);
    const { api } = shop.stripe;
    api.answer500(1, { which: 'POST /v1/invoices', effect: true });
    api.reset(2, 'POST /v1/invoiceitems');
    api.answer500(1, { which: 'POST /v1/invoiceitems' });
    await shop.look().catch(() => undefined);
    api.down();
    for (let pair = 0; pair < 2; pair += 1) {
      await again();
      await handleEvents(shop.deps);
      await shop.goOnAlone(2 * DAY);
    }
    api.up();
    await persist();
    expect(invoices(id).map(({ total, status }) => [total, status])).toEqual([[1_000, 'open']]);
    expect((await state(id)).state).toBe('invoiced');
  });

  it('has one invoice when two servers are at it, and one of them is taken for lost', async () => {
    const buyer = await payer();
    const id = await closed(buyer);
    const release = shop.stripe.api.pause('POST /v1/invoices');
    await addLooks(sqlOf(), { now: shop.clock.now(), all: false });
    const first = handleEvents(shop.deps);
    await new Promise((resolve) => setImmediate(resolve));
    // Its claim ends while it waits for the provider.
    await sqlOf()`update billing_events set due_at = now() where object_id = ${id} and done_at is null`;
    const second = handleEvents(shop.deps);
    release();
    await Promise.allSettled([first, second]);
    await persist();
    expect(invoices(id).map(({ total, status }) => [total, status])).toEqual([[1_000, 'open']]);
    expect(await acts(id)).toEqual(['statement.invoiced']);
  });

  it('is never invoiced over another amount: the draft goes, and those who run the installation know', async () => {
    const buyer = await payer();
    const id = await closed(buyer);
    await drafted(id, await shop.customerOf(buyer), 5);
    await lookOnce();
    expect(
      shop.logged.some((line) => line.includes(id) && line.includes('is over 10.05 USD, expected 10.00 USD')),
    ).toBe(true);
    expect(invoices(id)).toEqual([]);
    await persist();
    expect(invoices(id).map(({ total }) => total)).toEqual([1_000]);
  });

  it('follows no invoice of another customer, or over another amount', async () => {
    const buyer = await payer();
    const id = await closed(buyer);
    const other = await payer();
    for (const [customer, amount] of [
      [await shop.customerOf(other), 1_000],
      [await shop.customerOf(buyer), 999],
    ] as const) {
      const invoice = await drafted(id, customer, amount);
      await shop.api.invoices.finalizeInvoice(invoice);
      shop.stripe.payInvoice(invoice);
      // The server may have come by itself to the draft, which it does not make final.
      await shop.heard();
    }
    expect((await state(id)).state).toBe('closed');
    expect(
      shop.logged.filter((line) => line.includes(id) && line.includes('no effect')).length,
    ).toBeGreaterThan(1);
  });

  it('that staff settle otherwise is left alone', async () => {
    const left = await sqlOf()`select id from statements where state = 'closed' and due_cents > 0`;
    await sqlOf()`update statements set state = 'voided' where state = 'closed'`;
    await persist();
    for (const { id } of left) expect(await acts(id as string)).toEqual([]);
  });

  it('whose payment nobody heard of is paid when it is looked at', async () => {
    const buyer = await payer();
    const id = await closed(buyer);
    await shop.look();
    let isDeaf = true;
    shop.stripe.webhooks.drop(1_000, () => isDeaf);
    shop.stripe.payInvoice(invoices(id)[0]?.id ?? '');
    await shop.settled();
    expect((await state(id)).state).toBe('invoiced');
    await shop.reconcile();
    isDeaf = false;
    expect((await state(id)).state).toBe('paid');
  });
});
