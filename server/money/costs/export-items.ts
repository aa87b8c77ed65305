/**
 * This file exports charges by item of work, from `usage_events`: month after month, in the order of their
 * reports. What was included or paid from credit of a row of days is that of its first items.
 */
import { addDays, meterWords } from '../metering/index.ts';
import { rowKey, type DayRow } from '../plans/index.ts';
import type { Charge } from './charge.ts';
import { monthOfTeam, type Month } from './export-account.ts';
import { adjusted, costOf, spansOf, splitRows, type MonthSpan } from './export-days.ts';
import { nextDay, pieces, PIECE, type ExportOf } from './export-of.ts';
import type { Part } from './split.ts';

interface Row {
  readonly workId: string;
  /** As the database writes it: it has more digits than a Date. */
  readonly reportedAt: string;
  readonly day: string;
  readonly meter: string;
  readonly itemId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly runnerId: string;
  readonly priceId: string;
  readonly ms: number;
  readonly selfReportedMs: number | null;
  readonly nanos: number;
}

/**
 * How long before a month a report was made that counts in it, because it was published after its own month
 * was closed.
 */
const LATE_DAYS = 31;

export async function* itemCharges(of: ExportOf): AsyncGenerator<readonly Charge[]> {
  for (const span of spansOf(of)) yield* monthItems(of, span);
}

async function* monthItems(of: ExportOf, span: MonthSpan): AsyncGenerator<readonly Charge[]> {
  const month = await monthOfTeam(of.reader, { ...of, period: span.period });
  const covered = await coveredParts(of, span, month);
  let billed = 0n;
  for await (const rows of pieces<Row>(async (after) => await readRows(of, span, after))) {
    await of.names.load(
      rows.flatMap(({ projectId, environmentId, runnerId }) => [projectId, environmentId, runnerId]),
    );
    const charges = rows.flatMap((row) => chargesOf(row, { of, month, covered }));
    for (const charge of charges) billed += charge.billed;
    yield charges;
  }
  yield* adjusted(month, span, billed);
}

/**
 * Parts of the rows of days that something covers, by the key of the row. Taken from as items are written.
 */
type Covered = Map<string, Array<{ coveredBy: Part['coveredBy']; ms: number }>>;

async function coveredParts(of: ExportOf, span: MonthSpan, month: Month): Promise<Covered> {
  const covered: Covered = new Map();
  for await (const rows of splitRows(of, span, month))
    for (const { row, parts } of rows) {
      const some = parts.filter(({ coveredBy }) => coveredBy !== null);
      if (some.length > 0)
        covered.set(
          rowKey({ teamId: of.team.id, ...row }),
          some.map((part) => ({ ...part })),
        );
    }
  return covered;
}

/** What is left to be taken for an item, and the rest of it, which is to be paid. */
function partsOf(
  ms: number,
  left: Array<{ coveredBy: Part['coveredBy']; ms: number }> = [],
): readonly Part[] {
  const parts: Part[] = [];
  let rest = ms;
  while (rest > 0) {
    const [next] = left;
    if (next === undefined) break;
    const taken = Math.min(rest, next.ms);
    parts.push({ coveredBy: next.coveredBy, ms: taken });
    rest -= taken;
    next.ms -= taken;
    if (next.ms === 0) left.shift();
  }
  return rest > 0 || parts.length === 0 ? [...parts, { coveredBy: null, ms: rest }] : parts;
}

/** Counted days are those of `cost_days`: a late report counts on the first day of its period. */
async function readRows(
  { reader: { db, teams }, team }: ExportOf,
  { period, since, until }: MonthSpan,
  after: Row | undefined,
): Promise<readonly Row[]> {
  const { sql } = db.behind;
  const from = since === period ? addDays(since, -LATE_DAYS) : since;
  const at = after?.reportedAt ?? `${from}T00:00:00Z`;
  return await sql<Row[]>`
    select e.work_id as "workId", e.reported_at::text as "reportedAt", greatest((e.reported_at at time zone 'UTC')::date, e.period)::text as day, e.kind || '.' || e.executed_by as meter, coalesce(e.build_id, e.work_id) as "itemId",
      coalesce(e.project_id, '') as "projectId", coalesce(e.environment_id, '') as "environmentId", e.runner_id as "runnerId", e.price_id as "priceId",
      e.metered_ms as ms, e.self_reported_ms as "selfReportedMs", p.nanos_per_second as nanos
    from (
      select * from usage_events
      where team_id = ${team.id} and team_id = any(${[...teams.teamIds]}::text[]) and (reported_at, work_id) > (${at}::text::timestamptz, ${after?.workId ?? ''}::text)
        and reported_at < (${until}::date)::timestamp at time zone 'UTC' and period = ${period}::date
      order by reported_at, work_id limit ${PIECE}::int
    ) e
    join prices p on p.id = e.price_id
    order by e.reported_at, e.work_id`;
}

interface Writer {
  readonly of: ExportOf;
  readonly month: Month;
  readonly covered: Covered;
}

function chargesOf(row: Row, { of: { names, team }, month, covered }: Writer): Charge[] {
  const { day, nanos } = row;
  const { account, period, statement } = month;
  const key = covered.size === 0 ? '' : rowKey({ teamId: team.id, ...row } satisfies DayRow);
  return partsOf(row.ms, covered.get(key)).map((part, n) => ({
    category: 'Usage',
    isCorrection: false,
    description: meterWords(row.meter),
    account,
    period,
    since: day,
    until: nextDay(day),
    quantity: part.ms,
    unit: 'Seconds',
    nanos,
    ...costOf(part, nanos),
    invoiceId: statement?.id ?? null,
    meter: row.meter,
    priceId: row.priceId,
    project: names.of(row.projectId),
    environment: names.of(row.environmentId),
    runner: names.of(row.runnerId),
    coveredBy: part.coveredBy,
    // Once, however many parts there are.
    selfReportedMs: n === 0 ? row.selfReportedMs : null,
    itemId: row.itemId,
  }));
}
