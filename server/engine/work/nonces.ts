/**
 * Remembers the nonces of signed requests, so that each is good once, at every gateway. One row each, in unlogged partitions by minute that are emptied in
 * rotation (migration 0002). Where one statement does all that a call does, it stores the nonce too (`freshNonce`), which saves the calls that run all the
 * time a way to the database and back; for the others, concurrent calls share one statement: while one runs, the next ones gather. When the store
 * cannot be asked, the call fails; when it lost its memory in a crash, signatures from before are refused.
 */
import { createHash } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';
import type { ApiError } from '@svc/proto/http/errors.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import { startLoop } from '../../platform/loop.ts';
import type { Loop } from '../../platform/loop.ts';
import type { Fragment } from '../../platform/sql.ts';

export interface Nonce {
  readonly keyId: string;
  readonly nonce: string;
  /** Time of the signature. */
  readonly created: Date;
}

export interface NonceStore {
  /** True the first time; false when it was used before, or when that cannot be known any more. */
  use(nonce: Nonce): Promise<boolean>;
}

const BATCH_MAX = 500;
/** Statements at once: one runs while the next one gathers. */
const PARALLEL_MAX = 2;
/** Waiting calls; more than that means that the database is gone. */
const WAITING_MAX = 20_000;
const ROTATE_EVERY_MS = 30_000;

interface Waiter {
  readonly id: string;
  readonly createdS: number;
  settle(fresh: boolean): void;
  fail(error: unknown): void;
}

/** 128 bits of SHA-256 as a UUID: the narrowest key that cannot be steered into a collision in the time a nonce lives. */
function rowId({ keyId, nonce }: Nonce): string {
  return createHash('sha256').update(keyId).update('\n').update(nonce).digest('hex').slice(0, 32);
}

const createdS = ({ created }: Nonce): number => Math.floor(created.getTime() / 1_000);

/** The statement that stores what the CTE `asked` has and returns the `id` of each that was not there. */
function insertion(sql: SqlTag): Fragment {
  return sql`
    insert into nonces (bucket, id)
    select (floor(a.created / 60)::bigint % 8)::smallint, a.id
    from asked a, nonce_store s
    where to_timestamp(a.created) >= s.since
      -- Outside of this window no signature is valid, and its bucket may be about to be emptied.
      and to_timestamp(a.created) between clock_timestamp() - interval '150 s' and clock_timestamp() + interval '60 s'
    on conflict do nothing
    returning id`;
}

async function insertFresh(sql: SqlTag, waiters: readonly Waiter[]): Promise<ReadonlySet<string>> {
  const [row] = await sql<Array<{ known: boolean; fresh: string[] }>>`
    with asked as (
      select id, created from unnest(${waiters.map((w) => w.id)}::uuid[], ${waiters.map((w) => w.createdS)}::float8[]) a(id, created)
    ),
    inserted as (${insertion(sql)})
    select exists (select from nonce_store) as known,
      coalesce((select array_agg(replace(id::text, '-', '')) from inserted), '{}') as fresh`;
  if (row?.known !== true) throw await beginAnew(sql);
  return new Set(row.fresh);
}

/** Emptied by a crash: from now on it knows every nonce again, and nothing from before. */
async function beginAnew(sql: SqlTag): Promise<ApiError> {
  await sql`insert into nonce_store (since) values (clock_timestamp()) on conflict do nothing`;
  return apiError('unavailable', 'the store of used nonces was lost in a crash and begins anew; sign again', {
    retryAfterMs: 1_000,
  });
}

/** CTE `fresh` (and `asked`): a row when the nonce was not used before and is used now. What the statement does must depend on `exists (select from fresh)`. */
export function freshNonce(sql: SqlTag, nonce: Nonce | undefined): Fragment {
  if (nonce === undefined) return sql`fresh as (select)`;
  return sql`
    asked as (select ${rowId(nonce)}::uuid as id, ${createdS(nonce)}::float8 as created),
    fresh as (${insertion(sql)})`;
}

/** Why a statement found no row in `fresh`. */
export async function notFresh(sql: SqlTag, nonce: Nonce | undefined): Promise<ApiError> {
  const [row] = await sql<Array<{ known: boolean }>>`select exists (select from nonce_store) as known`;
  return row?.known === true ? replayed(nonce) : await beginAnew(sql);
}

export function replayed(nonce: Nonce | undefined): ApiError {
  return apiError('replayed', `nonce ${nonce?.nonce} was used before; sign every attempt with a fresh one`);
}

export function createNonceStore(sql: SqlTag): NonceStore {
  const waiting: Waiter[] = [];
  let running = 0;

  const flush = async (): Promise<void> => {
    const batch = waiting.splice(0, BATCH_MAX);
    running += 1;
    try {
      const fresh = await insertFresh(sql, batch);
      const given = new Set<string>();
      for (const waiter of batch) {
        // Twice in one batch: the first one has it.
        waiter.settle(fresh.has(waiter.id) && !given.has(waiter.id));
        given.add(waiter.id);
      }
    } catch (error) {
      for (const waiter of batch) waiter.fail(error);
    } finally {
      running -= 1;
      if (waiting.length > 0 && running < PARALLEL_MAX) void flush();
    }
  };
  return {
    use: async (nonce) => {
      if (waiting.length >= WAITING_MAX) {
        throw apiError(
          'unavailable',
          `${WAITING_MAX} signed requests wait for the store of used nonces already`,
          { retryAfterMs: 1_000 },
        );
      }
      return await new Promise<boolean>((settle, fail) => {
        waiting.push({
          id: rowId(nonce),
          createdS: createdS(nonce),
          settle,
          fail,
        });
        if (running < PARALLEL_MAX) void flush();
      });
    },
  };
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
