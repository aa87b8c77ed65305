/** How the statements of dispatch take what comes together. */
import { apiError } from '@svc/proto/http/errors.ts';
import { isConnectionError } from '../../platform/db/index.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import { notFresh } from './nonces.ts';
import type { Nonce } from './nonces.ts';

/** Calls of one kind that wait; more than that means that the database is gone. */
const WAITING_MAX = 20_000;

export const batching = {
  // One runs while the next one gathers, and one that waits for a lock does not hold up all others.
  parallel: 2,
  waitingMax: WAITING_MAX,
  overfull: (): Error =>
    apiError('unavailable', `${WAITING_MAX} calls of this kind wait for the database already; try again`, {
      retryAfterMs: 1_000,
    }),
  // A statement that failed did nothing: without the one that it failed on, the others go through.
  divides: (error: unknown): boolean => !isConnectionError(error),
};

/** The rows as they are, but for those whose nonce was not fresh: an error in their place. */
export async function refuseStale<Row extends { readonly fresh: boolean; readonly store_known: boolean }>(
  sql: SqlTag,
  calls: ReadonlyArray<{ readonly nonce?: Nonce | undefined }>,
  rows: readonly Row[],
): Promise<ReadonlyArray<Row | Error>> {
  if (rows.every(({ fresh }) => fresh)) return rows;
  return await Promise.all(
    rows.map(async (row, at) => (row.fresh ? row : await notFresh(sql, row.store_known, calls[at]?.nonce))),
  );
}
