/** A closing that writes nothing: what is due is settled team by team, and each transaction is undone. */
import type { Database } from '../../base/db/index.ts';
import { monthAfter } from '../plans/index.ts';
import {
  added,
  isDue,
  monthBefore,
  openMonth,
  teamsToSettle,
  waitingFor,
  type Closed,
  type ClosedMonth,
  type Closing,
} from './close.ts';
import { settle, type Figures } from './settle.ts';

class Undone extends Error {}

/** The figures that `closeDue` would have. */
export async function rehearse(closing: Omit<Closing, 'onError'>, now: Date): Promise<Closed> {
  const { db } = closing;
  const open = await openMonth(db);
  const periods = [monthBefore(open)];
  const months: ClosedMonth[] = [];
  for (let next = open; ; next = monthAfter(next)) {
    const month = await rehearseMonth(closing, periods, now);
    if (periods.length > 1 || month.statements > 0) months.push(month);
    if (!isDue(next, now)) return { months, waiting: undefined };
    const waiting = await waitingFor({ ...closing, onError: () => undefined }, next, now);
    if (waiting !== undefined) return { months, waiting };
    periods.push(next);
  }
}

/**
 * This returns the figures of the last of these months. The earlier ones take their part of the credit first.
 */
async function rehearseMonth(
  { db, pricing, onProgress }: Omit<Closing, 'onError'>,
  periods: readonly string[],
  at: Date,
): Promise<ClosedMonth> {
  const period = periods.at(-1) ?? '';
  let sum: ClosedMonth = { period, statements: 0, netCents: 0, dueCents: 0 };
  const teamIds = await teamsToSettle(db, { period, isFresh: periods.length > 1 });
  for (const [done, teamId] of teamIds.entries()) {
    await onProgress?.({ done, total: teamIds.length });
    const made = await undone(db, async (tx) => {
      let last: Figures | undefined;
      for (const each of periods) last = await settle(tx, pricing, { teamId, period: each, at });
      return last;
    });
    if (made !== undefined) sum = added(sum, made);
  }
  return sum;
}

async function undone<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T | undefined> {
  let result: T | undefined;
  try {
    await db.transact(async (tx) => {
      result = await work(tx);
      throw new Undone();
    });
  } catch (error) {
    if (!(error instanceof Undone)) throw error;
  }
  return result;
}
