/**
 * The queue between servers and gateways. It carries pointers and notices, never truth: a message that is
 * lost, repeated, reordered or stale may cost time, never work, because every step is decided by a statement
 * in PostgreSQL.
 */

export type WorkKind = 'run' | 'build';

/** "This item may be claimable": whoever receives it tries to claim. */
export interface WorkHint {
  readonly workId: string;
  readonly poolId: string;
  readonly kind: WorkKind;
  /** Items of the pool that came together, this one included. */
  readonly count: number;
}

/** What every gateway is told, so that held polls and cached keys do not outlive their reason. */
export type ControlEvent =
  | { readonly type: 'runner_revoked'; readonly runnerId: string; readonly keyId: string }
  /** Paused, resumed, flag cleared, draining: whether it may receive work must be asked again. */
  | { readonly type: 'runner_changed'; readonly runnerId: string }
  | { readonly type: 'work_cancelled'; readonly workId: string; readonly runnerId: string };

/** Neither handler may throw, and neither is called within `subscribe` itself. */
export interface HintListener {
  onHint(hint: WorkHint): void;
  /**
   * True each time that hints begin to arrive: ask the database once then, because what was hinted before is
   * lost.
   */
  onLive(live: boolean): void;
}

export interface Subscription {
  /** True while hints of this pool arrive: its queue is declared, bound and consumed. */
  readonly live: boolean;
  /** Ends it: nothing is heard from it after the call. Does not reject. */
  stop(): Promise<void>;
}

export interface WorkQueue {
  /**
   * Best effort to whoever waits. Resolves when the broker confirmed it, rejects after 5 s. No bound queue
   * means that nobody waits: it is thrown away.
   */
  hint(hint: WorkHint): Promise<void>;
  /**
   * Each hint of one pool and kind goes to every subscriber. Returns at once: the queue is declared behind
   * it, again whenever it is lost, until `stop`.
   */
  subscribe(poolId: string, kind: WorkKind, listener: HintListener): Subscription;
  /** To every process, the own one included. Rejects after 5 s. */
  publishControl(event: ControlEvent): Promise<void>;
  /**
   * Events published while this process is not connected are not delivered to it: read the state again on
   * `onUp(true)`.
   */
  onControl(listener: (event: ControlEvent) => void): () => void;
  /** False while hints cannot be expected to arrive: no connection, or the broker blocks publishers. */
  readonly up: boolean;
  onUp(listener: (up: boolean) => void): () => void;
  close(): Promise<void>;
}

/** A queue says there what happens to it; a pino logger fits. */
export interface QueueLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

const ID = /^[a-z]{1,12}_[0-9a-z]{1,40}$/;

/**
 * The hint in a message body, or undefined when anything about it is wrong: a queue is open to whoever may
 * publish to it.
 */
export function parseHint(body: unknown, poolId: string, kind: WorkKind): WorkHint | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { workId, count } = body as Record<string, unknown>;
  if (typeof workId !== 'string' || !ID.test(workId)) return undefined;
  // Pool and kind come from the queue that was read, never from the message: a stray message cannot cross
  // teams.
  return { workId, poolId, kind, count: Number.isSafeInteger(count) ? Math.max(1, count as number) : 1 };
}

export function parseControl(body: unknown): ControlEvent | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { type, runnerId, keyId, workId } = body as Record<string, unknown>;
  if (typeof runnerId !== 'string') return undefined;
  if (type === 'runner_revoked' && typeof keyId === 'string') return { type, runnerId, keyId };
  if (type === 'runner_changed') return { type, runnerId };
  if (type === 'work_cancelled' && typeof workId === 'string') return { type, workId, runnerId };
  return undefined;
}
