/** A connection has jobs, which send requests to its repository's host in the background. */
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import { addJob, doubling, JobNotYet, type Job, type JobKind, type Payload } from '../../kit/jobs/index.ts';
import { ForgeError } from '../providers/index.ts';
import { keepQuiet, readConnection, type Connection } from './rows.ts';

export interface HostRequest {
  readonly kind: ConnectionJob['kind'];
  /** It names the job within its connection and kind. */
  readonly key: string;
  /** Default: the connection's own. */
  readonly lane?: string;
  readonly payload?: Payload;
}

/** It is called in the transaction that makes the request necessary. */
export async function askHost(
  db: Database,
  { id, teamId }: Pick<Connection, 'id' | 'teamId'>,
  { kind, key, lane = id, payload = {} }: HostRequest,
): Promise<void> {
  await addJob(db, { teamId, kind, key: `${id} ${key}`, lane, payload: { connectionId: id, ...payload } });
}

type Limits = Pick<JobKind, 'attempts' | 'patienceMs' | 'concurrency' | 'timeoutMs'>;

export interface ConnectionJob extends Partial<Limits> {
  readonly kind:
    | 'ci_discover'
    | 'ci_subscribe'
    | 'ci_unsubscribe'
    | 'ci_commit_status'
    | 'ci_poll_run'
    | 'ci_list_repositories';
  run(connection: Connection, job: Job, signal: AbortSignal): Promise<void>;
  gaveUp(connection: Connection, error: unknown, job: Job): Promise<void>;
}

/** The attempts take some 5 hours in all. */
const DEFAULTS: Limits = { attempts: 14, concurrency: 8, timeoutMs: 4.5 * 60_000 };
const WAITS = doubling(5_000, 3_600_000);
const PER_TEAM = 4;

/**
 * While the host of a connection asks to be left alone, none of its jobs begins, whichever it is. One whose
 * connection was deleted is done.
 */
export function connectionJob(
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  { run, gaveUp, ...kind }: ConnectionJob,
): JobKind {
  return {
    ...DEFAULTS,
    ...kind,
    backoff: WAITS,
    perTeam: PER_TEAM,
    run: async (job, signal) => {
      const connection = await connectionOf(db, job);
      if (connection === undefined) return;
      const quietMs = new Date(connection.quietUntil ?? 0).getTime() - clock.now().getTime();
      if (quietMs > 0) throw new JobNotYet(quietMs);
      try {
        await run(connection, job, signal);
      } catch (error) {
        const quiet = error instanceof ForgeError && !error.isFinal ? error.retryInMs : undefined;
        if (job.retryInMs !== undefined && quiet !== undefined && quiet <= (kind.patienceMs ?? Infinity))
          await keepQuiet(db, connection, new Date(clock.now().getTime() + quiet));
        throw error;
      }
    },
    gaveUp: async (job, error) => {
      const connection = await connectionOf(db, job);
      if (connection !== undefined) await gaveUp(connection, error, job);
    },
  };
}

/** A job that outlives its connection brings what it needs of it. */
async function connectionOf(db: Database, { payload }: Job): Promise<Connection | undefined> {
  const known = await readConnection(db, String(payload['connectionId']));
  return known ?? (payload['connection'] as Connection | undefined);
}

/** Makes the error that is shown to people: what is no answer of a host is a fault of this service. */
export function forgeErrorOf(error: unknown): ForgeError {
  return error instanceof ForgeError
    ? error
    : new ForgeError('answer_invalid', 'it failed within this service, whose operators were told');
}
