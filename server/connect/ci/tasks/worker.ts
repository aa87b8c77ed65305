/**
 * Does what is due, in any number of servers at once. A task that meets a passing failure of its provider is put back, for as long as the provider
 * asks or twice as long as the time before, and given up after a number of attempts; every other failure ends it. What a task did must bear
 * being done twice: a worker that dies before it says so leaves the task to another one.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/index.ts';
import { readConnection } from '../connections-store.ts';
import type { Connection } from '../connections-store.ts';
import { ForgeError } from '../forges/call.ts';
import { CLAIM_MS, finish, keepQuiet, putBack, takeDue } from './store.ts';
import type { Task, TaskKind } from './store.ts';
import { startLoop } from '../../../platform/loop.ts';
import type { Loop } from '../../../platform/loop.ts';

export interface TaskHandler {
  /** A passing ForgeError puts the task back, any other one is told to `gaveUp`. Ends soon after `signal` does. */
  run(task: Task, connection: Connection, signal: AbortSignal): Promise<void>;
  /** The last word; what it throws is logged and the task tried again. */
  gaveUp(task: Task, connection: Connection, error: ForgeError): Promise<void>;
}

/** Kinds without a handler are left for servers that have one. */
export type TaskHandlers = Readonly<Partial<Record<TaskKind, TaskHandler>>>;

export interface TasksDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly handlers: TaskHandlers;
  onError(error: unknown): void;
}

const EVERY_MS = 1_000;
/** Of one server; of one team in all servers, so that a team with a slow host does not take all. */
const AT_ONCE = 16;
const OF_TEAM_MAX = 4;
/** Before the claim ends, so that nobody does it a second time at the same time. */
const TASK_MS = CLAIM_MS - 30_000;
/** 5 s, 10 s, 20 s … up to an hour: some 5 hours in all. */
const FIRST_WAIT_MS = 5_000;
const WAIT_MAX_MS = 3_600_000;
export const ATTEMPTS_MAX = 14;

/** Takes as many as are free to be done, and begins them. What is returned never fails. */
export async function beginDue(
  deps: TasksDeps,
  signal: AbortSignal,
  free = AT_ONCE,
): Promise<ReadonlyArray<Promise<void>>> {
  const { db, clock, handlers } = deps;
  const kinds = Object.keys(handlers) as TaskKind[];
  const due = await takeDue(db, { kinds, take: free, ofTeamMax: OF_TEAM_MAX, now: clock.now() });
  return due.map(async (task) => {
    try {
      await withTimeLimit(signal, async (limited) => await doTask(deps, task, limited));
    } catch (error) {
      if (!signal.aborted) deps.onError(error);
      const wait = signal.aborted ? 0 : waitOf(task.attempts);
      await putBack(db.sql, task, later(clock, wait)).catch(deps.onError);
    }
  });
}

async function doTask(
  { db, clock, handlers, onError }: TasksDeps,
  task: Task,
  signal: AbortSignal,
): Promise<void> {
  const connection = (await readConnection(db, task.connectionId)) ?? deletedOne(task);
  const handler = handlers[task.kind];
  if (connection === undefined || handler === undefined) return await finish(db, task);
  try {
    await handler.run(task, connection, signal);
  } catch (error) {
    const isLast = task.attempts >= ATTEMPTS_MAX;
    if (signal.aborted && !isLast) throw error; // What it says is our own doing.
    if (!(error instanceof ForgeError)) {
      if (!isLast) throw error;
      onError(error);
      await handler.gaveUp(task, connection, OWN_FAILURE);
      return await finish(db, task);
    }
    if (error.passing && !isLast) return await again({ db, clock }, task, error);
    await handler.gaveUp(task, connection, error);
  }
  await finish(db, task);
}

const OWN_FAILURE = new ForgeError(
  'answer_invalid',
  'it failed within this service, whose operators were told',
);

async function again(
  { db, clock }: Pick<TasksDeps, 'db' | 'clock'>,
  task: Task,
  { retryAfterMs }: ForgeError,
): Promise<void> {
  const dueAt = later(clock, retryAfterMs ?? waitOf(task.attempts));
  if (retryAfterMs !== undefined) await keepQuiet(db.sql, task, dueAt);
  await putBack(db.sql, task, dueAt);
}

/** A task that outlives its connection brings what it needs of it. */
function deletedOne({ payload }: Task): Connection | undefined {
  return payload['connection'] as Connection | undefined;
}

async function withTimeLimit(
  signal: AbortSignal,
  work: (limited: AbortSignal) => Promise<void>,
): Promise<void> {
  const limit = new AbortController();
  const abort = (): void => limit.abort();
  if (signal.aborted) abort();
  const timer = setTimeout(abort, TASK_MS);
  signal.addEventListener('abort', abort);
  try {
    await work(limit.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

const waitOf = (attempts: number): number => Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), WAIT_MAX_MS);
const later = (clock: Clock, ms: number): Date => new Date(clock.now().getTime() + ms);

export function startTasks(deps: TasksDeps): Loop {
  const stopping = new AbortController();
  const atWork = new Set<Promise<void>>();
  const loop = startLoop({
    everyMs: EVERY_MS,
    onError: deps.onError,
    run: async () => {
      const begun = await beginDue(deps, stopping.signal, AT_ONCE - atWork.size);
      for (const work of begun) {
        atWork.add(work);
        void work.then(() => {
          atWork.delete(work);
          loop.wake(); // There is room again, and the lane is free.
        });
      }
      return false;
    },
  });
  return {
    wake: loop.wake,
    stop: async () => {
      stopping.abort();
      await loop.stop();
      await Promise.all(atWork);
    },
  };
}
