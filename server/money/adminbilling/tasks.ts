/**
 * This file keeps long acts of staff. The row says what one is, how far it is and what it came to, and its
 * job does it. The call that begins it ends at once.
 *
 *     running ──its result──> done
 *        └──cannot go on────> failed
 *
 * A job whose worker dies is done again from where the act is. What the older attempt notes afterwards
 * changes nothing, because each attempt has another epoch.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { and, desc, eq, sql as raw } from 'drizzle-orm';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { addJob, missingJobsAdded } from '../../kit/jobs/index.ts';
import { auditActor } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';
import type { Looks } from '../billing/index.ts';
import { billingTasks } from './schema.ts';

export type BillingTask = typeof billingTasks.$inferSelect;

export const BILLING_TASK_JOB = 'billing.task';

export interface TaskJob {
  readonly [name: string]: unknown;
  readonly taskId: string;
}

/** Steps are noted so often. */
const NOTED_EVERY_MS = 500;
const LISTED_MAX = 50;
const KEPT = '90 days';

export type Begun = Pick<BillingTask, 'kind'> & Partial<Pick<BillingTask, 'since'>>;

/**
 * This adds a task with its job, in the transaction of what belongs to it. It returns undefined when one of
 * its kind is at work already.
 */
export async function addTask(ctx: Ctx, begun: Begun): Promise<BillingTask | undefined> {
  const createdAt = ctx.clock.now();
  const made = { ...begun, id: newId('btk', createdAt.getTime()), createdAt };
  const by = { actor: auditActor(ctx), requestId: ctx.call.requestId };
  return await ctx.db.transact(async (db) => {
    const [row] = await db.orm
      .insert(billingTasks)
      .values({ ...made, ...by })
      .onConflictDoNothing()
      .returning();
    if (row === undefined) return undefined;
    await addJob(db, jobOf(row));
    return row;
  });
}

function jobOf({ id, kind }: Pick<BillingTask, 'id' | 'kind'>) {
  const payload: TaskJob = { taskId: id };
  return { teamId: null, kind: BILLING_TASK_JOB, key: id, lane: `${BILLING_TASK_JOB} ${kind}`, payload };
}

/** This is called in the transaction that added the task. */
export async function withLooks(
  { orm }: Pick<Database, 'orm'>,
  { id }: BillingTask,
  looks: Looks,
): Promise<BillingTask | undefined> {
  const total = looks.checkouts + looks.accounts + looks.statements;
  const of = eq(billingTasks.id, id);
  const [row] = await orm.update(billingTasks).set({ total, result: { looks } }).where(of).returning();
  return row;
}

/** The one that is at work. One that a server of before began has no job, and gets it here. */
export async function runningTask(
  { orm, sql }: Pick<Database, 'orm' | 'sql'>,
  kind: BillingTask['kind'],
): Promise<BillingTask | undefined> {
  const isRunning = and(eq(billingTasks.kind, kind), eq(billingTasks.state, 'running'));
  const [row] = await orm.select().from(billingTasks).where(isRunning);
  if (row === undefined) return undefined;
  const { key, lane, payload } = jobOf(row);
  const missing = sql`select null as team_id, ${lane}::text as lane, ${key}::text as key, ${sql.json(payload)}::jsonb as payload`;
  await sql`with added as (${missingJobsAdded(sql, { kind: BILLING_TASK_JOB, inMs: 0 }, missing)}) select 1`;
  return row;
}

export async function findTask({ orm }: Pick<Database, 'orm'>, id: string): Promise<BillingTask> {
  const [row] = await orm.select().from(billingTasks).where(eq(billingTasks.id, id));
  if (row === undefined) throw notFound('task');
  return row;
}

/** This returns the newest first, at most 50. */
export async function listTasks({ orm }: Pick<Database, 'orm'>): Promise<readonly BillingTask[]> {
  return await orm.select().from(billingTasks).orderBy(desc(billingTasks.createdAt)).limit(LISTED_MAX);
}

export async function purgeTasks({ sql }: Pick<Database, 'sql'>): Promise<void> {
  await sql`delete from billing_tasks where state <> 'running' and ended_at < now() - ${KEPT}::interval`;
}

/** Takes the task for one attempt of its job. Returns undefined when the task has ended. */
export async function takeTask({ orm }: Pick<Database, 'orm'>, id: string): Promise<BillingTask | undefined> {
  const [row] = await orm
    .update(billingTasks)
    .set({ epoch: raw`${billingTasks.epoch} + 1` })
    .where(and(eq(billingTasks.id, id), eq(billingTasks.state, 'running')))
    .returning();
  return row;
}

/** Another attempt has the task by now. */
export class Lost extends Error {}

export interface Noted {
  readonly done: number;
  readonly total: number;
  readonly problem?: string | null;
}

/** Throws when another attempt has the task by now. */
export async function note(
  { sql }: Pick<Database, 'sql'>,
  { id, epoch }: BillingTask,
  { done, total, problem = null }: Noted,
): Promise<void> {
  const { count } = await sql`
    update billing_tasks set done = ${done}, total = ${total}, problem = ${problem} where id = ${id} and epoch = ${epoch} and state = 'running'`;
  if (count === 0) throw new Lost(`the task ${id} is another attempt's by now`);
}

/**
 * Returns a function that notes the first step, and later ones every half second. It throws at the next step
 * when the attempt is to end.
 */
export function createNotes(
  db: Pick<Database, 'sql'>,
  task: BillingTask,
  signal: AbortSignal,
): (noted: Noted) => Promise<void> {
  let last = -Infinity;
  return async (noted) => {
    signal.throwIfAborted();
    const now = performance.now();
    if (noted.done > 0 && now - last < NOTED_EVERY_MS) return;
    last = now;
    await note(db, task, noted);
  };
}

export interface Ended {
  readonly state: 'done' | 'failed';
  readonly result?: BillingTask['result'];
  readonly problem?: string | null;
}

/** Ends the task. Returns false when another attempt has it, or has ended it. */
export async function endTask(
  { sql }: Pick<Database, 'sql'>,
  { id, epoch }: Pick<BillingTask, 'id' | 'epoch'>,
  { state, result, problem = null }: Ended,
): Promise<boolean> {
  const { count } = await sql`
    update billing_tasks set state = ${state}, ended_at = now(), problem = ${problem}, done = case when ${state} = 'done' then total else done end,
      result = coalesce(${result === undefined ? null : sql.json(result)}::jsonb, result)
    where id = ${id} and epoch = ${epoch} and state = 'running'`;
  return count === 1;
}

/** No attempt is left. */
export async function failTask({ sql }: Pick<Database, 'sql'>, id: string, problem: string): Promise<void> {
  await sql`
    update billing_tasks set state = 'failed', ended_at = now(), problem = ${problem} where id = ${id} and state = 'running'`;
}
