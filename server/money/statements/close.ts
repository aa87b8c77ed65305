/**
 * Closing of months, the oldest first, by any number of workers at once. The row of the oldest open month is
 * moved on first: from then on nothing comes into the month behind it, and its statements can be made and
 * recomputed at any time. That row also says which month has all of its statements, and is moved on again
 * only when the month before has them: after a crash only that one month has to be looked through, however
 * long the history is.
 *
 * A month ends for its closing an hour after its last millisecond, by the clock of the database, which dates
 * reports. While reports of the month wait to be published it stays open, for six hours; then it is closed
 * all the same, and what comes later counts in the next one.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../base/db/index.ts';
import { teamsWithShortfall } from '../credits/index.ts';
import { METERED } from '../metering/index.ts';
import { monthAfter, monthEnd, type Pricing } from '../plans/index.ts';
import { settle } from './settle.ts';

const HOUR_MS = 3_600_000;
const CLOSES_AFTER_MS = HOUR_MS;
const WAITS_MS = 6 * HOUR_MS;
/** A report's event is written by its own statement, which ends long before. */
const WRITTEN_WITHIN = '1 minute';
const TEAMS_AT_ONCE = 1_000;

export interface Progress {
  /** Teams of the month that is being closed, of those that had no statement when it began. */
  readonly done: number;
  readonly total: number;
}

export interface Closing {
  readonly db: Database;
  readonly pricing: Pricing;
  readonly onError: (error: unknown) => void;
  /** This runs before each team. An error of it ends the closing there. */
  readonly onProgress?: (progress: Progress) => Promise<void>;
}

export interface ClosedMonth {
  /** First day of the month. */
  readonly period: string;
  readonly statements: number;
  readonly netCents: number;
  readonly dueCents: number;
}

/** Reports of the month that are not published yet. */
export interface Waiting {
  readonly period: string;
  readonly reports: number;
}

export interface Closed {
  readonly months: readonly ClosedMonth[];
  /** Why no more were closed. Undefined: no more were due. */
  readonly waiting: Waiting | undefined;
}

interface OpenPeriod {
  /** Oldest open month. */
  readonly month: string;
  /** The month that was last known to have all of its statements. */
  readonly settledMonth: string | null;
}

async function openPeriod({ sql }: Pick<Database, 'sql'>): Promise<OpenPeriod> {
  const [row] = await sql<OpenPeriod[]>`
    select month::text, settled_month::text as "settledMonth" from open_period`;
  if (row === undefined) throw new Error('the row of the oldest open month is missing');
  return row;
}

export async function openMonth(db: Pick<Database, 'sql'>): Promise<string> {
  return (await openPeriod(db)).month;
}

/** The oldest month that lacks statements: the open one, or the one before it, whose closing was cut off. */
export async function unsettledMonth(db: Pick<Database, 'sql'>): Promise<string> {
  const { month, settledMonth } = await openPeriod(db);
  const before = monthBefore(month);
  if (settledMonth === before) return month;
  return (await teamsToSettle(db, { period: before, isFresh: false })).length > 0 ? before : month;
}

export function monthBefore(period: string): string {
  const first = new Date(`${period}T00:00:00Z`);
  return new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() - 1, 1)).toISOString().slice(0, 10);
}

/** Its end is an hour ago. */
export const isDue = (period: string, now: Date): boolean =>
  now.getTime() >= monthEnd(period).getTime() + CLOSES_AFTER_MS;

export async function closeDue(closing: Closing, now: Date): Promise<Closed> {
  const { db } = closing;
  const months: ClosedMonth[] = [];
  for (let isFresh = false; ; isFresh = true) {
    const { month: open, settledMonth } = await openPeriod(db);
    const before = monthBefore(open);
    if (settledMonth !== before) {
      const month = await settleAll(closing, { period: before, isFresh, at: now });
      if (isFresh || month.statements > 0) months.push(month);
      await markSettled(db, before);
    }
    if (!isDue(open, now)) return { months, waiting: undefined };
    const waiting = await waitingFor(closing, open, now);
    if (waiting !== undefined) return { months, waiting };
    await moveOn(db, open);
  }
}

async function markSettled({ sql }: Pick<Database, 'sql'>, period: string): Promise<void> {
  await sql`
    update open_period set settled_month = ${period}::date
    where month = ${monthAfter(period)}::date and settled_month is distinct from ${period}::date`;
}

/** Moves the row on, unless another closer has done it. Waits for those who publish at this moment. */
export async function moveOn({ sql }: Pick<Database, 'sql'>, period: string): Promise<void> {
  await sql`update open_period set month = ${monthAfter(period)}::date where month = ${period}::date`;
}

