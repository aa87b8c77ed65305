/**
 * Closing of months, the oldest first, by any number of workers at once. The row of the oldest open month is moved on first: from then on nothing comes into the month behind it, and its statements can
 * be made and recomputed at any time. It is moved on again only when every team of the month before has its statement: after a crash only that one month has to be looked through, however long the
 * history is.
 *
 * A month ends for its closing an hour after its last millisecond, by the clock of the database, which dates reports. While reports of the month wait to be published it stays open, for six hours; then
 * it is closed all the same, and what comes later counts in the next one.
 */
import type { Database, SqlTag } from '../../platform/db/index.ts';
import { teamsWithShortfall } from '../credits/index.ts';
import { monthAfter, monthEnd } from '../plans/index.ts';
import type { Pricing } from '../plans/index.ts';
import { settle } from './settle.ts';

const HOUR_MS = 3_600_000;
const CLOSES_AFTER_MS = HOUR_MS;
const WAITS_MS = 6 * HOUR_MS;
/** A report's event is written by its own statement, which ends long before. */
const WRITTEN_WITHIN = '1 minute';
const TEAMS_AT_ONCE = 1_000;

export interface Closing {
  readonly db: Database;
  readonly pricing: Pricing;
  readonly onError: (error: unknown) => void;
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

export async function openMonth({ sql }: Pick<Database, 'sql'>): Promise<string> {
  const [row] = await sql<Array<{ month: string }>>`select month::text from open_period`;
  if (row === undefined) throw new Error('the row of the oldest open month is missing');
  return row.month;
}

export function monthBefore(period: string): string {
  const first = new Date(`${period}T00:00:00Z`);
  return new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() - 1, 1)).toISOString().slice(0, 10);
}

/** Its end is an hour ago. */
export const isDue = (period: string, now: Date): boolean =>
  now.getTime() >= monthEnd(period).getTime() + CLOSES_AFTER_MS;

/** Which open month is known to have no unfinished one behind it. */
export interface Memory {
  completeBefore?: string;
}

export async function closeDue(closing: Closing, now: Date, memory: Memory = {}): Promise<Closed> {
  const months: ClosedMonth[] = [];
  for (let isFresh = false; ; isFresh = true) {
    const open = await openMonth(closing.db);
    if (memory.completeBefore !== open) {
      const month = await settleAll(closing, { period: monthBefore(open), isFresh, at: now });
      if (isFresh || month.statements > 0) months.push(month);
      memory.completeBefore = open;
    }
    if (!isDue(open, now)) return { months, waiting: undefined };
    const waiting = await waitingFor(closing, open, now);
    if (waiting !== undefined) return { months, waiting };
    await moveOn(closing.db, open);
  }
}

/** Moves the row on, unless another closer has done it. Waits for those who publish at this moment. */
export async function moveOn({ sql }: Pick<Database, 'sql'>, period: string): Promise<void> {
  await sql`update open_period set month = ${monthAfter(period)}::date where month = ${period}::date`;
}

/** What holds the closing up. After six hours nothing does, and an alarm is raised. */
export async function waitingFor(
  { db, onError }: Closing,
  period: string,
  now: Date,
): Promise<Waiting | undefined> {
  const end = monthEnd(period);
  const [row] = await db.sql<Array<{ reports: number }>>`
    select count(*)::int as reports from outbox
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

/** Makes the statements of a closed month that are missing. One that fails leaves the month unfinished, and the others are made. */
async function settleAll(
  { db, pricing, onError }: Closing,
  { at, ...month }: Scan & { readonly at: Date },
): Promise<ClosedMonth> {
  const { period } = month;
  let sum: ClosedMonth = { period, statements: 0, netCents: 0, dueCents: 0 };
  let failed = 0;
  for await (const teamId of teamsToSettle(db, month)) {
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
  /** Closed just now. Of a month that was closed before, teams that only owe a shortfall are left to the next one: theirs may be of today. */
  readonly isFresh: boolean;
}

/**
 * Teams without their statement of a month: those that used something, and those that owe a shortfall of credit. Goes from team to team in the index of the days and reads a row of each, so that it takes as
 * long as there are teams, whatever they used before.
 */
export async function* teamsToSettle(
  { sql }: Pick<Database, 'sql'>,
  { period, isFresh }: Scan,
): AsyncGenerator<string> {
  for (let after = ''; ;) {
    const teams = await sql<Array<{ id: string; isMissing: boolean }>>`
      with recursive t (id, n) as (
        select min(team_id), 1 from cost_days where team_id > ${after}
        union all
        select (select min(d.team_id) from cost_days d where d.team_id > t.id), n + 1 from t where t.id is not null and n < ${TEAMS_AT_ONCE}::int
      )
      select t.id, exists (select from cost_days d where d.team_id = t.id and d.period = ${period}::date)
        and not exists (select from statements s where s.team_id = t.id and s.period = ${period}::date) as "isMissing"
      from t where t.id is not null order by n`;
    for (const { id, isMissing } of teams) if (isMissing) yield id;
    const last = teams.at(-1);
    if (last === undefined || teams.length < TEAMS_AT_ONCE) break;
    after = last.id;
  }
  if (isFresh) yield* await owing(sql, period);
}

/** Those whose statement of the month is there already wait for the next one. */
async function owing(sql: SqlTag, period: string): Promise<string[]> {
  const ids = await teamsWithShortfall(sql);
  if (ids.length === 0) return [];
  const rows = await sql<Array<{ id: string }>>`
    select g.id from unnest(${ids}::text[]) g(id) where not exists (select from statements s where s.team_id = g.id and s.period = ${period}::date)`;
  return rows.map(({ id }) => id);
}
