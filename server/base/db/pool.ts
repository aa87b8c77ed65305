/**
 * This file keeps the connections of one database handle. A statement goes to the one with the least to do at
 * the moment when it is sent; a transaction has one for itself. The pool of the driver is not used: there a
 * transaction lives on when its connection is gone, and finding a connection takes the longer the more
 * statements it has run.
 *
 * The closure of createPool owns the state. What always holds: at most `max` connections are open, one of
 * them is not in a transaction, and a lost one is out before anybody is told.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { connectionError } from './client.ts';
import { openConnection, type Connection, type ConnectionOptions } from './connection.ts';
import type { Query } from './statement.ts';

export interface PoolOptions extends ConnectionOptions {
  readonly max: number;
  /** Time that a transaction waits for a connection. */
  readonly waitMs: number;
}

export interface Pool {
  run(query: Query): Promise<unknown>;
  /** The connection gets nothing else until `work` has settled. Rejects at once when it is lost. */
  hold<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Waits `graceMs` for what runs, then cuts. */
  end(graceMs: number): Promise<void>;
}

interface Member {
  readonly connection: Connection;
  /** Rejects the transaction that has the connection. */
  whenLost: ((error: Error) => void) | undefined;
  /** Statements since it had nothing to do. */
  ran: number;
}

const WAITERS_MAX = 1_000;
/**
 * The driver keeps a slot for each statement until its connection has nothing to do: after so many it is left
 * alone until then.
 */
const RAN_MAX = 10_000;
const CLOSING_LOOKS_EVERY_MS = 5;

export function createPool({ max, waitMs, ...options }: PoolOptions): Pool {
  const members = new Set<Member>();
  // One connection is left to plain statements, so that they never wait for the end of a transaction.
  const turns = createTurns(max - 1, waitMs);
  let isClosed = false;

  const open = (): Member => {
    const onLost = (error: Error): void => {
      members.delete(member);
      member.whenLost?.(error);
    };
    const member: Member = { connection: openConnection(options, { onLost }), whenLost: undefined, ran: 0 };
    members.add(member);
    return member;
  };

  /**
   * The first one that has nothing to do, so that no more are opened than are needed; else the one with the
   * least.
   */
  const leastLoaded = (): Member => {
    let best: Member | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const member of members) {
      if (member.whenLost !== undefined) continue;
      const { load } = member.connection;
      if (load === 0) {
        member.ran = 0;
        return member;
      }
      const weight = member.ran < RAN_MAX ? load : Number.MAX_SAFE_INTEGER;
      if (weight < least) [best, least] = [member, weight];
    }
    return best === undefined || members.size < max ? open() : best;
  };

  const isBusy = (): boolean =>
    [...members].some(({ connection, whenLost }) => whenLost !== undefined || connection.load > 0);

  return {
    run: (query) => {
      if (isClosed) return Promise.reject(connectionError('CONNECTION_ENDED'));
      const member = leastLoaded();
      member.ran += 1;
      return member.connection.run(query);
    },
    hold: async (work) => {
      const giveBack = await turns.take();
      let member: Member | undefined;
      try {
        if (isClosed) throw connectionError('CONNECTION_ENDED');
        const { connection } = (member = leastLoaded());
        return await new Promise((resolve, reject) => {
          member!.whenLost = reject;
          // The driver does not always keep to the order in which it was given statements: a transaction
          // begins when those before it are done.
          connection
            .idle()
            .then(async () => await work(connection))
            .then(resolve, reject);
        });
      } finally {
        if (member !== undefined) member.whenLost = undefined;
        giveBack();
      }
    },
    end: async (graceMs) => {
      isClosed = true;
      for (const endMs = performance.now() + graceMs; isBusy() && performance.now() < endMs;)
        await new Promise((resolve) => setTimeout(resolve, CLOSING_LOOKS_EVERY_MS));
      await Promise.all([...members].map(async ({ connection }) => await connection.end()));
    },
  };
}

/** First come, first served. */
function createTurns(count: number, waitMs: number): { take(): Promise<() => void> } {
  let free = count;
  const waiters = new Set<() => void>();
  const refusal = (why: string): Error =>
    apiError('unavailable', `the database is busy: ${why}; try again`, { retryAfterMs: 1_000 });
  const giveBack = (): void => {
    const [next] = waiters;
    if (next === undefined) free += 1;
    else next();
  };
  return {
    take: async () => {
      if (free > 0) {
        free -= 1;
        return giveBack;
      }
      if (waiters.size >= WAITERS_MAX) throw refusal(`${WAITERS_MAX} transactions wait already`);
      return await new Promise((resolve, reject) => {
        const turn = (): void => {
          clearTimeout(timer);
          waiters.delete(turn);
          resolve(giveBack);
        };
        const timer = setTimeout(() => {
          waiters.delete(turn);
          reject(refusal(`no connection became free within ${waitMs} ms`));
        }, waitMs);
        waiters.add(turn);
      });
    },
  };
}
