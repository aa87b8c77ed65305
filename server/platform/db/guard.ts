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
import { isConnectionError } from './errors.ts';
import { createMaker } from './statement.ts';
import type { Handler, SqlTag, Statement } from './statement.ts';

export interface Guard {
  readonly sql: SqlTag;
  /** Rejects all that comes after; the first reason stands. */
  end(reason: unknown): void;
  /** The connection is gone or `begin()` has given up: nothing may be sent for this transaction any more. */
  lost(): boolean;
  lose(reason: unknown): void;
}

export function guardTransaction(handle: SqlTag): Guard {
  let ended: { readonly reason: unknown } | undefined;
  const end = (reason: unknown): void => {
    ended ??= { reason };
  };
  let lost = false;
  const lose = (reason: unknown): void => {
    lost = true;
    end(reason);
  };

  const { handler } = handle`` as unknown as Statement;
  const onSettled = (error: unknown): void => {
    if (isConnectionError(error)) lose(error);
  };
  const run: Handler = (statement) => {
    if (ended !== undefined)
      return statement.reject(
        new Error('statement refused: its transaction has ended', { cause: ended.reason }),
      );
    statement.onSettled = onSettled;
    return handler(statement);
  };
  return { sql: createMaker(handle, run), end, lose, lost: () => lost };
}
