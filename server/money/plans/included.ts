/**
 * Time that a payer's plan includes, and which of the month's time that is: the first, over all its teams.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { shared } from '../amounts/index.ts';
import { FREE, PAID, planById } from './catalogue.ts';

/** A plan that counted from a moment on. */
export interface PlanFrom {
  readonly plan: string;
  readonly fromAt: Date;
}

/** Months are named by their first days in UTC, `YYYY-MM-DD`. */
export function monthAfter(period: string): string {
  const first = new Date(`${period}T00:00:00Z`);
  return new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1)).toISOString().slice(0, 10);
}

/** This returns the first moment of the next month. */
export function monthEnd(period: string): Date {
  return new Date(`${monthAfter(period)}T00:00:00Z`);
}

/**
 * Milliseconds that a month includes: of paid plans in proportion to the seconds that each counted, at least
 * those of the free plan. `changes`: oldest first, with the last one before the month; before the first one
 * it was the free plan.
 */
export function poolMs(period: string, changes: readonly PlanFrom[]): number {
  const start = Date.parse(`${period}T00:00:00Z`);
  const end = monthEnd(period).getTime();
  // The result is exact until the last step, because somebody pays for each millisecond that rounding takes.
  const paid = changes.reduce((sum, { plan, fromAt }, n) => {
    const from = Math.max(start, Math.floor(fromAt.getTime() / 1_000) * 1_000);
    const to = Math.min(end, Math.floor((changes[n + 1]?.fromAt.getTime() ?? end) / 1_000) * 1_000);
    const known = PAID.find(({ id }) => id === plan);
    return known === undefined || to <= from
      ? sum
      : sum + BigInt(known.includedSeconds) * 1_000n * BigInt(to - from);
  }, 0n);
  return Math.max(FREE.includedSeconds * 1_000, Number(paid / BigInt(end - start)));
}

/**
 * The payer's plan with this moment, and the milliseconds that the month includes. Without a provider of
 * payments: nothing is included and nothing refused.
 */
export async function includedOf(
  { sql }: Pick<Database, 'sql'>,
  { payerId, period }: { readonly payerId: string; readonly period: string },
): Promise<{ readonly plan: string; readonly poolMs: number }> {
  const end = monthAfter(period);
  const changes = await sql<PlanFrom[]>`
    select plan, from_at as "fromAt" from plan_changes where user_id = ${payerId} and from_at < (${end}::date)::timestamp at time zone 'UTC' order by from_at, id`;
  return { plan: planById(changes.at(-1)?.plan ?? FREE.id).id, poolMs: poolMs(period, changes) };
}

export interface Coverage {
  /** Time of the month's days before this one is included, `YYYY-MM-DD`; of later ones none is. */
  readonly day: string;
  /** Included milliseconds of that day's rows of `cost_days`, by `rowKey`. */
  readonly shares: ReadonlyMap<string, number>;
}

/** Columns that tell the rows of `cost_days` of a period apart. */
export interface DayRow {
  readonly day: string;
  readonly teamId: string;
  readonly meter: string;
  readonly priceId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly runnerId: string;
}

export function rowKey({ day, teamId, meter, priceId, projectId, environmentId, runnerId }: DayRow): string {
  return [day, teamId, meter, priceId, projectId, environmentId, runnerId].join(' ');
}

/** Shares what is left among the rows of a day, in proportion to their time. */
export function sharesOf(
  left: number,
  rows: ReadonlyArray<DayRow & { readonly ms: string }>,
): ReadonlyMap<string, number> {
  const keys = rows.map(rowKey);
  const parts = shared(
    left,
    rows.map(({ ms }, n) => ({ key: keys[n] ?? '', weight: BigInt(ms) })),
  );
  return new Map(keys.map((key, n) => [key, parts[n] ?? 0]));
}

/**
 * Included milliseconds of a row of `cost_days d`. `day` may be an expression, where rows of several payers
 * or months stand together; where it is null nothing is included.
 */
export function includedMs(
  sql: SqlTag,
  { day, shares }: Pick<Coverage, 'shares'> & { readonly day: string | Fragment },
): Fragment {
  const key = sql`concat_ws(' ', d.day, d.team_id, d.meter, d.price_id, d.project_id, d.environment_id, d.runner_id)`;
  return sql`case when d.day < ${day}::date then d.metered_ms when d.day > ${day}::date then 0
    else coalesce((${sql.json(Object.fromEntries(shares))}::jsonb ->> ${key})::bigint, 0) end`;
}
