/**
 * Reads deliveries that came in, in any number of servers at once. Order does not matter: events are joined
 * to what is known. Deliveries of one run that wait together are read in one transaction, which also records
 * their outcome; so a delivery is read for good or not at all, and being read twice changes nothing. One that
 * cannot be read holds up no other one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '@svc/proto/http/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import {
  holdStatus,
  readConnection,
  readWebhook,
  setWebhook,
  type Connection,
} from '../connections/index.ts';
import { PROVIDERS, type JobEvent, type RunReport } from '../providers/index.ts';
import { learnNames, recordEvents, recordJobs, type RunFollower, type Step } from '../runs/index.ts';
import {
  endDeliveries,
  moveToRun,
  postpone,
  takeDueDeliveries,
  type Ending,
  type TakenDelivery,
} from './store.ts';
import { changeOf, whyNotTaken } from './changes.ts';
import { HELD } from './intake.ts';
import { eventName, payloadOf } from './payload.ts';
import { sameRepository } from './same-repository.ts';
import { startLoop, type Loop } from '../../base/loop.ts';

export interface ReadingDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly follow: RunFollower;
  onError(error: unknown): void;
}

/** Other servers take in deliveries that this one is not woken for. */
const EVERY_MS = 1_000;
/**
 * While deliveries come in through this process, a pass is followed by a pause as long as itself: the door
 * goes first, and the next pass finds more of a run together.
 */
const PAUSE_MIN_MS = 25;
const PAUSE_MAX_MS = 500;
/** Bodies that are parsed before the door has its turn again. */
const AT_A_STRETCH = 8;
/** Transactions at once; the rest of the pool is for callers. */
const AT_ONCE = 2;
/** 1 s, 2 s, 4 s … up to 10 min: about an hour in all. */
const ATTEMPTS_MAX = 14;
const WAIT_MAX_MS = 10 * 60_000;

export function startReading(deps: ReadingDeps): Loop {
  let doorIsBusy = false;
  const loop = startLoop({
    everyMs: EVERY_MS,
    onError: deps.onError,
    run: async () => {
      doorIsBusy = false;
      const beganMs = deps.clock.monotonicMs();
      const taken = await readDue(deps);
      const tookMs = deps.clock.monotonicMs() - beganMs;
      if (doorIsBusy) await sleep(Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, tookMs)));
      return taken > 0;
    },
  });
  return {
    stop: loop.stop,
    wake: () => {
      doorIsBusy = true;
      loop.wake();
    },
  };
}

/** A delivery that reports a run. */
interface RunDelivery {
  readonly taken: TakenDelivery;
  readonly event: string | undefined;
  readonly report: RunReport;
}

/** Deliveries about the same run. */
interface Group {
  readonly connection: Connection;
  readonly deliveries: readonly RunDelivery[];
}

