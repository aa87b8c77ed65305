/** This file exports charges by day, from `cost_days`: month after month, in the order of its key. */
import { meterWords } from '../metering/index.ts';
import { monthAfter, rowKey, type Coverage } from '../plans/index.ts';
import type { Charge } from './charge.ts';
import { monthsPaid, netBefore } from './coverage.ts';
import { monthsOf, type CostDays } from './days.ts';
import { monthOfTeam, type Month } from './export-account.ts';
import { nextDay, pieces, PIECE, type ExportOf } from './export-of.ts';
import { createSplitter, type Part } from './split.ts';

export interface Row {
  readonly day: string;
  readonly meter: string;
  readonly priceId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly runnerId: string;
  readonly ms: number;
  /** It is null where no runner said. */
  readonly selfReportedMs: number | null;
  readonly nanos: number;
  /** It is absent for a row of a day. */
  readonly itemId?: string;
}

/** Less than every row of a day. */
const BEFORE_ALL = { meter: '', priceId: '', projectId: '', environmentId: '', runnerId: '' };

export const dayCharges = (of: ExportOf) => usageCharges(of, splitRows);

type Split = (of: ExportOf, span: MonthSpan, month: Month) => AsyncIterable<readonly SplitRow[]>;

/** Charges of rows of usage, month after month, of which `split` reads those of one. */
export async function* usageCharges(of: ExportOf, split: Split): AsyncGenerator<readonly Charge[]> {
  for (const span of spansOf(of)) {
    const month = await monthOfTeam(of.reader, { ...of, period: span.period });
    let billed = 0n;
    for await (const rows of split(of, span, month)) {
      await of.names.load(
        rows.flatMap(({ row: { projectId, environmentId, runnerId } }) => [
          projectId,
          environmentId,
          runnerId,
        ]),
      );
      const charges = rows.flatMap((row) => chargesOf(row, of, month));
      for (const charge of charges) billed += charge.billed;
      yield charges;
    }
    yield* adjusted(month, span, billed);
  }
}

export interface MonthSpan {
  readonly period: string;
  readonly since: string;
  readonly until: string;
}

/** Returns the part of the days that falls into each month. */
function spansOf(of: CostDays): readonly MonthSpan[] {
  return monthsOf(of).map((period) => {
    const end = monthAfter(period);
    return {
      period,
      since: of.since > period ? of.since : period,
      until: of.until < end ? of.until : end,
    };
  });
}

/** What makes the rows of a whole month come to what its statement has due. */
function* adjusted(month: Month, span: MonthSpan, billed: bigint): Generator<readonly Charge[]> {
  const { statement } = month;
  const isWhole = span.since === span.period && span.until === monthAfter(span.period);
  if (statement !== undefined && isWhole && statement.due !== billed)
    yield [adjustment(month, statement.due - billed)];
}

export interface SplitRow {
  readonly row: Row;
  readonly parts: readonly Part[];
}

/** Rows of days with what covered them. */
export async function* splitRows(
  of: ExportOf,
  span: MonthSpan,
  { statement }: Month,
): AsyncGenerator<readonly SplitRow[]> {
  const { reader, team } = of;
  const { period, since } = span;
  const months = await monthsPaid(reader.db.behind, {
    teamId: team.id,
    months: [period],
    charges: of.charges,
  });
  const net =
    statement === undefined || since === period
      ? 0n
      : await netBefore(reader.db.behind, { teamId: team.id, period, day: since, months });
  const split = createSplitter(statement ?? { granted: 0n, bought: 0n }, net);
  const coverage = months.get(period)?.coverage;
  for await (const rows of pieces<Row>(async (after) => await readRows(of, span, after)))
    yield rows.map((row) => {
      const { ms, nanos } = row;
      return { row, parts: split({ ms, nanos, includedMs: includedMs(row, team.id, coverage) }) };
    });
}

async function readRows(
  { reader: { db, teams }, team }: ExportOf,
  { period, since, until }: MonthSpan,
  after: Row | undefined,
): Promise<readonly Row[]> {
  const { sql } = db.behind;
  const { day, meter, priceId, projectId, environmentId, runnerId } = after ?? { ...BEFORE_ALL, day: since };
  return await sql<Row[]>`
    select d.day::text, d.meter, d.price_id as "priceId", d.project_id as "projectId", d.environment_id as "environmentId", d.runner_id as "runnerId",
      d.metered_ms::float8 as ms, case when d.self_reported_count > 0 then d.self_reported_ms::float8 end as "selfReportedMs", p.nanos_per_second as nanos
    from (
      select * from cost_days
      where team_id = ${team.id} and team_id = any(${teams.teamIds}::text[]) and period = ${period}::date and day < ${until}::date
        and (day, meter, price_id, project_id, environment_id, runner_id)
          > (${day}::date, ${meter}::text, ${priceId}::text, ${projectId}::text, ${environmentId}::text, ${runnerId}::text)
      order by day, meter, price_id, project_id, environment_id, runner_id limit ${PIECE}::int
    ) d
    join prices p on p.id = d.price_id
    order by d.day, d.meter, d.price_id, d.project_id, d.environment_id, d.runner_id`;
}

function includedMs(row: Row, teamId: string, coverage: Coverage | undefined): number {
  if (coverage === undefined || row.day > coverage.day) return 0;
  return row.day < coverage.day ? row.ms : (coverage.shares.get(rowKey({ teamId, ...row })) ?? 0);
}

function chargesOf({ row, parts }: SplitRow, of: ExportOf, month: Month): Charge[] {
  const { nanos } = row;
  const until = nextDay(row.day);
  return parts.map((part, n) => ({
    category: 'Usage',
    isCorrection: false,
    description: meterWords(row.meter),
    account: month.account,
    period: month.period,
    since: row.day,
    until,
    quantity: part.ms,
    unit: 'Seconds',
    nanos,
    ...costOf(part, nanos),
    invoiceId: month.statement?.id ?? null,
    meter: row.meter,
    priceId: row.priceId,
    project: of.names.of(row.projectId),
    environment: of.names.of(row.environmentId),
    runner: of.names.of(row.runnerId),
    coveredBy: part.coveredBy,
    // Once, however many parts there are.
    selfReportedMs: n === 0 ? row.selfReportedMs : null,
    itemId: row.itemId ?? null,
  }));
}

/** What was bought before is a cost when it is used, and not billed again. */
function costOf({ coveredBy, ms }: Part, nanos: number): Pick<Charge, 'list' | 'billed' | 'effective'> {
  const list = BigInt(ms) * BigInt(nanos);
  const billed = coveredBy === null ? list : 0n;
  return { list, billed, effective: coveredBy === 'bought_credit' ? list : billed };
}

/**
 * The row that makes up for what was rounded when the statement was made, and for its lines that are of no
 * time.
 */
function adjustment({ account, period, statement }: Month, pico: bigint): Charge {
  return {
    category: 'Adjustment',
    isCorrection: false,
    description: 'Rounding of the statement',
    account,
    period,
    since: period,
    until: monthAfter(period),
    quantity: null,
    unit: null,
    nanos: null,
    list: 0n,
    billed: pico,
    effective: pico,
    invoiceId: statement?.id ?? null,
    ...OF_NOTHING,
  };
}

export const OF_NOTHING = {
  meter: null,
  priceId: null,
  project: undefined,
  environment: undefined,
  runner: undefined,
  coveredBy: null,
  selfReportedMs: null,
  itemId: null,
} as const;
