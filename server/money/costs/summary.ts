/** This file answers with the costs of a time: their sums, so that parts sum to the whole, and a forecast. */
import { create } from '@bufbuild/protobuf';
import {
  CostSummarySchema,
  type CostDay,
  type CostPart,
  type CostSummary,
  SummaryRequestSchema,
  type SummaryRequest,
} from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { publishedUntil } from '../../kit/events/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { OverviewSource } from '../../kit/overview.ts';
import { shown, type Row } from '../../kit/resource/index.ts';
import { decimalOf, decimalsOf, netCentsOf, shared } from '../amounts/index.ts';
import { dayOf, METERED, monthOf } from '../metering/index.ts';
import type { Pricing } from '../plans/index.ts';
import { monthsPaid } from './coverage.ts';
import { costDaysOf, monthsOf } from './days.ts';
import type { Spent } from './forecast.ts';
import { forecastMonth, historyOf } from './forecast-month.ts';
import { sumsOf, type Sum, type SumKind } from './sums.ts';

export async function summary(request: SummaryRequest, ctx: Ctx, pricing: Pricing): Promise<CostSummary> {
  const { teamId } = request;
  const now = ctx.clock.now();
  const days = costDaysOf(request, now);
  const { charges, currency } = pricing;
  const months = await monthsPaid(ctx.db.behind, { teamId, months: monthsOf(days), charges });
  const today = dayOf(now.getTime());
  const month = monthOf(today);
  const asksForecast = request.until === undefined && days.since === month;
  const [asOf, sums, history] = await Promise.all([
    publishedUntil(ctx.db.behind.sql, { teamId, kind: 'work.finished', effect: METERED, now }),
    sumsOf(ctx, { teamId, ...days, months }),
    asksForecast ? historyOf(ctx, { teamId, today, currency }) : undefined,
  ]);
  const { amounts, ...parts } = partsOf(sums, currency);
  const spent = { days: spentByDay(sums), included: amounts.included, paid: months.get(month) };
  const forecast = history && forecastMonth(history, spent);
  const decimals = decimalsOf(currency);
  return shown(CostSummarySchema, { ...days, currency, decimals, asOf, forecast, ...parts });
}

/** Says what the month has cost so far. */
export const monthToDate = (pricing: Pricing): OverviewSource => ({
  scope: 'cost:read',
  read: async (ctx, { teamId }) => {
    const { currency, decimals, net, forecast } = await summary(
      create(SummaryRequestSchema, { teamId }),
      ctx,
      pricing,
    );
    return { monthToDate: { currency, decimals, net, forecastNet: forecast?.net } };
  },
});

function spentByDay(sums: readonly Sum[]): ReadonlyMap<string, Spent> {
  return new Map(
    sums.flatMap(({ kind, day, list, meteredMs: ms }) =>
      kind === 'day' && day !== null ? [[day, { list: BigInt(list), ms }] as const] : [],
    ),
  );
}

interface Amounts {
  readonly list: bigint;
  readonly included: bigint;
  readonly net: bigint;
}

function amountsOf({ list, included }: Pick<Sum, 'list' | 'included'>): Amounts {
  return { list: BigInt(list), included: BigInt(included), net: BigInt(list) - BigInt(included) };
}

function totalOf(sums: readonly Sum[]): Amounts {
  return sums.map(amountsOf).reduce(
    (total, { list, included, net }) => ({
      list: total.list + list,
      included: total.included + included,
      net: total.net + net,
    }),
    { list: 0n, included: 0n, net: 0n },
  );
}

/** All lists are of the same rows, so that each sums to the same whole. */
function partsOf(sums: readonly Sum[], currency: string) {
  const of = (kind: SumKind): readonly Sum[] => sums.filter((sum) => sum.kind === kind);
  const total = (field: 'events' | 'meteredMs' | 'selfReportedMs'): number =>
    of('meter').reduce((sum, each) => sum + each[field], 0);
  const amounts = totalOf(of('meter'));
  const netCents = netCentsOf(of('line').map(amountsOf), currency);
  return {
    amounts,
    usage: {
      events: total('events'),
      meteredSeconds: total('meteredMs') / 1_000,
      selfReportedSeconds: total('selfReportedMs') / 1_000,
    },
    ...textsOf(amounts),
    netCents,
    byDay: daysOf(of('day'), of('daily'), netCents),
    byProject: partsIn(of('project'), netCents),
    byEnvironment: partsIn(of('environment'), netCents),
    byRunner: partsIn(of('runner'), netCents),
    byMeter: partsIn(of('meter'), netCents),
  };
}

function textsOf({ list, included, net }: Amounts) {
  return { list: decimalOf(list), included: decimalOf(included), net: decimalOf(net) };
}

function centsShared(sums: readonly Sum[], netCents: number): number[] {
  const shares = sums.map(({ day, key, ...sum }) => ({ key: day ?? key ?? '~', weight: amountsOf(sum).net }));
  return shared(netCents, shares);
}

function partsIn(sums: readonly Sum[], netCents: number): Array<Row<CostPart>> {
  const cents = centsShared(sums, netCents);
  return sums.map((sum, n) => ({
    id: sum.key === '' ? undefined : sum.key,
    name: sum.name,
    projectId: sum.projectId,
    projectName: sum.projectName,
    others: sum.key === null ? sum.parts : undefined,
    meteredSeconds: sum.meteredMs / 1_000,
    ...textsOf(amountsOf(sum)),
    netCents: cents[n] ?? 0,
  }));
}

function daysOf(days: readonly Sum[], daily: readonly Sum[], netCents: number): Array<Row<CostDay>> {
  const projects = new Map<string | null, Sum[]>(days.map(({ day }) => [day, []]));
  for (const each of daily) projects.get(each.day)?.push(each);
  const cents = centsShared(days, netCents);
  return days.map((sum, n) => ({
    day: sum.day ?? '',
    meteredSeconds: sum.meteredMs / 1_000,
    ...textsOf(amountsOf(sum)),
    netCents: cents[n] ?? 0,
    projects: partsIn(projects.get(sum.day) ?? [], cents[n] ?? 0),
  }));
}
