/**
 * This file reads the months of many payers at once: under which plan each is, and which of its time that
 * covers. The number of statements does not depend on how many they are.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { teamsPaidWith, type PaidTeam } from '../../access/teams/index.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { FREE, planById, SELF_HOSTED, type CataloguePlan } from './catalogue.ts';
import type { Pricing } from '../amounts/index.ts';
import {
  monthAfter,
  monthEnd,
  poolMs,
  sharesOf,
  type Coverage,
  type DayRow,
  type PlanFrom,
} from './included.ts';

export interface PaidMonth {
  readonly payerId: string | null;
  /** All teams of the payer, those that are gone too. */
  readonly teamIds: readonly string[];
  readonly plan: CataloguePlan;
  /** Milliseconds that the month includes, for all these teams. */
  readonly poolMs: number;
  /** Milliseconds that all these teams used, whether the plan includes them or not. */
  readonly usedMs: number;
  readonly coverage: Coverage;
}

interface PaidTeams extends Pick<Pricing, 'charges'> {
  readonly teamIds: readonly string[];
  readonly period: string;
}

/** Months of whoever pays for these teams. */
export async function paidMonths(
  { sql }: Pick<Database, 'sql'>,
  { teamIds, period, charges }: PaidTeams,
): Promise<readonly PaidMonth[]> {
  const before = monthEnd(period);
  const paid = await teamsPaidWith(sql, { teamIds, before });
  const groups = [...groupsOf(paid).values()];
  const changes = await changesOf(
    sql,
    before,
    groups.flatMap(({ payerId }) => payerId ?? []),
  );
  const pools = groups.map(({ payerId }) => {
    if (!charges) return { plan: SELF_HOSTED, poolMs: 0 };
    const theirs = changes.get(payerId ?? '') ?? [];
    return { plan: planById(theirs.at(-1)?.plan ?? FREE.id), poolMs: poolMs(period, theirs) };
  });
  const days = await daysOf(sql, { period, groups });
  const ends = pools.map((pool, n) => endOf(pool.poolMs, { period, days: days[n] ?? [] }));
  const rows = await lastDays(sql, { period, groups, ends });
  return groups.map((group, n) => {
    const { day = period, left = 0, usedMs = 0 } = ends[n] ?? {};
    const shares = left === 0 ? new Map<string, number>() : sharesOf(left, rows.get(n) ?? []);
    return { ...group, plan: FREE, poolMs: 0, ...pools[n], usedMs, coverage: { day, shares } };
  });
}

/** The month of whoever pays for this team. */
export async function paidMonth(
  { sql }: Pick<Database, 'sql'>,
  { teamId, ...of }: Omit<PaidTeams, 'teamIds'> & { readonly teamId: string },
): Promise<PaidMonth> {
  const [month] = await paidMonths({ sql }, { ...of, teamIds: [teamId] });
  if (month === undefined) throw new Error(`nobody's month is that of ${teamId}`);
  return month;
}

interface Group {
  readonly payerId: string | null;
  readonly teamIds: string[];
}

/** A team that nobody is known to pay for stands for itself. */
function groupsOf(paid: readonly PaidTeam[]): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>();
  for (const { teamId, payerId } of paid) {
    const key = payerId ?? teamId;
    const group = groups.get(key) ?? { payerId, teamIds: [] };
    group.teamIds.push(teamId);
    groups.set(key, group);
  }
  return groups;
}

async function changesOf(sql: SqlTag, before: Date, payerIds: readonly string[]) {
  const rows = await sql<Array<PlanFrom & { readonly payerId: string }>>`
    select user_id as "payerId", plan, from_at as "fromAt" from plan_changes
    where user_id = any(${[...payerIds]}::text[]) and from_at < ${before} order by user_id, from_at, id`;
  const changes = new Map<string, PlanFrom[]>();
  for (const { payerId, ...change } of rows) {
    const theirs = changes.get(payerId);
    if (theirs === undefined) changes.set(payerId, [change]);
    else theirs.push(change);
  }
  return changes;
}

interface DayMs {
  readonly day: string;
  readonly ms: number;
}

/** Each team has a row with the place of its group. */
const asRows = (groups: readonly Group[]) =>
  groups.flatMap(({ teamIds }, n) => teamIds.map((teamId) => ({ team_id: teamId, n })));

interface Grouped {
  readonly period: string;
  readonly groups: readonly Group[];
}

/** This returns the days of each group, oldest first, in the order of the groups. */
async function daysOf(sql: SqlTag, { period, groups }: Grouped): Promise<ReadonlyArray<readonly DayMs[]>> {
  const rows = await sql<Array<{ n: number; days: Array<[string, number]> }>>`
    select n, json_agg(json_build_array(day, ms) order by day) as days
    from (
      select g.n, d.day, sum(d.metered_ms) as ms from jsonb_to_recordset(${sql.json(asRows(groups))}::jsonb) g(team_id text, n int)
      join cost_days d on d.team_id = g.team_id and d.period = ${period}::date group by g.n, d.day
    ) x group by n`;
  const days: Array<readonly DayMs[]> = groups.map(() => []);
  for (const { n, days: found } of rows) days[n] = found.map(([day, ms]) => ({ day, ms }));
  return days;
}

interface End {
  /** Time of the days before it is included. */
  readonly day: string;
  /** Milliseconds of the pool that are left for that day. */
  readonly left: number;
  readonly usedMs: number;
}

function endOf(pool: number, { period, days }: { readonly period: string; readonly days: readonly DayMs[] }) {
  const usedMs = days.reduce((sum, { ms }) => sum + ms, 0);
  let left = pool;
  for (const { day, ms } of days) {
    if (left < ms) return { day, left, usedMs };
    left -= ms;
  }
  return { day: monthAfter(period), left: 0, usedMs };
}

type LastRow = DayRow & { readonly ms: string };

/** Rows of the days on which pools end, by the places of their groups. */
async function lastDays(
  sql: SqlTag,
  { period, groups, ends }: Grouped & { readonly ends: readonly End[] },
): Promise<ReadonlyMap<number, readonly LastRow[]>> {
  const asked = asRows(groups).flatMap(({ team_id, n }) => {
    const { day, left } = ends[n] ?? { day: '', left: 0 };
    return left === 0 ? [] : [{ team_id, n, day }];
  });
  const found = new Map<number, LastRow[]>();
  if (asked.length === 0) return found;
  const rows = await sql<Array<LastRow & { readonly n: number }>>`
    select g.n, d.day::text, d.team_id as "teamId", d.meter, d.price_id as "priceId", d.project_id as "projectId", d.environment_id as "environmentId", d.runner_id as "runnerId", d.metered_ms as ms
    from jsonb_to_recordset(${sql.json(asked)}::jsonb) g(team_id text, n int, day date)
    join cost_days d on d.team_id = g.team_id and d.period = ${period}::date and d.day = g.day`;
  for (const { n, ...row } of rows) {
    const theirs = found.get(n);
    if (theirs === undefined) found.set(n, [row]);
    else theirs.push(row);
  }
  return found;
}
