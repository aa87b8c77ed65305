/** Metered time of a team's work by day. */
import { apiError } from '@svc/proto/http/errors.ts';
import { UsageDaySchema, UsageService } from '@svc/proto/gen/svc/usage/v1/usage_pb.ts';
import type { UsageDay } from '@svc/proto/gen/svc/usage/v1/usage_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Feature } from '../../platform/feature.ts';
import { shown } from '../../platform/resource/index.ts';
import { meteredDays } from '../metering/index.ts';
import type { MeteredDay } from '../metering/index.ts';

const DAY_MS = 24 * 60 * 60_000;
const DAYS_DEFAULT = 30;
const DAYS_MAX = 366;

function createUsage(): Handlers<Ctx> {
  return implement(UsageService, {
    get: async (request, ctx: Ctx) => {
      const { from, to } = daysOf(request, ctx.clock.now());
      const days = await meteredDays(ctx, { teamId: request.teamId, from, to });
      return { from, to, days: days.map(show), totals: totalsOf(days).map(show) };
    },
  });
}

export const usageFeature: Feature = { services: [createUsage()] };

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

function totalsOf(days: readonly MeteredDay[]): readonly MeteredDay[] {
  const totals = new Map<string, MeteredDay>();
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

function show({ meteredMs, selfReportedMs, ...day }: MeteredDay): UsageDay {
  return shown(UsageDaySchema, {
    ...day,
    meteredSeconds: meteredMs / 1_000,
    selfReportedSeconds: selfReportedMs / 1_000,
  });
}
