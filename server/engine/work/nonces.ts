/**
 * Remembers the nonces of signed requests, so that each is good once, at every gateway. One row each, in
 * unlogged partitions by minute that are emptied in rotation. The statement that does what a call asks for
 * stores its nonce too, and does nothing for a call whose nonce was there: when the store cannot be asked,
 * the call fails. When it lost its memory in a crash, signatures from before are refused.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { createHash } from 'node:crypto';
import { apiError, type ApiError } from '@svc/proto/http/errors.ts';
import { isConnectionError, type SqlTag } from '../../base/db/index.ts';
import { startLoop, type Loop } from '../../base/loop.ts';
import { fewRows, type Fragment } from '../../base/sql.ts';
import { inBatches, type Batching } from '@svc/proto/process/batches.ts';

export interface Nonce {
  readonly keyId: string;
  readonly nonce: string;
  /** Time of the signature. */
  readonly created: Date;
}

const ROTATE_EVERY_MS = 30_000;

/**
 * Returns 128 bits of SHA-256 as a UUID, the narrowest key that cannot be steered into a collision in the
 * time a nonce lives.
 */
function rowId({ keyId, nonce }: Nonce): string {
  return createHash('sha256').update(keyId).update('\n').update(nonce).digest('hex').slice(0, 32);
}

/** A call of a runner. */
export interface Signed {
  /** The nonce of its request; undefined: it brings none, or has used it up. */
  readonly nonce?: Nonce | undefined;
  /** It came in one request with another call, whose nonce it brings: the two may stand in one statement. */
  readonly sharesNonce?: boolean;
}

/** Calls stand in a statement with these columns and types, besides `n` and those of the nonce. */
export interface Columns<Call extends Signed> {
  columns(call: Call): object;
  readonly types: Fragment;
}

/**
 * CTEs `asked`, a row for each call, numbered by `n`, and `fresh`: their nonces that were not used before;
 * they are used now. Calls that share a nonce must not stand in one statement, which would find it fresh for
 * both: see `callsInBatches`.
 */
export function asked<Call extends Signed>(
  sql: SqlTag,
  calls: readonly Call[],
  { columns, types }: Columns<Call>,
): Fragment {
  const rows = calls.map((call, n) => ({
    n,
    ...columns(call),
    nonce: call.nonce && rowId(call.nonce),
    signed_at: call.nonce && Math.floor(call.nonce.created.getTime() / 1_000),
  }));
  return sql`
    asked as materialized (
      ${fewRows(sql, rows, sql`n int, ${types}, nonce uuid, signed_at float8`)}
    ),
    fresh as (
      insert into nonces (bucket, id)
      select (floor(a.signed_at / 60)::bigint % 8)::smallint, a.nonce
      from asked a, nonce_store s
      where a.nonce is not null and to_timestamp(a.signed_at) >= s.since
        -- Outside of this window no signature is valid, and its bucket may be about to be emptied.
        and to_timestamp(a.signed_at) between clock_timestamp() - interval '150 s' and clock_timestamp() + interval '60 s'
      on conflict do nothing
      returning id
    )`;
}

/** Returns whether the call of the row `a` of `asked` may have an effect. */
export function isFresh(sql: SqlTag): Fragment {
  return sql`(a.nonce is null or a.nonce in (select id from fresh))`;
}

/** It says what became of the nonce of a call. */
export interface Freshness {
  readonly fresh: boolean;
  readonly store_known: boolean;
}

/** Selects the columns of a `Freshness`, for the select list over `asked`. */
export function freshness(sql: SqlTag): Fragment {
  return sql`${isFresh(sql)} as fresh, exists (select from nonce_store) as store_known`;
}

/**
 * Why a call was not fresh. A store that was emptied by a crash begins anew: from now on it knows every nonce
 * again, and nothing from before.
 */
export async function notFresh(
  sql: SqlTag,
  { store_known: isKnown }: Freshness,
  nonce: Nonce | undefined,
): Promise<ApiError> {
  if (isKnown)
    return apiError('replayed', `nonce ${nonce?.nonce} was used before; sign every attempt with a fresh one`);
  await sql`insert into nonce_store (since) values (clock_timestamp()) on conflict do nothing`;
  return apiError('unavailable', 'the store of used nonces was lost in a crash and begins anew; sign again', {
    retryAfterMs: 1_000,
  });
}

/** Empties old buckets; any number of servers may do it at once. */
export function startNonceRotation(sql: SqlTag, onError: (error: unknown) => void): Loop {
  return startLoop({
    everyMs: ROTATE_EVERY_MS,
    onError,
    run: async () => {
      await sql`select nonces_rotate()`;
    },
  });
}

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
    keysOf: (call) => [
      keyOf(call),
      ...(call.nonce && call.sharesNonce !== true ? [`${call.nonce.keyId}\n${call.nonce.nonce}`] : []),
    ],
    run: async (calls) => {
      const rows = await run(calls);
      const judged = async (row: Row, at: number): Promise<Row | Error> =>
        row.fresh ? row : await notFresh(sql, row, calls[at]?.nonce);
      return await Promise.all(rows.map(judged));
    },
  });
}
