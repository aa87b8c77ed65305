/**
 * How many streams a caller, an account and a connection hold at once. A stream costs memory and looks at the database for as long as it is
 * open, which no rate of calls bounds. State: counts by holder; a holder without streams is forgotten.
 */
import { networkOf, readAddress } from '@svc/proto/http/address.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { StreamLimits } from '../config.ts';
import type { Caller } from '../platform/context.ts';

export interface StreamSlots {
  /** Throws `too_many_streams`. The returned function gives the places back; only its first call does. */
  take(call: CallContext, caller: Caller): () => void;
}

/** Ended streams are not told to anybody: whoever was refused asks again after a while. */
const RETRY_MS = 5_000;

class Holders {
  readonly #counts = new Map<unknown, number>();
  readonly what: string;
  readonly max: number;

  constructor(what: string, max: number) {
    this.what = what;
    this.max = max;
  }

  assertRoom(holder: unknown): void {
    const open = this.#counts.get(holder) ?? 0;
    if (open < this.max) return;
    throw apiError(
      'too_many_streams',
      `${this.what} has ${open} streams open, at most ${this.max} are allowed at once; close one first`,
      { details: { holder: this.what, open, limit: this.max }, retryAfterMs: RETRY_MS },
    );
  }

  add(holder: unknown, change: 1 | -1): void {
    const open = (this.#counts.get(holder) ?? 0) + change;
    if (open === 0) this.#counts.delete(holder);
    else this.#counts.set(holder, open);
  }
}

export function createStreamSlots(limits: StreamLimits): StreamSlots {
  const credentials = new Holders('this credential', limits.perCredentialMax);
  const accounts = new Holders('this account', limits.perAccountMax);
  const connections = new Holders('this connection', limits.perConnectionMax);

  return {
    take: (call, caller) => {
      const isAnonymous = caller.kind === 'anonymous';
      const held: Array<readonly [Holders, unknown]> = [
        [credentials, isAnonymous ? networkOf(call.remoteAddress) : caller.credentialId],
      ];
      if (caller.userId !== '') held.push([accounts, caller.userId]);
      const connection = connectionOf(call);
      if (connection !== undefined) held.push([connections, connection]);
      for (const [holders, holder] of held) holders.assertRoom(holder);
      for (const [holders, holder] of held) holders.add(holder, 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        for (const [holders, holder] of held) holders.add(holder, -1);
      };
    },
  };
}

/** Undefined: that of a trusted proxy, which many callers share. */
function connectionOf({ request, remoteAddress }: CallContext): object | undefined {
  const peer = request.socket.remoteAddress ?? '';
  if ((readAddress(peer) ?? peer) !== remoteAddress) return undefined;
  return 'stream' in request ? request.stream.session : request.socket;
}
