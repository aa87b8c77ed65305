/** Charges by item of work, from `usage_events`, in the order of their reports. List costs alone: what is included and paid from credit shows by day. */
import { addDays, meterWords, monthOf } from '../metering/index.ts';
import type { Charge } from './charge.ts';
import { monthOfTeam } from './export-account.ts';
import type { Month } from './export-account.ts';
import { nextDay, pieces, PIECE } from './export-of.ts';
import type { ExportOf } from './export-of.ts';

interface Row {
  readonly workId: string;
  /** As the database writes it: it has more digits than a Date. */
  readonly reportedAt: string;
  readonly day: string;
  readonly period: string;
  readonly meter: string;
  readonly itemId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly runnerId: string;
  readonly priceId: string;
  readonly ms: number;
  readonly selfReportedMs: number | null;
  readonly nanos: number;
  readonly rated: string;
}

/** How long before a month a report was made that counts in it, because it was published after its own month was closed. */
const LATE_DAYS = 31;

export async function* itemCharges(of: ExportOf): AsyncGenerator<readonly Charge[]> {
  const months = new Map<string, Month>();
  const late = { from: addDays(of.since, -LATE_DAYS), until: of.since, period: of.since };
  const spans = of.since === monthOf(of.since) ? [late, of] : [of];
  for (const span of spans)
    for await (const rows of pieces<Row>(async (after) => await readRows(of, span, after)))
      yield await chargesOf(of, rows, months);
}

interface Span {
  readonly from?: string;
  readonly since?: string;
  readonly until: string;
  /** Month in which late reports count; absent for all others. */
  readonly period?: string;
}

/** Counted days are those of `cost_days`: a late report counts on the first day of its period. */
async function readRows(
  { reader: { db, teams }, team, ...of }: ExportOf,
  { from = of.since, until, period }: Span,
  after: Row | undefined,
): Promise<readonly Row[]> {
  const { sql } = db.behind;
  const at = after?.reportedAt ?? `${from}T00:00:00Z`;
  return await sql<Row[]>`
    select e.work_id as "workId", e.reported_at::text as "reportedAt", (e.reported_at at time zone 'UTC')::date::text as day, e.period::text, e.kind || '.' || e.executed_by as meter, coalesce(e.build_id, e.work_id) as "itemId",
      coalesce(e.project_id, '') as "projectId", coalesce(e.environment_id, '') as "environmentId", e.runner_id as "runnerId", e.price_id as "priceId",
      e.metered_ms as ms, e.self_reported_ms as "selfReportedMs", p.nanos_per_second as nanos, e.rated::text
    from (
      select * from usage_events
      where team_id = ${team.id} and team_id = any(${[...teams.teamIds]}::text[]) and (reported_at, work_id) > (${at}::text::timestamptz, ${after?.workId ?? ''}::text)
        and reported_at < (${until}::date)::timestamp at time zone 'UTC'
        and period < ${of.until}::date and (${period ?? null}::date is null or period = ${period ?? null}::date)
      order by reported_at, work_id limit ${PIECE}::int
    ) e
    join prices p on p.id = e.price_id
    order by e.reported_at, e.work_id`;
}

async function chargesOf(of: ExportOf, rows: readonly Row[], months: Map<string, Month>): Promise<Charge[]> {
  const { reader, team, currency, names } = of;
  await names.load(
    rows.flatMap(({ projectId, environmentId, runnerId }) => [projectId, environmentId, runnerId]),
  );
  for (const { period } of rows)
    if (!months.has(period)) months.set(period, await monthOfTeam(reader, { team, period, currency }));
  return rows.flatMap((row): Charge[] => {
    const month = months.get(row.period);
    return month === undefined ? [] : [chargeOf(of, row, month)];
  });
}

function chargeOf({ names }: ExportOf, row: Row, { account, period, statement }: Month): Charge {
  const day = row.day < period ? period : row.day;
  return {
    category: 'Usage',
    isCorrection: false,
    description: meterWords(row.meter),
    account,
    period,
    since: day,
    until: nextDay(day),
    quantity: row.ms,
    unit: 'Seconds',
    nanos: row.nanos,
    list: BigInt(row.rated),
    billed: null,
    effective: null,
    invoiceId: statement?.id ?? null,
    meter: row.meter,
    priceId: row.priceId,
    project: names.of(row.projectId),
    environment: names.of(row.environmentId),
    runner: names.of(row.runnerId),
    coveredBy: null,
    selfReportedMs: row.selfReportedMs,
    itemId: row.itemId,
  };
}
