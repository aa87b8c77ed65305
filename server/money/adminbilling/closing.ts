/**
 * Closing of months by staff, as a task: what the loop of statements.ts does by itself, now, with what it
 * came to.
 */
import { apiError, type ApiError } from '@svc/proto/http/errors.ts';
import type { Ctx } from '../../kit/context.ts';
import { appendAudit, PLATFORM_CHAIN } from '../../kit/ledger/index.ts';
import { databaseNow } from '../../base/sql.ts';
import {
  closeDue,
  closedSince,
  isDue,
  openMonth,
  rehearse,
  unsettledMonth,
  waitingFor,
  type Closing,
  type Waiting,
} from '../statements/index.ts';
import { addTask, createNotes, endTask, runningTask, type BillingTask } from './tasks.ts';

type ClosingDeps = Omit<Closing, 'onProgress'>;

/**
 * The one that is at work, or a new one. Throws `state_conflict` when the only month that is due waits for
 * reports.
 */
export async function beginClosing(ctx: Ctx, deps: ClosingDeps, dryRun: boolean): Promise<BillingTask> {
  const kind = dryRun ? 'rehearse' : 'close';
  const { db } = ctx;
  const since = await unsettledMonth(db);
  const open = await openMonth(db);
  const now = await databaseNow(db.sql);
  if (since === open && isDue(open, now)) {
    const waiting = await waitingFor({ ...deps, db, onError: () => undefined }, open, now);
    if (waiting !== undefined) throw held(waiting);
  }
  const task = (await addTask(ctx, { kind, since })) ?? (await runningTask(db, kind));
  // It ended this very moment.
  return task ?? (await beginClosing(ctx, deps, dryRun));
}

function held({ period, reports }: Waiting): ApiError {
  return apiError('state_conflict', words({ period, reports }), {
    details: { resource: 'month', period: period.slice(0, 7), reports },
  });
}

const words = ({ period, reports }: Waiting): string =>
  `${reports} reports of ${period.slice(0, 7)} are not published yet; the month is closed when they are, or six hours after its end`;

/**
 * The months of before a closing that was cut off belong to what it came to, whoever made their statements.
 */
export async function workOnClosing(
  deps: ClosingDeps,
  task: BillingTask,
  signal: AbortSignal,
): Promise<void> {
  const { db } = deps;
  const onProgress = createNotes(db, task, signal);
  const now = await databaseNow(db.sql);
  const open = await openMonth(db);
  const isRehearsed = task.kind === 'rehearse';
  const closed = await (isRehearsed ? rehearse : closeDue)({ ...deps, onProgress }, now);
  const months = isRehearsed ? closed.months : await closedSince(db, task.since ?? open);
  const result = { months: months.map((month) => ({ ...month, period: month.period.slice(0, 7) })) };
  const problem = closed.waiting && words(closed.waiting);
  await db.transact(async (tx) => {
    if (!(await endTask(tx, task, { state: 'done', result, ...(problem && { problem }) })) || isRehearsed)
      return;
    const { actor, requestId } = task;
    for (const { period: target, ...details } of result.months) {
      const act = { chain: PLATFORM_CHAIN, action: 'month.closed', target, details, actor, requestId };
      await appendAudit(tx, act, now);
    }
  });
}
