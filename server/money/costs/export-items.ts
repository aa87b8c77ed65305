/**
 * This file exports charges by item of work, from `usage_events`: month after month, in the order of their
 * reports. What was included or paid from credit of a row of days is that of its first items.
 */
import { addDays } from '../metering/index.ts';
import { rowKey } from '../plans/index.ts';
import type { Month } from './export-account.ts';
import { splitRows, usageCharges, type MonthSpan, type Row, type SplitRow } from './export-days.ts';
import { pieces, PIECE, type ExportOf } from './export-of.ts';
import type { Part } from './split.ts';

interface ItemRow extends Row {
  readonly workId: string;
  /** As the database writes it: it has more digits than a Date. */
  readonly reportedAt: string;
}

/**
 * A report may have been made so long before the month in which it counts, because it was published after its
 * own month was closed.
 */
const LATE_DAYS = 31;

export const itemCharges = (of: ExportOf) => usageCharges(of, splitItems);

async function* splitItems(of: ExportOf, span: MonthSpan, month: Month): AsyncGenerator<readonly SplitRow[]> {
  const covered = await coveredParts(of, span, month);
  for await (const rows of pieces<ItemRow>(async (after) => await readRows(of, span, after)))
    yield rows.map((row) => {
      const key = covered.size === 0 ? '' : rowKey({ teamId: of.team.id, ...row });
      return { row, parts: partsOf(row.ms, covered.get(key)) };
    });
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
function partsOf(ms: number, left: Array<{ coveredBy: Part['coveredBy']; ms: number }> = []) {
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
  after: ItemRow | undefined,
): Promise<readonly ItemRow[]> {
  const { sql } = db.behind;
  const from = since === period ? addDays(since, -LATE_DAYS) : since;
  const at = after?.reportedAt ?? `${from}T00:00:00Z`;
  return await sql<ItemRow[]>`
    select e.work_id as "workId", e.reported_at::text as "reportedAt", greatest((e.reported_at at time zone 'UTC')::date, e.period)::text as day, e.kind || '.' || e.executed_by as meter, coalesce(e.build_id, e.work_id) as "itemId",
      coalesce(e.project_id, '') as "projectId", coalesce(e.environment_id, '') as "environmentId", e.runner_id as "runnerId", e.price_id as "priceId",
      e.metered_ms as ms, e.self_reported_ms as "selfReportedMs", p.nanos_per_second as nanos
    from (
      select * from usage_events
      where team_id = ${team.id} and team_id = any(${teams.teamIds}::text[]) and (reported_at, work_id) > (${at}::text::timestamptz, ${after?.workId ?? ''}::text)
        and reported_at < (${until}::date)::timestamp at time zone 'UTC' and period = ${period}::date
      order by reported_at, work_id limit ${PIECE}::int
    ) e
    join prices p on p.id = e.price_id
    order by e.reported_at, e.work_id`;
}
