/**
 * Remembers the nonces of signed requests, so that each is good once, at every gateway. One row each, in unlogged partitions by minute that are emptied in
 * rotation. The statement that does what a call asks for stores its nonce too, and does nothing for a call whose nonce was there: when the store cannot be asked, the call
 * fails. When it lost its memory in a crash, signatures from before are refused.
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

const ROTATE_EVERY_MS = 30_000;

/** 128 bits of SHA-256 as a UUID: the narrowest key that cannot be steered into a collision in the time a nonce lives. */
function rowId({ keyId, nonce }: Nonce): string {
  return createHash('sha256').update(keyId).update('\n').update(nonce).digest('hex').slice(0, 32);
}

/** The columns that `freshNonces` reads of `asked`. */
export const nonceTypes = (sql: SqlTag): Fragment => sql`nonce uuid, signed_at float8`;

/** Both null: the call brings none, or has used it up. */
export interface NonceColumns {
  readonly nonce: string | null;
  readonly signed_at: number | null;
}

export function nonceColumns(nonce: Nonce | undefined): NonceColumns {
  if (nonce === undefined) return { nonce: null, signed_at: null };
  return { nonce: rowId(nonce), signed_at: Math.floor(nonce.created.getTime() / 1_000) };
}

/** CTE `fresh`: the nonces of the rows of the CTE `asked` that were not used before; they are used now. A nonce may be there once: see `nonceKey`. */
export function freshNonces(sql: SqlTag): Fragment {
  return sql`
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

/** Whether the call of the row `a` of `asked` may have an effect. */
export function isFresh(sql: SqlTag): Fragment {
  return sql`(a.nonce is null or a.nonce in (select id from fresh))`;
}

/** Calls that share a nonce must not stand in one statement, which would find it fresh for both. */
export const nonceKey = ({ nonce }: { readonly nonce?: Nonce | undefined }): readonly string[] =>
  nonce === undefined ? [] : [`${nonce.keyId}\n${nonce.nonce}`];

/** For the select list of a statement with `fresh`. */
export function storeIsKnown(sql: SqlTag): Fragment {
  return sql`exists (select from nonce_store) as store_known`;
}

/** Why a call was not fresh. A store that was emptied by a crash begins anew: from now on it knows every nonce again, and nothing from before. */
export async function notFresh(sql: SqlTag, isKnown: boolean, nonce: Nonce | undefined): Promise<ApiError> {
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
