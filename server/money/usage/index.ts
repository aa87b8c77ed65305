/** Metered time of a team's work by day: summed up once, by the outbox, as work ends. */
import { and, between, eq } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { UsageDaySchema, UsageService } from '@svc/proto/gen/svc/usage/v1/usage_pb.ts';
import type { UsageDay } from '@svc/proto/gen/svc/usage/v1/usage_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../platform/context.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import type { Feature } from '../../platform/feature.ts';
import { inTeams, shown } from '../../platform/resource/index.ts';
import type { Fragment } from '../../platform/sql.ts';
import { usageDays } from './schema.ts';

const DAY_MS = 24 * 60 * 60_000;
const DAYS_DEFAULT = 30;
const DAYS_MAX = 366;

/**
 * CTE `counted`: adds what ended, of the outbox rows of the CTE `published`, to its day. The rows are deleted in the same statement, so that each is
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

type Day = Omit<typeof usageDays.$inferSelect, 'teamId'>;

function createUsage(): Handlers<Ctx> {
  return implement(UsageService, {
    get: async (request, { db, teams, clock }: Ctx) => {
      const { from, to } = daysOf(request, clock.now());
      const { teamId, day, kind, executedBy } = usageDays;
      const days = await db.behind.orm
        .select()
        .from(usageDays)
        .where(and(inTeams(usageDays, teams), eq(teamId, request.teamId), between(day, from, to)))
        .orderBy(day, kind, executedBy);
      return { from, to, days: days.map(show), totals: totalsOf(days).map(show) };
    },
  });
}

export const usageFeature: Feature = { services: [createUsage()], effects: [counted] };

/** Both ends as `YYYY-MM-DD`. */
function daysOf(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: Date,
): { from: string; to: string } {
  const last = to === undefined ? dayOf(now.getTime()) : validDay('to', to);
  const first =
    from === undefined ? dayOf(Date.parse(last) - (DAYS_DEFAULT - 1) * DAY_MS) : validDay('from', from);
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  if (days < 1) throw refused('from', 'order', `from is ${first} and to is ${last}, expected from ≤ to`);
  if (days > DAYS_MAX) {
    const message = `${first} to ${last} are ${days} days, at most ${DAYS_MAX} can be asked for at once`;
    throw refused('from', 'span', message);
  }
  return { from: first, to: last };
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The contract has checked its form; the 31st of February has the right one too. */
function validDay(name: 'from' | 'to', text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms) || dayOf(ms) !== text)
    throw refused(name, 'day', `${name} is ${text}, which is no day of the calendar`);
  return text;
}

function refused(field: 'from' | 'to', rule: string, message: string): Error {
  const details = { resource: 'usage', fields: [{ field, rule, message }] };
  return apiError('validation_failed', message, { details });
}

function totalsOf(days: readonly Day[]): readonly Day[] {
  const totals = new Map<string, Day>();
  for (const day of days) {
    const key = `${day.kind} ${day.executedBy}`;
    const sum = totals.get(key);
    totals.set(key, {
      ...day,
      day: '',
      count: day.count + (sum?.count ?? 0),
      meteredMs: day.meteredMs + (sum?.meteredMs ?? 0),
      selfReportedMs: day.selfReportedMs + (sum?.selfReportedMs ?? 0),
      selfReportedCount: day.selfReportedCount + (sum?.selfReportedCount ?? 0),
    });
  }
  return [...totals.values()];
}

function show({ meteredMs, selfReportedMs, ...day }: Day): UsageDay {
  return shown(UsageDaySchema, {
    ...day,
    meteredSeconds: meteredMs / 1_000,
    selfReportedSeconds: selfReportedMs / 1_000,
  });
}
