/**
 * Long acts of staff. The row says how far one is, whoever works on it; the call that begins it ends at once.
 *
 *     running ──its result──> done
 *        └──cannot go on────> failed
 *
 * A server holds a task for a minute, and for another one with each step that it notes. When it dies another one takes the task, and what the older one notes afterwards changes nothing.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { and, desc, eq, sql as raw } from 'drizzle-orm';
import { isConnectionError } from '../../base/db/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { auditActor } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { ms } from '../../base/sql.ts';
import type { Looks } from '../billing/index.ts';
import { billingTasks } from './schema.ts';

export type BillingTask = typeof billingTasks.$inferSelect;

const HELD_MS = 60_000;
/** Steps are noted so often. */
const NOTED_EVERY_MS = 500;
const LISTED_MAX = 50;
const KEPT = '90 days';

export type Begun = Pick<BillingTask, 'kind'> & Partial<Pick<BillingTask, 'since'>>;

/** Undefined: one of its kind is at work already. In the transaction of what belongs to it. */
export async function addTask(ctx: Ctx, begun: Begun): Promise<BillingTask | undefined> {
  const createdAt = ctx.clock.now();
  const made = { ...begun, id: newId('btk', createdAt.getTime()), createdAt, dueAt: raw`now()` };
  const by = { actor: auditActor(ctx), requestId: ctx.call.requestId };
  const [row] = await ctx.db.orm
    .insert(billingTasks)
    .values({ ...made, ...by })
    .onConflictDoNothing()
    .returning();
  return row;
}

/** In the transaction that added it. */
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

export async function runningTask(
  { orm }: Pick<Database, 'orm'>,
  kind: BillingTask['kind'],
): Promise<BillingTask | undefined> {
  const isRunning = and(eq(billingTasks.kind, kind), eq(billingTasks.state, 'running'));
  const [row] = await orm.select().from(billingTasks).where(isRunning);
  return row;
}

export async function findTask({ orm }: Pick<Database, 'orm'>, id: string): Promise<BillingTask> {
  const [row] = await orm.select().from(billingTasks).where(eq(billingTasks.id, id));
  if (row === undefined) throw notFound('task');
  return row;
}

/** Newest first. */
export async function listTasks({ orm }: Pick<Database, 'orm'>): Promise<readonly BillingTask[]> {
  return await orm.select().from(billingTasks).orderBy(desc(billingTasks.createdAt)).limit(LISTED_MAX);
}

export async function purgeTasks({ sql }: Pick<Database, 'sql'>): Promise<void> {
  await sql`delete from billing_tasks where state <> 'running' and ended_at < now() - ${KEPT}::interval`;
}

/** One that nobody works on. */
export async function takeTask({
  orm,
  sql,
}: Pick<Database, 'orm' | 'sql'>): Promise<BillingTask | undefined> {
  const [taken] = await sql<Array<{ id: string }>>`
    update billing_tasks set epoch = epoch + 1, due_at = now() + ${ms(sql, HELD_MS)}
    where id = (select id from billing_tasks where state = 'running' and due_at <= now() order by created_at limit 1 for update skip locked)
    returning id`;
  return taken && (await findTask({ orm }, taken.id));
}

class Lost extends Error {}

export interface Noted {
  readonly done: number;
  readonly total: number;
  readonly problem?: string | null;
  /** Default: a minute. */
  readonly againInMs?: number;
}

/** Nobody else takes the task for a while: while its server works on it, or while what it waits for happens by itself. Throws when another server has it by now. */
export async function note(
  { sql }: Pick<Database, 'sql'>,
  { id, epoch }: BillingTask,
  { done, total, problem = null, againInMs = HELD_MS }: Noted,
): Promise<void> {
  const { count } = await sql`
    update billing_tasks set done = ${done}, total = ${total}, problem = ${problem}, due_at = now() + ${ms(sql, againInMs)}
    where id = ${id} and epoch = ${epoch} and state = 'running'`;
  if (count === 0) throw new Lost(`the task ${id} is another server's by now`);
}

/** Notes the first step, and those behind it from time to time. */
export function createNotes(db: Pick<Database, 'sql'>, task: BillingTask): (noted: Noted) => Promise<void> {
  let last = -Infinity;
  return async (noted) => {
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

/** False: another server has ended it. */
export async function endTask(
  { sql }: Pick<Database, 'sql'>,
  { id, epoch }: BillingTask,
  { state, result, problem = null }: Ended,
): Promise<boolean> {
  const { count } = await sql`
    update billing_tasks set state = ${state}, ended_at = now(), problem = ${problem}, done = case when ${state} = 'done' then total else done end,
      result = coalesce(${result === undefined ? null : sql.json(result)}::jsonb, result)
    where id = ${id} and epoch = ${epoch} and state = 'running'`;
  return count === 1;
}

/** Does what one task asks for. What fails by the database's absence is tried again when the task is nobody's any more; all else is its end. Returns whether there may be more. */
export async function workOnOne(db: Database, work: (task: BillingTask) => Promise<void>): Promise<boolean> {
  const task = await takeTask(db);
  if (task === undefined) return false;
  try {
    await work(task);
    return true;
  } catch (error) {
    if (error instanceof Lost || isConnectionError(error)) throw error;
    await endTask(db, task, {
      state: 'failed',
      problem: error instanceof Error ? error.message : String(error),
    });
    throw error;
  }
}
