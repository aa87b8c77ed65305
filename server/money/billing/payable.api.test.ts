/**
 * Amounts that the provider takes: what a month comes to is rounded to them once, and everything that is made
 * of it is the same.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { invoicesOf } from '../../../test/setup/money/paid.ts';
import { has } from '../../../test/setup/needs.ts';
import { startShop, type Buyer, type Shop } from '../../../test/setup/shop.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { seedDays } from '../costs/testing/days.ts';
import { post, useCredit } from '../credits/index.ts';

const postgresHere = await has('postgres');
const MONTH = '2026-10-01';

interface Family {
  readonly currency: string;
  readonly step: number;
  /**
   * Net of each line by its meter, in minor units: of 291.0274 and of 0.0051 of the currency beyond what is
   * included.
   */
  readonly nets: readonly [number, number];
}

const FAMILIES: readonly Family[] = [
  { currency: 'kwd', step: 10, nets: [291_030, 10] },
  { currency: 'isk', step: 100, nets: [29_100, 0] },
  { currency: 'jpy', step: 1, nets: [291, 0] },
  { currency: 'usd', step: 1, nets: [29_103, 1] },
];

describe.skipIf(!postgresHere).each(FAMILIES)('a month in $currency', ({ currency, step, nets }) => {
  const net = nets[0] + nets[1];
  let shop: Shop;
  let buyer: Buyer;
  let statement: Record<string, unknown>;

  const read = async (path: string) => (await shop.server.call(path, { as: buyer.key })).body;
  const staff = async (path: string, body: object) =>
    await shop.server.call(path, { as: shop.server.first.staffApiKey, body });
  const cents = (more: Record<string, unknown>, ...fields: readonly string[]) =>
    fields.map((field) => Number(more[field]));
  /** This lists the tables with differences. The days are seeded, and have no events. */
  const differing = async () => {
    const { differences } = await read(`GET /teams/${buyer.teamId}/costs/verify`);
    return new Set((differences as Array<{ table: string }>).map(({ table }) => table));
  };

  const seed = async () => {
    const { sql } = shop.server.db;
    await sql`insert into team_payers (team_id, from_at, payer_id) values (${buyer.teamId}, '2026-01-01', ${buyer.userId})`;
    // The plan `free` includes the first of these days.
    for (const [day, meter, ms] of [
      ['2026-10-01', 'run.runner', 120_000_000],
      ['2026-10-02', 'run.runner', 2_910_274_000],
      ['2026-10-03', 'build.service', 51_000],
    ] as const) {
      const [price] = await sql<Array<{ id: string }>>`
        select id from prices where meter = ${meter} and currency = ${currency} and is_default`;
      await seedDays(sql, [{ teamId: buyer.teamId, day, meter, ms, priceId: price?.id ?? '' }]);
    }
  };

  beforeAll(async () => {
    shop = await startShop({ BILLING_CURRENCY: currency });
    shop.stripe.addPrice({ unitAmount: 2_900, lookupKey: `svc_team_${currency}_v1`, currency });
    buyer = await shop.buyer();
    await shop.subscribe(buyer);
  });
  afterAll(async () => await shop?.stop());

  it('is the same in the summary, in what is pending, and on the statement, and can be paid', async () => {
    await seed();
    const summary = await read(`GET /teams/${buyer.teamId}/costs?since=${MONTH}&until=2026-11-01`);
    expect(summary).toMatchObject({ net: '291.032500000000', netCents: net });
    for (const part of ['byDay', 'byProject', 'byEnvironment', 'byRunner', 'byMeter'])
      expect(
        (summary[part] as Array<{ netCents: number }>).reduce((sum, each) => sum + each.netCents, 0),
      ).toBe(net);
    const credits = await read(`GET /teams/${buyer.teamId}/credits`);
    expect(credits['pendingCents']).toBe(net);
    await shop.server.asOwner(`update open_period set month = '${MONTH}', settled_month = null`);
    await staff('POST /admin/billing/close', {});
    const closed = await waitFor(
      'the month to be closed',
      async () => (await read(`GET /teams/${buyer.teamId}/statements`))['statements'] as unknown[],
      { holds: (all) => all.length === 1 },
    );
    statement = closed[0] as Record<string, unknown>;
    expect(statement).toMatchObject({ netCents: net, creditCents: 0, dueCents: net });
    const lines = statement['lines'] as Array<Record<string, unknown>>;
    expect(lines.map((line) => [line['meter'], line['netCents']])).toEqual([
      ['build.service', nets[1]],
      ['run.runner', nets[0]],
    ]);
    for (const line of lines)
      expect(cents(line, 'listCents', 'netCents').map((each) => each % step)).toEqual([0, 0]);
    // Amounts that were metered are exact.
    expect(lines.map(({ list }) => list)).toEqual(['0.005100000000', '303.027400000000']);
    expect(await differing()).toEqual(new Set(['cost_days']));
  });

  it('becomes an invoice that is paid, and given back in part', async () => {
    await shop.look();
    const [invoice] = invoicesOf(shop, String(statement['id']));
    expect(invoice).toMatchObject({ status: 'open', total: net, currency });
    shop.stripe.payInvoice(invoice?.id ?? '');
    await shop.settled();
    const charge = [...shop.stripe.tables.charge.values()].findLast((each) => each.amount === net);
    await shop.api.refunds.create({ charge: charge?.id ?? '', amount: step * 2 });
    await shop.settled();
    const [paid] = (await read(`GET /teams/${buyer.teamId}/statements`))['statements'] as object[];
    expect(paid).toMatchObject({ state: 'paid', refundedCents: step * 2 });
    expect(await differing()).toEqual(new Set(['cost_days']));
  });

  it('takes credit in amounts that can be paid alone, also of a grant that is none', async () => {
    const grant = (amountCents: number) =>
      staff(`POST /admin/billing/teams/${buyer.teamId}/credits`, { amountCents, reason: 'an outage' });
    if (step > 1) expect((await grant(step + 1)).text).toContain(`a multiple of ${step}`);
    expect((await grant(step * 3)).status).toBe(201);
    // This credit came before the rule.
    const { db } = shop.server;
    const old = { teamId: buyer.teamId, source: 'crt_old', at: new Date() };
    await post(db, { ...old, kind: 'grant', from: 'granted', to: 'available', cents: step * 2 + (step - 1) });
    const used = await useCredit(db, { ...old, cents: step * 50, currency, source: 'stm_next' });
    expect(used % step).toBe(0);
    expect(used).toBe(step === 1 ? 5 : step * 5);
    expect((await shop.credit(buyer)) < step).toBe(true);
  });
});
