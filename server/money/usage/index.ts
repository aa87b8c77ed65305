/** Metered time of a team's work by day. */
import { UsageDaySchema, UsageService, type UsageDay } from '@svc/proto/gen/svc/usage/v1/usage_pb.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../kit/context.ts';
import { shown } from '../../kit/resource/index.ts';
import {
  addDays,
  assertSpan,
  dayOf,
  meteredDays,
  meteringFeature,
  readDay,
  type MeteredDay,
} from '../metering/index.ts';
import { declareFeature } from '../../kit/feature.ts';

const DAYS_DEFAULT = 30;

function createUsage(): Handlers<Ctx> {
  return implement(UsageService, {
    get: async (request, ctx: Ctx) => {
      const { from, to } = daysOf(request, ctx.clock.now());
      const days = await meteredDays(ctx, { teamId: request.teamId, from, to });
      return { from, to, days: days.map(show), totals: totalsOf(days).map(show) };
    },
  });
}

export const usageFeature = declareFeature({
  name: 'usage',
  on: { metering: meteringFeature },
  start: () => ({ services: [createUsage()] }),
});

/** Both ends are written `YYYY-MM-DD`. */
function daysOf(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: Date,
): { from: string; to: string } {
  const read = (field: 'from' | 'to', text: string) => readDay({ resource: 'usage', field, text });
  const last = read('to', to ?? dayOf(now.getTime()));
  const first = read('from', from ?? addDays(last.text, 1 - DAYS_DEFAULT));
  assertSpan({ first, last, isLastIncluded: true });
  return { from: first.text, to: last.text };
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