/** Makes one pass. Returns how many deliveries were taken. */
export async function readDue(deps: ReadingDeps): Promise<number> {
  const { db } = deps;
  const taken = await takeDueDeliveries(db.sql);
  const endings: Ending[] = [];
  const groups: Group[] = [];
  for (const [connectionId, ofConnection] of groupBy(taken, (one) => one.connectionId)) {
    try {
      const read = await readAll(db, connectionId, ofConnection);
      endings.push(...read.endings);
      groups.push(...read.groups);
    } catch (error) {
      deps.onError(error); // They come again when their claim is over, and those of others go on.
    }
  }
  await endDeliveries(db.sql, endings);
  const queue = groups.values();
  const work = async (): Promise<void> => {
    for (const group of queue) await recordGroup(deps, group);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return taken.length;
}

async function readAll(db: Database, connectionId: string, taken: readonly TakenDelivery[]) {
  const connection = await readConnection(db, connectionId);
  const endings: Ending[] = [];
  const read: RunDelivery[] = [];
  // A connection that was deleted took its deliveries along.
  if (connection === undefined) return { endings, groups: [] };
  let pinned = (await readWebhook(db, connectionId))?.repositoryId ?? null;
  const pinnedBefore = pinned;
  for (const [n, one] of taken.entries()) {
    if (n % AT_A_STRETCH === AT_A_STRETCH - 1) await new Promise((resolve) => setImmediate(resolve));
    const outcome = readOne(connection, pinned, one);
    if ('state' in outcome) {
      endings.push(outcome);
      continue;
    }
    pinned = outcome.pin ?? pinned;
    read.push(outcome);
  }
  if (pinned !== null && pinned !== pinnedBefore)
    await setWebhook(db, connectionId, { repositoryId: pinned });
  const runs = groupBy(read, ({ report: { run } }) => `${run.externalAttempt} ${run.externalRunId}`);
  return { endings, groups: [...runs.values()].map((deliveries) => ({ connection, deliveries })) };
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Reads one delivery without any side effect. */
function readOne(
  connection: Connection,
  pinned: string | null,
  taken: TakenDelivery,
): Ending | (RunDelivery & { readonly pin?: string | undefined }) {
  const { provider } = connection;
  const { id, headers, body } = taken;
  const found = payloadOf(provider, body);
  if ('problem' in found) return { id, state: 'failed', detail: found.problem };
  const event = eventName(provider, headers, found.payload);
  const report = PROVIDERS[provider].normalise(
    headers,
    found.payload,
    connection.genericMapping ?? undefined,
  );
  if ('ignored' in report) return { id, state: 'ignored', event, detail: report.ignored };
  const verdict = sameRepository(connection, pinned, report.repository);
  if (!verdict.same) return { id, state: 'ignored', event, detail: verdict.detail };
  return { taken, event, report, pin: verdict.pin };
}

/**
 * This records the deliveries together. If that fails, it records each by itself, so that a bad one is found.
 * Rejects only when the database is gone.
 */
async function recordGroup(deps: ReadingDeps, group: Group, withoutJobs?: string): Promise<void> {
  try {
    await recordTogether(deps, group, withoutJobs);
  } catch (error) {
    const [first] = group.deliveries;
    // The end of a run is recorded, however many jobs it has.
    if (withoutJobs === undefined && error instanceof ApiError && error.code === 'limit_reached')
      return await recordGroup(deps, group, `its jobs are left out: ${error.message}`);
    if (group.deliveries.length > 1)
      for (const delivery of group.deliveries) await recordGroup(deps, { ...group, deliveries: [delivery] });
    else if (first !== undefined) await giveBack(deps, first, error);
  }
}

async function recordTogether(
  { db, clock, follow }: ReadingDeps,
  { connection, deliveries }: Group,
  withoutJobs: string | undefined,
): Promise<void> {
  const [first] = deliveries;
  if (first === undefined) return;
  const name = first.report.run;
  const aliases = [...new Set(deliveries.flatMap(({ report }) => report.aliases))];
  const events = deliveries.map(({ report }) => report.event);
  await db.transact(async (tx) => {
    const recording = { db: tx, connection, now: clock.now(), follow };
    // It came before the connection was paused, and is read when that is over.
    if ((await holdStatus(tx, connection)) === 'paused')
      return await endDeliveries(
        tx.sql,
        deliveries.map(({ taken: { id }, event }) => ({ id, state: 'held', event, detail: HELD })),
      );
    await learnNames(
      recording,
      { ...name, aliases },
      async (joined) => await moveToRun(tx, connection.id, joined),
    );
    const { run, steps } = await recordEvents(recording, name, () => events);
    const current = deliveries.filter((_one, n) => steps[n]?.kind !== 'over');
    const jobs = withoutJobs === undefined ? current.flatMap((one) => one.report.jobs) : [];
    const { accepted } = await recordJobs(recording, run, jobs);
    const endings = deliveries.map((one, n) =>
      endingOf(one, steps[n], { runId: run.id, withoutJobs, accepted }),
    );
    await endDeliveries(tx.sql, endings);
  });
}

interface RecordedTogether {
  readonly runId: string;
  readonly withoutJobs: string | undefined;
  readonly accepted: ReadonlySet<JobEvent>;
}

function endingOf(
  { taken: { id }, event, report }: RunDelivery,
  step: Step | undefined,
  together: RecordedTogether,
): Ending {
  if (step === undefined) throw new Error(`delivery ${id} was not recorded`);
  const { runId, withoutJobs } = together;
  const ignored = whyNotTaken(report.event, step);
  if (ignored !== undefined) return { id, state: 'ignored', event, detail: ignored, runId };
  const jobs = report.jobs.filter((job) => together.accepted.has(job)).length;
  return { id, state: 'processed', event, detail: withoutJobs, changed: changeOf(step, jobs), runId };
}

/** Puts a delivery back to be read later: the failure may pass. */
async function giveBack(
  { db, onError }: ReadingDeps,
  { taken, event }: RunDelivery,
  error: unknown,
): Promise<void> {
  onError(error);
  if (taken.attempts < ATTEMPTS_MAX) {
    await postpone(db, taken.id, Math.min(1_000 * 2 ** (taken.attempts - 1), WAIT_MAX_MS));
    return;
  }
  const detail = `it could not be read in ${taken.attempts} attempts; operators were told`;
  await endDeliveries(db.sql, [{ id: taken.id, state: 'failed', event, detail }]);
}