/** Returns what holds the closing up. After six hours nothing does, and an alarm is raised. */
export async function waitingFor(
  { db, onError }: Closing,
  period: string,
  now: Date,
): Promise<Waiting | undefined> {
  const end = monthEnd(period);
  const [row] = await db.sql<Array<{ reports: number }>>`
    select count(*)::int as reports
    from (
      select created_at, kind, payload from outbox
      union all select created_at, kind, payload from outbox_parked where effect = ${METERED}
    ) o
    where created_at < ${end}::timestamptz + ${WRITTEN_WITHIN}::text::interval and kind = 'work.finished' and (payload ->> 'finishedAt')::timestamptz < ${end}`;
  const reports = row?.reports ?? 0;
  if (reports === 0) return undefined;
  if (now.getTime() < end.getTime() + WAITS_MS) return { period, reports };
  onError(
    new Error(
      `${reports} reports of ${period.slice(0, 7)} are not published 6 h after its end: it is closed without them, and they count in the next month`,
    ),
  );
  return undefined;
}

/**
 * Makes the statements of a closed month that are missing. One that fails leaves the month unfinished, and
 * the others are made.
 */
async function settleAll(
  { db, pricing, onError, onProgress }: Closing,
  { at, ...month }: Scan & { readonly at: Date },
): Promise<ClosedMonth> {
  const { period } = month;
  let sum: ClosedMonth = { period, statements: 0, netCents: 0, dueCents: 0 };
  let failed = 0;
  const teamIds = await teamsToSettle(db, month);
  for (const [done, teamId] of teamIds.entries()) {
    await onProgress?.({ done, total: teamIds.length });
    try {
      const made = await settle(db, pricing, { teamId, period, at });
      if (made !== undefined) sum = added(sum, made);
    } catch (error) {
      failed += 1;
      onError(new Error(`the statement of ${teamId} for ${period.slice(0, 7)} failed`, { cause: error }));
    }
  }
  if (failed > 0)
    throw new Error(
      `${failed} statements of ${period.slice(0, 7)} are missing: the next month stays open until they are made`,
    );
  return sum;
}

export function added(
  sum: ClosedMonth,
  { netCents, dueCents }: Pick<ClosedMonth, 'netCents' | 'dueCents'>,
): ClosedMonth {
  return {
    period: sum.period,
    statements: sum.statements + 1,
    netCents: sum.netCents + netCents,
    dueCents: sum.dueCents + dueCents,
  };
}

export interface Scan {
  readonly period: string;
  /**
   * Closed just now. Of a month that was closed before, teams that only owe a shortfall are left to the next
   * one: theirs may be of today.
   */
  readonly isFresh: boolean;
}

/**
 * This returns teams without their statement of a month: those that used something, and those that owe a
 * shortfall of credit. It goes from team to team in the index of the days and reads a row of each, so that it
 * takes as long as there are teams, whatever they used before.
 */
export async function teamsToSettle(
  { sql }: Pick<Database, 'sql'>,
  { period, isFresh }: Scan,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (let after = ''; ;) {
    const teams = await sql<Array<{ id: string; isMissing: boolean }>>`
      with recursive t (id, n) as (
        select min(team_id), 1 from cost_days where team_id > ${after}
        union all
        select (select min(d.team_id) from cost_days d where d.team_id > t.id), n + 1 from t where t.id is not null and n < ${TEAMS_AT_ONCE}::int
      )
      select t.id, exists (select from cost_days d where d.team_id = t.id and d.period = ${period}::date)
        and not exists (select from settled_months s where s.team_id = t.id and s.period = ${period}::date) as "isMissing"
      from t where t.id is not null order by n`;
    found.push(...teams.filter(({ isMissing }) => isMissing).map(({ id }) => id));
    const last = teams.at(-1);
    if (last === undefined || teams.length < TEAMS_AT_ONCE) break;
    after = last.id;
  }
  return isFresh ? [...found, ...(await owing(sql, period))] : found;
}

/** Those whose statement of the month is there already wait for the next one. */
async function owing(sql: SqlTag, period: string): Promise<string[]> {
  const ids = await teamsWithShortfall(sql);
  if (ids.length === 0) return [];
  const rows = await sql<Array<{ id: string }>>`
    select g.id from unnest(${ids}::text[]) g(id) where not exists (select from settled_months s where s.team_id = g.id and s.period = ${period}::date)`;
  return rows.map(({ id }) => id);
}

/**
 * Closed months from one on, oldest first, as they stand now, whoever made their statements. A month without
 * any is there with zeros.
 */
export async function closedSince(
  { sql }: Pick<Database, 'sql'>,
  since: string,
): Promise<readonly ClosedMonth[]> {
  return await sql<ClosedMonth[]>`
    select m.period::date::text as period, count(s.id)::int as statements, coalesce(sum(s.net_cents), 0)::bigint as "netCents", coalesce(sum(s.due_cents), 0)::bigint as "dueCents"
    from open_period o cross join lateral generate_series(${since}::date::timestamp, o.month - interval '1 month', interval '1 month') m(period)
    left join statements s on s.period = m.period::date
    group by m.period order by m.period`;
}
