/** A new price is no anomaly, and a forecast goes on at the prices of the days that it is of. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { askAnomalies, askSummary } from '../../../test/setup/money/asked.ts';
import { picked } from '../../../test/setup/money/picked.ts';
import { has } from '../../../test/setup/needs.ts';
import { newId } from '../../base/ids.ts';
import { addDays } from '../metering/index.ts';
import { seedDays, type SeededDay } from './testing/days.ts';

const TODAY = '2026-11-10';
/** Each day costs ten at the default price, 0.0001 a second. */
const DAY_MS = 100_000_000;

describe.skipIf(!(await has('postgres')))('a price that changed', () => {
  let database: TestDatabase;
  let teamId: string;
  beforeAll(async () => (database = await createTestDatabase()));
  afterAll(async () => await database?.drop());
  beforeEach(() => (teamId = newId('team')));

  /** Publishes a price that is in force from the beginning of a day; each test has a meter of its own. */
  const price = async (meter: string, nanos: number, from: string): Promise<string> => {
    const id = newId('prc');
    await database.db.sql`
      insert into prices (id, meter, currency, nanos_per_second, from_at, created_at)
      values (${id}, ${meter}, 'usd', ${nanos}::int, ${from}::date::timestamp at time zone 'UTC', '2026-01-01')`;
    return id;
  };
  const used = async (first: string, last: string, row: (day: string) => Omit<SeededDay, 'day'>) => {
    const rows: SeededDay[] = [];
    for (let day = first; day <= last; day = addDays(day, 1)) rows.push({ teamId, day, ...row(day) });
    await seedDays(database.db.sql, rows);
  };
  const asking = () => ({ db: database.db, teamId, now: new Date(`${TODAY}T00:00:00Z`) });
  const found = async () => (await askAnomalies(asking())).anomalies;
  const forecast = async () => (await askSummary(asking())).forecast;

  it('makes no day of constant usage stand out, also where work of the old one ends on its first day', async () => {
    const meter = 'run.runner' as const;
    const dearer = await price(meter, 160_000, '2026-10-13');
    await used('2026-08-01', '2026-11-09', (day) => ({
      meter,
      ms: day === '2026-10-13' ? DAY_MS / 2 : DAY_MS,
      ...(day >= '2026-10-14' && { priceId: dearer }),
    }));
    await seedDays(database.db.sql, [{ teamId, day: '2026-10-13', meter, ms: DAY_MS / 2, priceId: dearer }]);
    expect(await found()).toEqual([]);
  });

  it('hides no day that stands out, which is measured at its own prices', async () => {
    const meter = 'run.service' as const;
    const cheaper = await price(meter, 25_000, '2026-10-13');
    await used('2026-08-01', '2026-11-09', (day) => ({
      meter,
      ms: day === '2026-11-05' ? 2 * DAY_MS : DAY_MS,
      ...(day >= '2026-10-13' && { priceId: cheaper }),
    }));
    const [loud, ...more] = await found();
    // At the old price the day would be cheaper than any before it.
    expect(loud).toMatchObject({
      day: '2026-11-05',
      actual: '5.000000000000',
      expected: '2.500000000000',
      deviationPct: 100,
      contributors: [{ expected: '2.500000000000' }, { expected: '2.500000000000' }],
    });
    expect(picked(more, 'day', 'projectId')).toEqual([['2026-11-05', 'prj_1']]);
  });

  it('is what days that are left are forecast at, also one that is still to come', async () => {
    const meter = 'build.runner' as const;
    const dearer = await price(meter, 200_000, '2026-11-01');
    await price(meter, 400_000, '2026-11-21');
    await used('2026-10-01', '2026-11-09', (day) => ({
      meter,
      ms: DAY_MS,
      ...(day >= '2026-11-01' && { priceId: dearer }),
    }));
    // Nine days of 20 are over; eleven of 20 and ten of 40 are left.
    expect(await forecast()).toMatchObject({ list: `${9 * 20 + 11 * 20 + 10 * 40}.000000000000` });
  });

  it('is what a team with little history is forecast at, too', async () => {
    const meter = 'build.service' as const;
    await price(meter, 50_000, '2026-11-10');
    await used('2026-11-06', '2026-11-09', () => ({ meter, ms: DAY_MS }));
    // The sum is of four days of 10 and 21 of 5.
    expect(await forecast()).toMatchObject({ list: `${4 * 10 + 21 * 5}.000000000000` });
  });
});
