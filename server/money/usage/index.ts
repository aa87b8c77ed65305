/** Metered time of a team's work by day: summed up once, by the outbox, as work ends. */
import type { Feature, System } from '../../platform/feature.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { ExecutedBy, UsageService, WorkKind } from '@svc/proto/gen/svc/usage/v1/usage_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import type { Fragment } from '../../platform/sql.ts';

const DAY_MS = 24 * 60 * 60_000;
const DAYS_DEFAULT = 30;
const DAYS_MAX = 366;

/**
 * CTE `counted`: adds what ended, of the outbox rows of the CTE `published`, to its day. The rows are marked in the same statement, so that each is
 * added once; days are touched in their order, so that two workers wait for each other and never in a circle. Who executed it is
 * whose runner reported it: an item's own pool moves with its team's region.
 */
export function counted(sql: SqlTag): Fragment {
  return sql`
    counted as (
      insert into usage_days as u (team_id, day, kind, executed_by, count, metered_ms, self_reported_ms, self_reported_count)
      select w.team_id, (w.finished_at at time zone 'UTC')::date, w.kind, case when t.service_pool then 'service' else 'runner' end,
        count(*), sum(w.metered_ms), coalesce(sum(w.self_reported_ms), 0), count(w.self_reported_ms)
      from published e
      join work_items w on w.id = e.dedupe_key
      join runners r on r.id = w.runner_id
      join teams t on t.id = r.team_id
      where e.kind = 'work.finished' and w.metered_ms is not null
      group by 1, 2, 3, 4 order by 1, 2, 3, 4
      on conflict (team_id, day, kind, executed_by) do update set
        count = u.count + excluded.count, metered_ms = u.metered_ms + excluded.metered_ms,
        self_reported_ms = u.self_reported_ms + excluded.self_reported_ms,
        self_reported_count = u.self_reported_count + excluded.self_reported_count
    )`;
}

interface DayRow {
  readonly day: string;
  readonly kind: 'run' | 'build';
  readonly executedBy: 'runner' | 'service';
  readonly count: number;
  readonly meteredMs: number;
  readonly selfReportedMs: number;
  readonly selfReportedCount: number;
}

export function createUsage({ clock }: { readonly clock: Clock }): Handlers<Ctx> {
  return implement(UsageService, {
    get: async (request, { db, teams }: Ctx) => {
      const { from, to } = daysOf(request, clock.now());
      const rows = await db.sql<DayRow[]>`
        select day::text as day, kind, executed_by as "executedBy", count, metered_ms as "meteredMs",
          self_reported_ms as "selfReportedMs", self_reported_count as "selfReportedCount"
        from usage_days
        where team_id = any(${[...teams.teamIds]}::text[]) and team_id = ${request.teamId}
          and day between ${from}::date and ${to}::date
        order by day, kind, executed_by`;
      return { from, to, days: rows.map(present), totals: totalsOf(rows).map(present) };
    },
  });
}

/** Both ends as `YYYY-MM-DD`. */
function daysOf(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: Date,
): { from: string; to: string } {
  const last = to === undefined ? dayOf(now.getTime()) : validDay('to', to);
  const first =
    from === undefined ? dayOf(Date.parse(last) - (DAYS_DEFAULT - 1) * DAY_MS) : validDay('from', from);
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  if (days < 1) throw apiError('validation_failed', `from is ${first} and to is ${last}, expected from ≤ to`);
  if (days > DAYS_MAX) {
    throw apiError(
      'validation_failed',
      `${first} to ${last} are ${days} days, at most ${DAYS_MAX} can be asked for at once`,
    );
  }
  return { from: first, to: last };
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The contract has checked its form; the 31st of February has the right one too. */
function validDay(name: string, text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms) || dayOf(ms) !== text)
    throw apiError('validation_failed', `${name} is ${text}, which is no day of the calendar`);
  return text;
}

function totalsOf(rows: readonly DayRow[]): readonly DayRow[] {
  const totals = new Map<string, DayRow>();
  for (const row of rows) {
    const key = `${row.kind} ${row.executedBy}`;
    const sum = totals.get(key);
    totals.set(key, {
      ...row,
      day: '',
      count: row.count + (sum?.count ?? 0),
      meteredMs: row.meteredMs + (sum?.meteredMs ?? 0),
      selfReportedMs: row.selfReportedMs + (sum?.selfReportedMs ?? 0),
      selfReportedCount: row.selfReportedCount + (sum?.selfReportedCount ?? 0),
    });
  }
  return [...totals.values()];
}

function present({ day, kind, executedBy, count, meteredMs, selfReportedMs, selfReportedCount }: DayRow) {
  return {
    day,
    kind: kind === 'run' ? WorkKind.RUN : WorkKind.BUILD,
    executedBy: executedBy === 'runner' ? ExecutedBy.RUNNER : ExecutedBy.SERVICE,
    count,
    meteredSeconds: meteredMs / 1_000,
    selfReportedSeconds: selfReportedMs / 1_000,
    selfReportedCount,
  };
}

export function usageFeature(system: System): Feature {
  return { services: [createUsage(system)], effects: [counted] };
}
