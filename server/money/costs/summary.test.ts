/** Costs of a time, from days that are seeded: parts that sum, included time, names, a forecast. */
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { ForecastMethod } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { askSummary } from '../../../test/setup/money/asked.ts';
import { pricing } from '../../../test/setup/money/months.ts';
import { picked } from '../../../test/setup/money/picked.ts';
import { has } from '../../../test/setup/needs.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { addDays } from '../metering/index.ts';
import { seedDays, type SeededDay } from './testing/days.ts';

const NOW = new Date('2026-11-10T12:00:00Z');

/** This returns the exact sum of decimal texts. */
const sum = (texts: readonly string[]): string => {
  const pico = texts
    .reduce((total, text) => total + BigInt(text.replace('.', '')), 0n)
    .toString()
    .padStart(13, '0');
  return `${pico.slice(0, -12)}.${pico.slice(-12)}`;
};

describe.skipIf(!(await has('postgres')))('a summary of costs', () => {
  let database: TestDatabase;
  let db: Database;
  let teamId: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    ({ db } = database);
  });
  afterAll(async () => await database?.drop());
  beforeEach(() => (teamId = newId('team')));

  const days = async (...rows: readonly SeededDay[]) =>
    await seedDays(
      db.sql,
      rows.map((row) => ({ teamId, ...row })),
    );
  const ask = async (
    request: { since?: string; until?: string } = {},
    { charges = false, now = NOW, teamIds = [teamId] } = {},
  ) => await askSummary({ db, teamId, now, teamIds }, request, pricing(charges));

  it('of nothing is nothing, up to now', async () => {
    const none = await ask();
    expect(none).toMatchObject({
      since: '2026-11-01',
      until: '2026-11-11',
      currency: 'usd',
      list: '0.000000000000',
      netCents: 0,
      byDay: [],
      byMeter: [],
    });
    expect(timestampDate(none.asOf!)).toEqual(NOW);
    expect(none.forecast).toMatchObject({ list: '0.000000000000', method: ForecastMethod.LINEAR });
  });

  it('has the days from since on and before until', async () => {
    await days(
      { day: '2026-10-31', ms: 1_000 },
      { day: '2026-11-01', ms: 2_000 },
      { day: '2026-11-02', ms: 4_000 },
      { day: '2026-11-03', ms: 8_000 },
    );
    const two = await ask({ since: '2026-10-31', until: '2026-11-02T00:00:00Z' });
    expect(two.byDay.map(({ day }) => day)).toEqual(['2026-10-31', '2026-11-01']);
    expect(two).toMatchObject({ list: '0.000300000000', usage: { meteredSeconds: 3, events: 2 } });
    expect(two.forecast).toBeUndefined();
    expect((await ask()).list).toBe('0.001400000000');
  });

  it.each([
    [{ since: '2026-02-30' }, 'since', 'day'],
    [{ until: '0000-01-01' }, 'until', 'day'],
    [{ until: '9999-01-01' }, 'until', 'day'],
    [{ since: '2026-11-01T01:00:00Z' }, 'since', 'day'],
    [{ since: "2026-11-01'; drop table cost_days" }, 'since', 'day'],
    [{ since: '2026-11-02', until: '2026-11-02' }, 'since', 'order'],
    [{ since: '2025-01-01', until: '2026-01-03' }, 'since', 'span'],
  ])('refuses %j', async (request, field, rule) => {
    await expect(ask(request)).rejects.toMatchObject({
      code: 'validation_failed',
      details: { fields: [{ field, rule }] },
    });
  });

  it('names parts as they were last known, and those of no project by nothing', async () => {
    await days(
      { day: '2026-11-01', projectId: 'prj_a', environmentId: 'env_a', runnerId: 'rnr_a', ms: 5_000 },
      {
        day: '2026-11-01',
        projectId: '',
        environmentId: '',
        runnerId: 'rnr_pool',
        meter: 'build.service',
        ms: 9_000,
      },
    );
    await db.sql`
      insert into cost_names (team_id, id, name) values (${teamId}, 'prj_a', 'shop'), (${teamId}, 'rnr_a', 'big'), ('team_other', 'rnr_pool', 'not theirs')`;
    const { byProject, byRunner, byEnvironment, byMeter, byDay } = await ask();
    expect(byProject).toMatchObject([{ list: '0.000900000000' }, { id: 'prj_a', name: 'shop' }]);
    expect(byProject[0]!.id).toBeUndefined();
    expect(byProject[0]!.others).toBeUndefined();
    expect(picked(byRunner, 'id', 'name')).toEqual([
      ['rnr_pool', undefined],
      ['rnr_a', 'big'],
    ]);
    expect(picked(byEnvironment, 'id', 'list')).toEqual([
      [undefined, '0.000900000000'],
      ['env_a', '0.000500000000'],
    ]);
    expect(byEnvironment[1]).toMatchObject({ id: 'env_a', projectId: 'prj_a', projectName: 'shop' });
    expect(byEnvironment[0]!.projectId).toBeUndefined();
    expect(byMeter.map(({ id }) => id)).toEqual(['build.service', 'run.runner']);
    expect(byDay[0]!.projects).toHaveLength(2);
  });

  it('has 200 parts and the rest, and of each day the five greatest of the whole time and the rest', async () => {
    await days(
      ...Array.from({ length: 230 }, (_row, n) => ({
        day: n % 2 === 0 ? '2026-11-01' : '2026-11-02',
        projectId: `prj_${n}`,
        runnerId: `rnr_${n % 3}`,
        ms: 1_000 * (1_000 - n),
      })),
    );
    const { list, byProject, byDay, byRunner } = await ask();
    expect(byProject).toHaveLength(201);
    expect(byProject[200]).toMatchObject({ others: 30 });
    expect(byProject[200]!.id).toBeUndefined();
    expect(sum(byProject.map((part) => part.list))).toBe(list);
    expect(byDay.map(({ projects }) => projects.map(({ id, others }) => id ?? others))).toEqual([
      ['prj_0', 'prj_2', 'prj_4', 112],
      ['prj_1', 'prj_3', 113],
    ]);
    expect(byRunner.map(({ id }) => id)).toEqual(['rnr_0', 'rnr_1', 'rnr_2']);
  });

  it('sums in each list to the whole, exactly and in cents, whatever the rows are', async () => {
    const row = fc.record({
      day: fc.integer({ min: 0, max: 9 }).map((n) => addDays('2026-11-01', n)),
      meter: fc.constantFrom('run.runner' as const, 'run.service' as const, 'build.runner' as const),
      projectId: fc.constantFrom('', 'prj_a', 'prj_b', 'prj_c', 'prj_d', 'prj_e', 'prj_f'),
      environmentId: fc.constantFrom('', 'env_a', 'env_b'),
      runnerId: fc.constantFrom('rnr_a', 'rnr_b', 'rnr_c'),
      ms: fc.integer({ min: 1, max: 90_000_000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 40 }),
        fc.boolean(),
        async (rows, charges) => {
          teamId = newId('team');
          await days(...rows);
          const all = await ask({}, { charges });
          for (const parts of [all.byDay, all.byProject, all.byEnvironment, all.byRunner, all.byMeter]) {
            for (const field of ['list', 'included', 'net'] as const)
              expect(sum(parts.map((part) => part[field]))).toBe(all[field]);
            expect(parts.reduce((total, { netCents }) => total + netCents, 0)).toBe(all.netCents);
          }
          for (const day of all.byDay) {
            expect(sum(day.projects.map(({ net }) => net))).toBe(day.net);
            expect(day.projects.reduce((total, { netCents }) => total + netCents, 0)).toBe(day.netCents);
          }
          expect(sum([all.included, all.net])).toBe(all.list);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('says what the plan includes, day by day, in each month of its own', async () => {
    // The free plan has 120,000 s a month.
    await days(
      { day: '2026-10-05', ms: 130_000_000 },
      { day: '2026-11-01', ms: 100_000_000 },
      { day: '2026-11-02', ms: 30_000_000, projectId: 'prj_a' },
      { day: '2026-11-02', ms: 10_000_000, projectId: 'prj_b' },
      { day: '2026-11-03', ms: 7_000_000 },
    );
    const all = await ask({ since: '2026-10-01' }, { charges: true });
    expect(picked(all.byDay, 'day', 'included', 'net')).toEqual([
      ['2026-10-05', '12.000000000000', '1.000000000000'],
      ['2026-11-01', '10.000000000000', '0.000000000000'],
      ['2026-11-02', '2.000000000000', '2.000000000000'],
      ['2026-11-03', '0.000000000000', '0.700000000000'],
    ]);
    expect(all).toMatchObject({ list: '27.700000000000', included: '24.000000000000', netCents: 370 });
    expect(await ask({ since: '2026-10-01' })).toMatchObject({ included: '0.000000000000', netCents: 2_770 });
  });

  it('forecasts net costs with what is left of the pool', async () => {
    const first = '2026-10-01';
    const rows = Array.from({ length: 40 }, (_row, n) => ({ day: addDays(first, n), ms: 6_000_000 }));
    await days(...rows, { day: '2026-11-10', ms: 1_000_000 });
    const { forecast } = await ask({}, { charges: true });
    // 30 days of 0.60, of which 120,000 s are included.
    expect(forecast).toMatchObject({
      list: '18.000000000000',
      net: '6.000000000000',
      method: ForecastMethod.WEEKDAYS,
    });
    expect(
      (await ask({}, { charges: true, now: new Date('2026-11-02T23:00:00Z') })).forecast,
    ).toBeUndefined();
    expect((await ask({ until: '2026-11-11' }, { charges: true })).forecast).toBeUndefined();
  });

  it('is as of the oldest report that is not published yet', async () => {
    const at = new Date('2026-11-10T11:59:57Z');
    await db.sql`
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      values ('evt_1', ${teamId}, 'work.finished', 'run_1', '{}', ${at}), ('evt_2', ${teamId}, 'run.started', 'run_2', '{}', '2026-11-01T00:00:00Z')`;
    expect(timestampDate((await ask()).asOf!)).toEqual(at);
  });

  it('shows no other team', async () => {
    await days({ day: '2026-11-01', ms: 5_000 });
    expect(await ask({}, { teamIds: ['team_other'] })).toMatchObject({ list: '0.000000000000', byDay: [] });
  });
});
