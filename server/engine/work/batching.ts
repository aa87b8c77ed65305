/** How the statements of dispatch take what comes together. */
import { apiError } from '@svc/proto/http/errors.ts';
import { inBatches } from '@svc/proto/process/batches.ts';
import type { Batching } from '@svc/proto/process/batches.ts';
import { isConnectionError } from '../../base/db/index.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { notFresh } from './nonces.ts';
import type { Freshness, Signed } from './nonces.ts';

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

interface Calls<Call, Row> extends Pick<Batching<Call, Row>, 'itemsMax' | 'sizeOf' | 'sizeMax'> {
  /** Those that share it never go into one statement. */
  keyOf(call: Call): string;
  /** One statement, a row for each call. */
  run(calls: readonly Call[]): Promise<readonly Row[]>;
}

/** Calls of runners, in batches. One whose nonce was not fresh did nothing, and is refused. */
export function callsInBatches<Call extends Signed, Row extends Freshness>(
  sql: SqlTag,
  { keyOf, run, ...limits }: Calls<Call, Row>,
): (call: Call) => Promise<Row> {
  return inBatches<Call, Row>({
    ...batching,
    ...limits,
    keysOf: (call) => [keyOf(call), ...(call.nonce ? [`${call.nonce.keyId}\n${call.nonce.nonce}`] : [])],
    run: async (calls) => {
      const rows = await run(calls);
      const judged = async (row: Row, at: number): Promise<Row | Error> =>
        row.fresh ? row : await notFresh(sql, row, calls[at]?.nonce);
      return await Promise.all(rows.map(judged));
    },
  });
}
