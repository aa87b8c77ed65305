/**
 * Metered time, one event for each accepted report, at the price in force when the work was claimed. Costs,
 * statements and usage are sums of it.
 */
import { and, asc, between, eq, getTableColumns, gte, or, sql } from 'drizzle-orm';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';
import { together } from '../../kit/events/index.ts';
import { declareFeature, filledOnce, port, type EventEffect } from '../../kit/feature.ts';
import { inTeams, type Who } from '../../kit/resource/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { environmentsFeature } from '../../apps/environments/index.ts';
import { projectsFeature } from '../../apps/projects/index.ts';
import { buildsFeature } from '../../engine/builds/index.ts';
import { runnersFeature } from '../../engine/runners/index.ts';
import { workFeature } from '../../engine/work/index.ts';
import { amountsFeature } from '../amounts/index.ts';
import { metered } from './metered.ts';
import { makeDefaultPrices } from './prices.ts';
import { costDays, prices, usageEvents, type UsageEvent } from './schema.ts';

export { METERED, metered } from './metered.ts';
export { meterWords } from './meter-words.ts';
export { listPrices, nanosByDay, pricesNow, publishPrice } from './prices.ts';
export type { Meter, NanosOn, Price } from './prices.ts';
export { tellOfPrice } from './price-notice.ts';
export { addDays, assertSpan, countDays, DAY_MS, dayOf, monthOf, readDay } from './days.ts';

/**
 * This effect happens together with the metering of an event, also where that comes late: budgets mark the
 * teams whose costs have changed.
 */
export const meteredTogether = port<EventEffect>('with the metering of an event');

export const meteringFeature = declareFeature({
  name: 'metering',
  on: {
    teams: teamsFeature,
    projects: projectsFeature,
    environments: environmentsFeature,
    work: workFeature,
    runners: runnersFeature,
    builds: buildsFeature,
    amounts: amountsFeature,
  },
  prefixes: ['prc'],
  events: {
    'price.published': {
      when: 'A new price of a meter that the team used lately was published; it is told before it begins.',
      scope: 'cost:read',
      notifies: true,
      delivered: true,
    },
  },
  reads: ['cost_days', 'cost_names', 'open_period', 'prices', 'usage_events'],
  writes: ['open_period'],
  start: async (system, { amounts: { pricing } }) => {
    const { currency } = pricing;
    await makeDefaultPrices(system.db, currency);
    return { effects: [(sql) => together(metered(currency), filledOnce(system, meteredTogether))(sql)] };
  },
});

export interface MeteredDay {
  readonly day: string;
  readonly kind: UsageEvent['kind'];
  readonly executedBy: UsageEvent['executedBy'];
  readonly count: number;
  readonly meteredMs: number;
  readonly selfReportedMs: number;
  readonly selfReportedCount: number;
}

export interface Days {
  readonly teamId: string;
  /** Both included, `YYYY-MM-DD`. */
  readonly from: string;
  readonly to: string;
}

/** This returns days with usage, oldest first, with one entry for each kind and executor. */
export async function meteredDays({ db, teams }: Who, { teamId, from, to }: Days): Promise<MeteredDay[]> {
  const { day, meter, period, events } = costDays;
  const kind = sql<MeteredDay['kind']>`split_part(${meter}, '.', 1)`;
  const executedBy = sql<MeteredDay['executedBy']>`split_part(${meter}, '.', 2)`;
  const total = (column: AnyPgColumn) => sql`sum(${column})`.mapWith(Number);
  return await db.behind.orm
    .select({
      day,
      kind,
      executedBy,
      count: total(events),
      meteredMs: total(costDays.meteredMs),
      selfReportedMs: total(costDays.selfReportedMs),
      selfReportedCount: total(costDays.selfReportedCount),
    })
    .from(costDays)
    .where(
      and(
        inTeams(costDays, teams),
        eq(costDays.teamId, teamId),
        // No day is of an earlier period: of the key only this part is read.
        gte(period, `${from.slice(0, 7)}-01`),
        between(day, from, to),
      ),
    )
    .groupBy(day, meter)
    .orderBy(day, kind, executedBy);
}

export type RatedEvent = UsageEvent & { readonly nanosPerSecond: number; readonly currency: string };

/** This returns the events of a run or of a build, oldest first. */
export async function eventsOf(
  { db, teams }: Who,
  { teamId, itemId }: { readonly teamId: string; readonly itemId: string },
): Promise<RatedEvent[]> {
  const { workId, buildId, reportedAt, priceId } = usageEvents;
  return await db.orm
    .select({
      ...getTableColumns(usageEvents),
      nanosPerSecond: prices.nanosPerSecond,
      currency: prices.currency,
    })
    .from(usageEvents)
    .innerJoin(prices, eq(prices.id, priceId))
    .where(
      and(
        inTeams(usageEvents, teams),
        eq(usageEvents.teamId, teamId),
        or(eq(buildId, itemId), and(eq(workId, itemId), eq(usageEvents.kind, 'run'))),
      ),
    )
    .orderBy(asc(reportedAt), asc(workId));
}
