/** A feature says here how its background work is done. */

/** Plain JSON. */
export type Payload = Readonly<Record<string, unknown>>;

export interface Job<P extends Payload = Payload> {
  readonly id: string;
  /** Empty for work of the installation. */
  readonly teamId: string;
  readonly kind: string;
  readonly key: string | null;
  readonly payload: P;
  /** Attempts so far, with the one that runs now. */
  readonly attempts: number;
  /**
   * Rises with each claim: what a job writes elsewhere may check it, so that a worker that was taken for lost
   * changes nothing any more.
   */
  readonly epoch: number;
  readonly version: number;
  readonly lastError: string | null;
  /** Wait before the next attempt if this one fails; it is undefined for the last one. */
  readonly retryInMs: number | undefined;
}

/** The payload is what was added under the kind's name. */
export interface JobKind<P extends Payload = Payload> {
  readonly kind: string;
  /** After so many a job is dead. */
  readonly attempts: number;
  /** Milliseconds after the attempt with this number, from 1. Up to 10 % are taken off by chance. */
  backoff(attempts: number): number;
  /** A longer wait than this that JobFailed asks for is not waited for: the job is dead. Default: any is. */
  readonly patienceMs?: number;
  /** Jobs that run at once in one process. */
  readonly concurrency: number;
  /**
   * Jobs of one team that run at once, in all processes, so that a team whose jobs are slow leaves room for
   * others.
   */
  readonly perTeam: number;
  /**
   * The signal is aborted then, and when the job is another worker's by now. Half a minute after the limit it
   * is not renewed any more, and another worker begins.
   */
  readonly timeoutMs: number;
  /**
   * Runs at least once: a worker may die when all is done and not yet noted. It ends soon after the signal
   * does. What it throws fails the attempt; operators are told of everything but JobFailed.
   */
  run(job: Job<P>, signal: AbortSignal): Promise<void>;
  /** The job is about to be dead. What this throws has it tried again. */
  gaveUp?(job: Job<P>, error: unknown): Promise<void>;
}

/** The attempt failed by no fault of this service. */
export class JobFailed extends Error {
  /** Further attempts would fail as well. */
  readonly isFinal: boolean;
  /** Wait that takes the place of the kind's own. */
  readonly retryInMs: number | undefined;
  constructor(
    message: string,
    more: {
      readonly isFinal?: boolean;
      readonly retryInMs?: number | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: more.cause });
    this.name = 'JobFailed';
    this.isFinal = more.isFinal ?? false;
    this.retryInMs = more.retryInMs;
  }
}

/** The job cannot begin yet. No attempt is counted. */
export class JobNotYet extends Error {
  readonly inMs: number;
  constructor(inMs: number) {
    super(`the job can begin in ${inMs} ms`);
    this.name = 'JobNotYet';
    this.inMs = inMs;
  }
}

/**
 * The wait is twice as long each time: `doubling(5_000, 3_600_000)` waits 5 s, 10 s, 20 s … up to an hour.
 */
export function doubling(firstMs: number, maxMs: number): JobKind['backoff'] {
  return (attempts) => Math.min(firstMs * 2 ** (attempts - 1), maxMs);
}
