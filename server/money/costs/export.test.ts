/** Tests exports of costs: each row's arithmetic, what they sum to, closed months, and late reports. */
import { create } from '@bufbuild/protobuf';
import { CostExportDetail, ExportCsvRequestSchema } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { askSummary, costsCtx } from '../../../test/setup/money/asked.ts';
import { pricing } from '../../../test/setup/money/months.ts';
import { picked } from '../../../test/setup/money/picked.ts';
import { has } from '../../../test/setup/needs.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { decimalOf } from '../amounts/index.ts';
import { addDays } from '../metering/index.ts';
import { COLUMN_NAMES } from './columns.ts';
import { createExports } from './export.ts';
import { PIECE } from './export-of.ts';
import { seedDays, type SeededDay } from './testing/days.ts';

const NOW = new Date('2026-11-10T12:00:00Z');
const pico = (text: string | null | undefined): bigint => BigInt((text ?? '0').replace('.', ''));
type Row = Readonly<Record<string, string | null>>;
interface ExportRange {
  readonly since?: string;
  readonly until?: string;
  readonly detail?: CostExportDetail;
}

describe.skipIf(!(await has('postgres')))('an export of costs', () => {
  let world: World;
  let db: Database;
  let teamId: string;
  beforeAll(async () => {
    world = await createWorld();
    ({ db } = world);
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => (teamId = await world.team()));

  const asking = () => ({ db, teamId, now: NOW });
  const text = async (format: 'csv' | 'json', asked: ExportRange = {}): Promise<string> => {
    const stream = await createExports()[format](
      create(ExportCsvRequestSchema, { teamId, ...asked }),
      costsCtx(format === 'csv' ? 'ExportCsv' : 'ExportJson', asking()),
      pricing(true),
    );
    const parts: Uint8Array[] = [];
    for await (const { data } of stream) parts.push(data);
    return Buffer.concat(parts).toString();
  };
  const csvRows = async (asked: ExportRange = {}): Promise<Row[]> => {
    const [head, ...lines] = parseCsv(await text('csv', asked));
    expect(head).toEqual(COLUMN_NAMES);
    return lines.map((cells) =>
      Object.fromEntries(COLUMN_NAMES.map((name, n) => [name, cells[n] === '' ? null : cells[n]!])),
    );
  };
  const jsonRows = async (
    asked: ExportRange = {},
  ): Promise<{ rows: Row[]; end: { rows: number; totals: Record<string, string> } }> => {
    const lines = (await text('json', asked))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as never);
    return { rows: lines.slice(0, -1), end: lines.at(-1)! };
  };
  const summed = (rows: readonly Row[], column: string): string =>
    decimalOf(rows.reduce((sum, row) => sum + pico(row[column]), 0n));
  const days = async (...rows: readonly SeededDay[]) =>
    await seedDays(
      db.sql,
      rows.map((row) => ({ teamId, ...row })),
    );
  const name = async (id: string, given: string) =>
    await db.sql`insert into cost_names (team_id, id, name) values (${teamId}, ${id}, ${given}) on conflict (team_id, id) do update set name = excluded.name`;
  /** This seeds two months of rows with odd milliseconds, more than one piece of them. */
  const seedMany = async () =>
    await days(
      ...Array.from({ length: PIECE + 700 }, (_row, n) => ({
        day: addDays('2026-10-01', n % 41),
        projectId: `prj_${n % 7}`,
        environmentId: n % 5 === 0 ? '' : `env_${n % 11}`,
        runnerId: `rnr_${n}`,
        meter: n % 3 === 0 ? ('build.service' as const) : ('run.runner' as const),
        ms: 60_001 + n * 37,
      })),
    );

  it('has in each row quantity times price for its cost, and sums to the list costs of the summary', async () => {
    await seedMany();
    const asked = { since: '2026-10-01' };
    const rows = await csvRows(asked);
    expect(rows.length).toBeGreaterThan(PIECE);
    for (const row of rows) {
      const cost = (pico(row['PricingQuantity']) * pico(row['ListUnitPrice'])).toString();
      expect(pico(row['ListCost']).toString()).toBe(cost);
      expect(row['ConsumedQuantity']).toBe(row['PricingQuantity']);
    }
    expect(summed(rows, 'ListCost')).toBe((await askSummary(asking(), asked, pricing(true))).list);
    expect(new Set(rows.map((row) => row['x_RunnerId'])).size).toBe(PIECE + 700);
    const { rows: same, end } = await jsonRows(asked);
    expect(
      same.map((row) => ({
        ...row,
        SkuPriceDetails: JSON.stringify(row['SkuPriceDetails']),
        Tags: JSON.stringify(row['Tags']),
      })),
    ).toEqual(rows);
    expect(end).toEqual({
      rows: rows.length,
      totals: {
        ListCost: summed(rows, 'ListCost'),
        BilledCost: summed(rows, 'BilledCost'),
        EffectiveCost: summed(rows, 'EffectiveCost'),
      },
    });
  });

  it('splits the row in which included time ends', async () => {
    await days(
      { day: '2026-11-02', ms: 100_000_000 },
      { day: '2026-11-03', ms: 50_000_000 },
      { day: '2026-11-04', ms: 1_000 },
    );
    const rows = await csvRows();
    expect(picked(rows, 'ChargePeriodStart', 'PricingQuantity', 'BilledCost', 'x_CoveredBy')).toEqual([
      ['2026-11-02T00:00:00Z', '100000.000', '0.000000000000', 'included'],
      ['2026-11-03T00:00:00Z', '20000.000', '0.000000000000', 'included'],
      ['2026-11-03T00:00:00Z', '30000.000', '3.000000000000', null],
      ['2026-11-04T00:00:00Z', '1.000', '0.000100000000', null],
    ]);
    expect(rows[0]).toMatchObject({
      BillingAccountId: teamId,
      BillingAccountType: 'Team',
      BillingPeriodStart: '2026-11-01T00:00:00Z',
      BillingPeriodEnd: '2026-12-01T00:00:00Z',
      ChargePeriodEnd: '2026-11-03T00:00:00Z',
      ChargeCategory: 'Usage',
      ChargeClass: null,
      ListUnitPrice: '0.000100000',
      BillingCurrency: 'USD',
      InvoiceId: null,
      SkuId: 'run.runner',
      ResourceId: 'env_1',
      ResourceName: null,
      ResourceType: 'Environment',
      Tags: '{"project":"prj_1","environment":"env_1"}',
    });
  });

  it('of a closed month shows what credit paid, and bills what the statement has due', async () => {
    // Net 3.0001234 of which 1.00 was granted and 1.50 was bought; rounded 3.00, due 0.50.
    await days(
      { day: '2026-10-02', ms: 120_000_000 },
      { day: '2026-10-03', ms: 30_001_234, runnerId: 'rnr_2' },
    );
    const statement = newId('stm');
    const payer = newId('user');
    await db.sql`insert into users (id, email, username, password_hash, created_at) values (${payer}, ${`${payer}@example.com`}, ${payer.slice(-20)}, '', now())`;
    await db.sql`
      insert into statements (id, team_id, payer_id, period, currency, plan, list_cents, included_cents, net_cents, credit_cents, due_cents, state, closed_at)
      values (${statement}, ${teamId}, ${payer}, '2026-10-01', 'usd', 'free', 1500, 1200, 300, 250, 50, 'closed', now())`;
    const transfer = async (
      kind: string,
      [from, to]: readonly [string, string],
      { cents, block, at = '2026-11-01T01:00:00Z' }: { cents: number; block?: string; at?: string },
    ) => {
      const id = newId('crt');
      const source = block === undefined ? `${kind} ${teamId}` : `${statement} ${block}`;
      await db.sql`
        insert into credit_transfers (id, team_id, kind, source, "from", "to", cents, block_id, created_at)
        values (${id}, ${teamId}, ${kind}, ${source}, ${from}, ${to}, ${cents}, ${block ?? null}, ${at}::timestamptz)`;
      return id;
    };
    const grant = await transfer('grant', ['granted', 'available'], { cents: 100 });
    const bought = await transfer('purchase', ['bought', 'available'], {
      cents: 500,
      at: '2026-10-20T10:00:00Z',
    });
    await transfer('usage', ['available', 'consumed'], { cents: 100, block: grant });
    await transfer('usage', ['available', 'consumed'], { cents: 150, block: bought });

    const rows = await csvRows({ since: '2026-10-01', until: '2026-11-01' });
    const figures = ['PricingQuantity', 'BilledCost', 'EffectiveCost'];
    expect(picked(rows, 'ChargeCategory', ...figures, 'x_CoveredBy', 'InvoiceId')).toEqual([
      ['Usage', '120000.000', '0.000000000000', '0.000000000000', 'included', statement],
      ['Usage', '10000.000', '0.000000000000', '0.000000000000', 'granted_credit', statement],
      ['Usage', '15000.000', '0.000000000000', '1.500000000000', 'bought_credit', statement],
      ['Usage', '5001.234', '0.500123400000', '0.500123400000', null, statement],
      ['Adjustment', null, '-0.000123400000', '-0.000123400000', null, statement],
      ['Purchase', '5.000', '5.000000000000', '0.000000000000', null, null],
    ]);
    expect(rows.at(-1)).toMatchObject({
      SkuId: 'credit',
      SkuMeter: 'Credit',
      SkuPriceId: 'credit.usd',
      SkuPriceDetails: null,
      ListUnitPrice: '1.000000000',
      RegionName: 'customer',
    });
    expect(rows[0]).toMatchObject({
      SkuPriceDetails: '{"x_NanosPerSecond":100000}',
      BillingAccountId: payer,
      BillingAccountName: payer.slice(-20),
      BillingAccountType: 'Account',
    });
    const invoiced = rows.filter((row) => row['InvoiceId'] === statement);
    expect(summed(invoiced, 'BilledCost')).toBe('0.500000000000');
    // Each item is paid as its row of the day is: the first reports are included.
    for (const [n, [at, ms, runner]] of (
      [
        ['2026-10-02T01:00:00Z', 120_000_000, 'rnr_1'],
        ['2026-10-03T02:00:00Z', 25_001_234, 'rnr_2'],
        ['2026-10-03T01:00:00Z', 5_000_000, 'rnr_2'],
      ] as const
    ).entries())
      await db.sql`
        insert into usage_events (work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, project_id, environment_id, claimed_at, metered_ms, price_id, rated, period)
        select 'run_' || ${n}::int || ${teamId}, ${at}::timestamptz, ${teamId}, 'run', 'runner', 1, ${runner}, 'prj_1', 'env_1', ${at}::timestamptz, ${ms}::int, p.id, ${ms}::numeric * p.nanos_per_second, '2026-10-01'
        from prices p where p.is_default and p.meter = 'run.runner'`;
    const items = await csvRows({ since: '2026-10-01', until: '2026-11-01', detail: CostExportDetail.ITEMS });
    for (const column of ['ListCost', 'BilledCost', 'EffectiveCost'])
      expect(summed(items, column), column).toBe(summed(rows, column));
    for (const by of [null, 'included', 'granted_credit', 'bought_credit']) {
      const of = (all: typeof rows) => all.filter((row) => row['x_CoveredBy'] === by);
      expect(summed(of(items), 'ListCost')).toBe(summed(of(rows), 'ListCost'));
    }
    // From the middle of the month on it is the same rows, without the adjustment of the whole.
    const later = await csvRows({ since: '2026-10-03', until: '2026-11-01' });
    expect(later).toEqual(
      rows.filter(
        (row) => row['ChargeCategory'] !== 'Adjustment' && row['ChargePeriodStart']! >= '2026-10-03',
      ),
    );
  });

  it('keeps names from being formulas, in CSV alone', async () => {
    const hidden = [' =1', '\u00a0=1', '\ufeff=1', '\u200b=1', ' \u200d\t\u3000+1', '\u2066@x'];
    const names = ['=HYPERLINK(1)', '-2+3', '＝1＋1', '@x', 'a "b", c\r\nd', ...hidden, ' a=1'];
    for (const [n, given] of names.entries()) {
      await days({ day: '2026-11-01', ms: 1_000, projectId: `prj_${n + 10}`, environmentId: '' });
      await name(`prj_${n + 10}`, given);
    }
    const csv = await csvRows();
    expect(csv.map((row) => row['ResourceName'])).toEqual([
      "'=HYPERLINK(1)",
      "'-2+3",
      "'＝1＋1",
      "'@x",
      'a "b", c\r\nd',
      ...hidden.map((each) => `'${each}`),
      ' a=1',
    ]);
    expect(csv.map((row) => (JSON.parse(row['Tags']!) as { project: string }).project)).toEqual(names);
    const { rows } = await jsonRows();
    expect(rows.map((row) => row['ResourceName'])).toEqual(names);
    expect(rows.map((row) => (row['Tags'] as never as { project: string }).project)).toEqual(names);
  });

  it('by item has a row for each report, on the day on which it counts', async () => {
    const event = async (workId: string, at: string, more: { period: string; build?: string; ms?: number }) =>
      await db.sql`
        insert into usage_events (work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, build_id, project_id, environment_id, claimed_at, metered_ms, price_id, rated, period)
        select ${workId}, ${at}::timestamptz, ${teamId}, ${more.build === undefined ? 'run' : 'build'}, 'runner', 1, 'rnr_1', ${more.build ?? null}, 'prj_1', 'env_1', ${at}::timestamptz - interval '1 s',
          ${more.ms ?? 1_000}::int, p.id, ${more.ms ?? 1_000}::numeric * p.nanos_per_second, ${more.period}::date
        from prices p where p.is_default and p.meter = ${more.build === undefined ? 'run.runner' : 'build.runner'}`;
    await event('run_before', '2026-10-31T23:00:00Z', { period: '2026-10-01' });
    await event('run_late', '2026-10-31T23:59:59.999999Z', { period: '2026-11-01', ms: 7 });
    await event('run_a', '2026-11-01T00:00:00Z', { period: '2026-11-01' });
    await event('run_b', '2026-11-05T12:00:00.123456Z', { period: '2026-11-01', build: 'bld_1', ms: 2_500 });
    const { rows, end } = await jsonRows({ detail: CostExportDetail.ITEMS });
    expect(picked(rows, 'x_ItemId', 'ChargePeriodStart', 'ListCost', 'BilledCost')).toEqual([
      ['run_late', '2026-11-01T00:00:00Z', '0.000000700000', '0.000000700000'],
      ['run_a', '2026-11-01T00:00:00Z', '0.000100000000', '0.000100000000'],
      ['bld_1', '2026-11-05T00:00:00Z', '0.000250000000', '0.000250000000'],
    ]);
    expect(end.totals['ListCost']).toBe(summed(rows, 'ListCost'));
    const asked = { detail: CostExportDetail.ITEMS, since: '2026-10-01', until: '2026-11-01' };
    const october = await jsonRows(asked);
    expect(october.rows.map((row) => row['x_ItemId'])).toEqual(['run_before']);
  });

  it('by item loses and repeats none of many that were reported at one moment', async () => {
    const count = PIECE * 2 + 5;
    await db.sql`
      insert into usage_events (work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, claimed_at, metered_ms, price_id, rated, period)
      select 'run_' || n, '2026-11-02T00:00:00.000001Z', ${teamId}, 'run', 'runner', 1, 'rnr_1', '2026-11-01T00:00:00Z', n, p.id, n::numeric * p.nanos_per_second, '2026-11-01'
      from generate_series(1, ${count}::int) n join prices p on p.is_default and p.meter = 'run.runner'`;
    const rows = await csvRows({ detail: CostExportDetail.ITEMS });
    expect(new Set(rows.map((row) => row['x_ItemId'])).size).toBe(count);
    expect(rows).toHaveLength(count);
  });

  it('of nothing is a header, or an end', async () => {
    expect(await text('csv')).toBe(`${COLUMN_NAMES.join(',')}\r\n`);
    expect(JSON.parse(await text('json'))).toMatchObject({ rows: 0 });
  });
});

/** This parses CSV by RFC 4180. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
