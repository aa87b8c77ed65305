/** Tests what a statement says, by figures that can be checked by hand, and how it moves on. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMoneyWorld, pricing, type MoneyWorld } from '../../../test/setup/money/months.ts';
import { picked } from '../../../test/setup/money/picked.ts';
import { has } from '../../../test/setup/needs.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { purchase, refund } from '../credits/index.ts';
import { moveStatement, rehearse, statementById, statementsOf } from './index.ts';

const DUE = '2026-11-01T01:00:00.000Z';

describe.skipIf(!(await has('postgres')))('a statement', () => {
  let world: MoneyWorld;
  let sql: SqlTag;
  let payerId: string;
  beforeAll(async () => {
    world = await createMoneyWorld();
    ({ sql } = world.db);
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => {
    await world.openFrom('2026-10-01');
    payerId = newId('user');
  });

  const of = async (teamId: string) =>
    await statementsOf({ db: world.db, teams: systemScope(teamId) }, { teamId, limit: 12 });
  const seconds = (count: number) => count * 1_000;
  const used = async (teamId: string, at: string, ms: number) => {
    await world.report({ teamId, at, ms });
    await world.publishAll();
  };

  it('has a line for each meter and price, each rounded once, half up', async () => {
    const teamId = await world.team();
    await sql`
      insert into prices (id, meter, currency, nanos_per_second, from_at, created_at) values ('prc_oct', 'run.runner', 'usd', 250000, '2026-10-16', '2026-10-15')`;
    // The time is 40,000 s at 0.0001, 20,002 s at 0.00025 and 149.999 s of builds at 0.0001, which cost 4.00,
    // 5.0005 and 0.0149999.
    await world.report({ teamId, at: '2026-10-02T00:00:00Z', ms: seconds(15_000) });
    await world.report({ teamId, at: '2026-10-03T00:00:00Z', ms: seconds(25_000) });
    await world.report({ teamId, at: '2026-10-20T00:00:00Z', ms: seconds(20_002) });
    await world.report({ teamId, at: '2026-10-21T00:00:00Z', ms: 149_999, kind: 'build' });
    await world.publishAll();
    await world.close(DUE);
    const [statement] = await of(teamId);
    expect(statement).toMatchObject({
      period: '2026-10',
      currency: 'usd',
      plan: 'self_hosted',
      listCents: 901,
      includedCents: 0,
      netCents: 901,
      creditCents: 0,
      dueCents: 901,
    });
    const fields = ['meter', 'priceId', 'meteredMs', 'includedMs', 'list', 'listCents'] as const;
    expect(picked(statement?.lines ?? [], ...fields)).toEqual([
      ['build.runner', 'prc_00000000000000000000000003', 149_999, 0, '0.014999900000', 1],
      ['run.runner', 'prc_00000000000000000000000001', seconds(40_000), 0, '4.000000000000', 400],
      ['run.runner', 'prc_oct', seconds(20_002), 0, '5.000500000000', 500],
    ]);
    const [sums] = await sql`
      select (select sum(d.metered_ms::numeric * p.nanos_per_second) from cost_days d join prices p on p.id = d.price_id where d.team_id = ${teamId})::text as days,
        (select sum(l.list) from statement_lines l join statements s on s.id = l.statement_id where s.team_id = ${teamId})::text as lines`;
    expect(sums).toEqual({ days: '9015499900000', lines: '9015499900000' });
  });

  it('has the part of the included time that the day of its end leaves it, over all teams of the payer', async () => {
    const [first, second] = [await world.team('first'), await world.team('second')];
    await world.pays(payerId, [first, second]);
    // The first day takes 20,000 s of the free plan's 120,000 s; 100,000,000 ms are left for 140,000,003 ms
    // of the next day: 50,000,000 for 70,000,001 and 70,000,002, by the larger remainder.
    await used(first, '2026-10-04T08:00:00Z', seconds(20_000));
    await used(first, '2026-10-05T08:00:00Z', 70_000_001);
    await used(second, '2026-10-05T09:00:00Z', 70_000_002);
    await used(second, '2026-10-06T09:00:00Z', seconds(10_000));
    await world.close(DUE, { charges: true });
    const [a] = await of(first);
    const [b] = await of(second);
    expect(a?.lines).toMatchObject([
      { meteredMs: 90_000_001, includedMs: 70_000_000, listCents: 900, netCents: 200 },
    ]);
    expect(b?.lines).toMatchObject([
      { meteredMs: 80_000_002, includedMs: 50_000_000, listCents: 800, netCents: 300 },
    ]);
    expect(a).toMatchObject({ plan: 'free', listCents: 900, includedCents: 700, netCents: 200 });
    const rows = await sql`select payer_id as payer from statements where team_id in (${first}, ${second})`;
    expect(rows).toEqual([{ payer: payerId }, { payer: payerId }]);
  });

  it('counts each plan of the month for its part of the month', async () => {
    const teamId = await world.team();
    await world.pays(payerId, [teamId]);
    // The plan includes 600,000 s for 16 of 31 days, which is 309,677,419 ms. The rest of 400,000 s is
    // 90,322,581 ms, 9.0322581.
    await world.plan(payerId, 'team', '2026-10-16T00:00:00Z');
    await used(teamId, '2026-10-20T00:00:00Z', seconds(400_000));
    await world.plan(payerId, 'business', '2026-11-01T00:00:00Z');
    await world.close(DUE, { charges: true });
    expect(await of(teamId)).toMatchObject([
      {
        plan: 'team',
        lines: [{ includedMs: 309_677_419, included: '30.967741900000' }],
        listCents: 4_000,
        includedCents: 3_097,
        netCents: 903,
      },
    ]);
  });

  it('is paid from credit as far as it goes, and puts on what was refunded after it was used', async () => {
    const teamId = await world.team();
    const at = new Date('2026-10-01T00:00:00Z');
    await purchase(world.db, { teamId, cents: 600, source: 'cs_1', at });
    await used(teamId, '2026-10-10T00:00:00Z', seconds(50_000));
    await world.close(DUE);
    expect(await of(teamId)).toMatchObject([
      { netCents: 500, creditCents: 500, dueCents: 0, state: 'settled' },
    ]);
    await refund(world.db, { purchase: 'cs_1', totalCents: 600, at });
    // Nothing is used in November: the shortfall alone makes a statement, and closers at once put it on one.
    const december = '2026-12-01T01:00:00Z';
    const rehearsed = await rehearse({ db: world.db, pricing: pricing() }, new Date(december));
    expect(rehearsed.months).toMatchObject([{ period: '2026-11-01', statements: 1, netCents: 500 }]);
    await Promise.all([1, 2, 3].map(async () => await world.close(december)));
    const [november] = await of(teamId);
    expect(november).toMatchObject({
      period: '2026-11',
      netCents: 500,
      creditCents: 0,
      dueCents: 500,
      lines: [
        { meter: 'credit.shortfall', priceId: '', list: '5.000000000000', listCents: 500, netCents: 500 },
      ],
    });
    await world.close('2027-01-01T01:00:00Z');
    expect(await of(teamId)).toHaveLength(2);
    const usage = await sql`
      select sum(cents)::int as cents from credit_transfers where team_id = ${teamId} and kind = 'usage'`;
    expect(usage).toEqual([{ cents: 500 }]);
  });

  it('moves on and never back, for one invoice', async () => {
    const teamId = await world.team();
    await world.pays(payerId, [teamId]);
    await world.plan(payerId, 'team', '2026-09-01T00:00:00Z');
    await used(teamId, '2026-10-10T00:00:00Z', seconds(700_000));
    await world.close(DUE, { charges: true });
    const [made] = await sql<Array<{ id: string }>>`select id from statements where team_id = ${teamId}`;
    const id = made?.id ?? '';
    expect(await statementById(world.db, id)).toMatchObject({ payerId, dueCents: 1_000, state: 'closed' });
    const move = async (to: 'invoiced' | 'paid' | 'failed' | 'voided', invoiceId = 'in_1') =>
      await moveStatement(world.db, { id, to, invoiceId, invoiceUrl: 'https://pay.example/1' });
    expect(await move('invoiced')).toBe(true);
    expect(await move('invoiced')).toBe(false);
    expect(await move('paid', 'in_2')).toBe(false);
    expect(await move('failed')).toBe(true);
    expect(await move('invoiced')).toBe(false);
    const both = await Promise.all([move('paid'), move('paid')]);
    expect(both.filter(Boolean)).toHaveLength(1);
    expect(await move('voided')).toBe(false);
    expect(await move('failed')).toBe(false);
    expect(await statementById(world.db, id)).toMatchObject({
      id,
      state: 'paid',
      invoiceId: 'in_1',
      netCents: 1_000,
    });
  });
});
