/** Prices: published ahead by the clock that dates claims, never changed, and there before the first work. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { databaseNow } from '../../base/sql.ts';
import { assertCurrency } from '../billing/currency.ts';
import { listPrices, publishPrice } from './index.ts';
import { makeDefaultPrices } from './prices.ts';

const METERS = ['build.runner', 'build.service', 'run.runner', 'run.service'];

describe.skipIf(!(await has('postgres')))('prices', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => await database?.drop());

  const start = async (currency: string) => {
    await assertCurrency(database.db, currency);
    await makeDefaultPrices(database.db, currency);
  };

  const run = { meter: 'run.runner', currency: 'usd', nanosPerSecond: 7 } as const;

  it('are there for each meter in the currency of the installation, whoever starts at once', async () => {
    const { db } = database;
    await Promise.all(Array.from({ length: 4 }, async () => await start('eur')));
    const made = await listPrices(db, 'eur');
    expect(made.map(({ meter }) => meter)).toEqual(METERS);
    for (const price of made)
      expect(price).toMatchObject({ nanosPerSecond: 100_000, isDefault: true, fromAt: new Date(0) });
    expect(await listPrices(db, 'usd')).toHaveLength(4);
  });

  it('begin a minute ahead when nothing else is said, and are listed first', async () => {
    const before = await databaseNow(database.db.sql);
    const price = await publishPrice(database.db, run);
    expect(price).toMatchObject({ ...run, isDefault: false });
    expect(price.fromAt.getTime() - price.createdAt.getTime()).toBe(60_000);
    expect(price.createdAt.getTime()).toBeGreaterThanOrEqual(before.getTime());
    expect((await listPrices(database.db, 'usd'))[0]).toEqual(price);
  });

  it('are refused when they begin sooner, in the past, or with another one', async () => {
    const { db } = database;
    const now = (await databaseNow(db.sql)).getTime();
    for (const ms of [-86_400_000, 0, 59_000])
      await expect(publishPrice(db, { ...run, fromAt: new Date(now + ms) })).rejects.toMatchObject({
        code: 'validation_failed',
      });
    const fromAt = new Date(now + 3_600_000);
    const both = [1, 2].map(
      async (nanosPerSecond) => await publishPrice(db, { ...run, nanosPerSecond, fromAt }),
    );
    const outcomes = await Promise.allSettled(both);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'state_conflict' },
    });
    const { count } = await db.sql`select from prices where from_at = ${fromAt}`;
    expect(count).toBe(1);
  });

  it('have the currency of what was counted first, whatever the setting says later', async () => {
    const { sql } = database.db;
    await start('eur');
    await sql`
      insert into usage_events (work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, claimed_at, metered_ms, price_id, rated, period)
      select 'wrk_1', '2026-03-01', 'team_1', 'run', 'runner', 1, 'rnr_1', '2026-03-01', 1, p.id, p.nanos_per_second, '2026-03-01'
      from prices p where p.meter = 'run.runner' and p.currency = 'eur'`;
    await start('eur');
    await expect(start('jpy')).rejects.toThrow(
      /BILLING_CURRENCY is jpy, and .* in eur: .*; set BILLING_CURRENCY=eur$/,
    );
    expect(await listPrices(database.db, 'jpy')).toEqual([]);
  });

  it('cannot be changed or taken back', async () => {
    const { sql } = database.db;
    await expect(sql`update prices set nanos_per_second = 1`).rejects.toThrow('append-only');
    await expect(sql`delete from prices`).rejects.toThrow('append-only');
  });
});
