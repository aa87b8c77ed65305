/** One poll that waits. Plain state; `polls.ts` owns it and alone changes it. */
import type { Offer } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import type { UnaryCall } from '@svc/proto/http/call.ts';
import type { WorkHint } from '@svc/proto/queue/queue.ts';
import type { Pool } from './pool.ts';
import type { Nonce } from './verification.ts';

export type PollKind = WorkHint['kind'];

export interface PollCaller {
  readonly runnerId: string;
  readonly teamId: string;
  readonly bootId: string;
}

export interface PollAsk {
  readonly caller: PollCaller;
  readonly kind: PollKind;
  /** It is never empty. */
  readonly pollId: string;
  readonly slots: number;
  /** Offers that its answer may bring. */
  readonly offersMax: number;
  readonly notReady: readonly string[];
  /**
   * An empty answer is due at this time of the monotonic clock. Where that is not later than now, the poll is
   * answered as soon as the server has answered.
   */
  readonly untilMs: number;
  /** It knows whether the caller is gone, and who is told. */
  readonly call: Pick<UnaryCall, 'aborted' | 'onAborted'>;
}

/**
 * asking: the server is asked for it. ready: a hint may have it ask again. refused: its runner may not
 * receive work now, the empty answer is held. done: answered.
 */
export type WaiterState = 'asking' | 'ready' | 'refused' | 'done';

export class Waiter {
  readonly ask: PollAsk;
  readonly promise: Promise<readonly Offer[]>;
  state: WaiterState = 'asking';
  /** Number of the newest ask, in the order of asks and hints. */
  asked = 0;
  /** Its time is up: answer as soon as what is under way has ended. */
  late = false;
  /** The runner changed while the server was being asked: ask again. */
  again = false;
  pool: Pool | undefined = undefined;
  /** The server last said that the runner may receive work of this pool. */
  poolId: string | undefined = undefined;
  /** The nonce of the request is kept until the server was asked for the first time. */
  nonce: Nonce | undefined;
  disarm = (): void => undefined;
  resolve!: (offers: readonly Offer[]) => void;
  reject!: (error: Error) => void;

  constructor(ask: PollAsk, nonce?: Nonce) {
    this.ask = ask;
    this.nonce = nonce;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}
