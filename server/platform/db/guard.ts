/**
 * Keeps a dead transaction dead.
 *
 * postgres.js 3.4.9 lets the handle of `begin()` outlive its connection. When the backend dies, `begin()` rejects, but the
 * callback goes on: its next statement runs on whatever replaced the connection, in autocommit, and commits by itself
 * (issues 1186 and 1204 of that project); when the callback settles, the driver sends `rollback` or `commit` there too,
 * into a stranger's transaction, or into a socket that is null, which ends the process.
 *
 * The guard owns one flag per transaction, set by the first of: a statement of the transaction failing with a connection
 * error, `begin()` settling, the callback settling. From then on every statement made with the handle is rejected before
 * it reaches a connection, also one that was created before and is awaited only now. `lost` says that the connection went
 * away: the driver must then never hear that the callback has settled. loss.test.ts proves the loss without all this and
 * its absence with it.
 */
import type postgres from 'postgres';
import { isConnectionError } from './errors.ts';

/** The parts of a postgres.js query that decide where it runs and how it fails. */
interface QueryInternals {
  handler: ((query: QueryInternals) => unknown) & { debug?: unknown };
  reject: (error: unknown) => void;
}

function isQuery(value: unknown): value is QueryInternals {
  return value instanceof Promise && typeof (value as Partial<QueryInternals>).handler === 'function';
}

export interface Guard {
  readonly sql: postgres.ISql;
  /** Rejects all that comes after; the first reason stands. */
  end(reason: unknown): void;
  /** The connection is gone or `begin()` has given up: nothing may be sent for this transaction any more. */
  readonly lost: boolean;
  lose(reason: unknown): void;
}

export function guardTransaction(handle: postgres.ISql): Guard {
  let ended: { readonly reason: unknown } | undefined;
  const end = (reason: unknown): void => {
    ended ??= { reason };
  };
  let lost = false;
  const lose = (reason: unknown): void => {
    lost = true;
    end(reason);
  };

  const guardQuery = (query: QueryInternals): void => {
    const run = query.handler;
    const reject = query.reject;
    query.handler = Object.assign(
      (self: QueryInternals): unknown =>
        ended === undefined
          ? run(self)
          : reject(new Error('statement refused: its transaction has ended', { cause: ended.reason })),
      { debug: run.debug },
    );
    query.reject = (error) => {
      if (isConnectionError(error)) lose(error);
      reject(error);
    };
  };

  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      apply(fn, self, args: unknown[]): unknown {
        const result: unknown = Reflect.apply(fn as unknown as (...a: unknown[]) => unknown, self, args);
        if (isQuery(result)) guardQuery(result);
        return result;
      },
      get(of, name, receiver): unknown {
        const value: unknown = Reflect.get(of, name, receiver);
        return typeof value === 'function' ? wrap(value) : value;
      },
    });

  return {
    sql: wrap(handle),
    end,
    lose,
    get lost() {
      return lost;
    },
  };
}
