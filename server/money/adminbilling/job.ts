/** This job does a long act of staff. */
import { isConnectionError } from '../../base/db/index.ts';
import type { System } from '../../kit/feature.ts';
import { doubling, JobFailed, JobNotYet, type JobKind } from '../../kit/jobs/index.ts';
import type { Pricing } from '../amounts/index.ts';
import type { Reconciling } from '../billing/index.ts';
import { workOnClosing } from './closing.ts';
import { followLooks } from './reconciling.ts';
import { BILLING_TASK_JOB, failTask, Lost, takeTask, type BillingTask, type TaskJob } from './tasks.ts';

const HOUR_MS = 3_600_000;
/** These attempts last for some two hours while the database is away. */
const ATTEMPTS = 24;
/** One of each kind is at work. */
const KINDS = 3;

export interface TaskDeps extends Pick<System, 'db' | 'onError'> {
  readonly pricing: Pricing;
  readonly reconciling: Reconciling;
}

/**
 * What fails by the database's absence is tried again, and so is what a worker was cut off from; all else is
 * the end of the task.
 */
export function billingTaskJob(deps: TaskDeps): JobKind<TaskJob> {
  const { db, onError } = deps;
  return {
    kind: BILLING_TASK_JOB,
    attempts: ATTEMPTS,
    backoff: doubling(1_000, HOUR_MS / 10),
    concurrency: KINDS,
    perTeam: KINDS,
    timeoutMs: HOUR_MS,
    run: async ({ payload: { taskId } }, signal) => {
      const task = await takeTask(db, taskId);
      if (task === undefined) return;
      try {
        await work(deps, task, signal);
      } catch (error) {
        const isToGoOn = error instanceof JobNotYet || error instanceof Lost || signal.aborted;
        if (isToGoOn || isConnectionError(error)) throw error;
        onError(error);
        throw new JobFailed(wordsOf(error), { isFinal: true, cause: error });
      }
    },
    gaveUp: async ({ payload: { taskId } }, error) => await failTask(db, taskId, wordsOf(error)),
  };
}

async function work({ reconciling, ...closing }: TaskDeps, task: BillingTask, signal: AbortSignal) {
  if (task.kind === 'reconcile') await followLooks(closing.db, task, reconciling);
  else await workOnClosing(closing, task, signal);
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
