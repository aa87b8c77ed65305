/**
 * Questions to the provider about everything that is open, as a task: they are events of its customers'
 * lanes, which workers handle by themselves.
 */
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { JobNotYet } from '../../kit/jobs/index.ts';
import type { Reconciling } from '../billing/index.ts';
import { addTask, endTask, note, runningTask, withLooks, type BillingTask } from './tasks.ts';

const LOOKED_AFTER_MS = 1_000;

/** The one that is at work, or a new one. */
export async function beginReconciling(ctx: Ctx, reconciling: Reconciling): Promise<BillingTask> {
  reconciling.assertConfigured();
  const task = await ctx.db.transact(async (db) => {
    const added = await addTask({ ...ctx, db }, { kind: 'reconcile' });
    return added && (await withLooks(db, added, await reconciling.begin(db, added.createdAt)));
  });
  return task ?? (await runningTask(ctx.db, 'reconcile')) ?? (await beginReconciling(ctx, reconciling));
}

/** Comes again while some are left: whoever handles them says nothing of it. */
export async function followLooks(
  db: Database,
  task: BillingTask,
  { left: leftOf }: Reconciling,
): Promise<void> {
  const { left, failed } = await leftOf(db.sql, task.createdAt);
  if (left === 0) return void (await endTask(db, task, { state: 'done' }));
  const problem =
    failed === 0 ? null : `${failed} of ${left} that are left failed, and are asked again by themselves`;
  await note(db, task, { done: task.total - left, total: task.total, problem });
  throw new JobNotYet(LOOKED_AFTER_MS);
}
