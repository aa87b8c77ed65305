/**
 * A repeated call with the same Idempotency-Key gets the first call's answer. The row with the answer is
 * written in the transaction of the effect, so that there is never one without the other. What runs here for
 * a keyed call, in one transaction: an advisory lock on (principal, rpc, key), tried and never waited for,
 * which holds while the first call runs; a look for a stored answer; the implementation; the store. A
 * definite refusal (404, 409 …) has no effect, so it is stored after the rollback.
 */
import { createHash } from 'node:crypto';
import { fromBinary, toBinary, toJson, type DescMessage, type Message } from '@bufbuild/protobuf';
import type { CallContext } from '@svc/proto/http/call.ts';
import { ApiError, apiError, ERRORS, type ErrorCode } from '@svc/proto/http/errors.ts';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import type { Clock } from '../base/clock.ts';
import type { Caller, IdempotencyClaim } from './context.ts';
import type { Database, SqlTag } from '../base/db/index.ts';

export const KEY_LIFE_MS = 24 * 60 * 60_000;
const KEY_CHARS_MAX = 255;
const REPLAYED_HEADER = 'idempotent-replayed';

/** Codes of a 4xx that say nothing about the state of the resource: the same key may be tried again. */
const NOT_STORED: ReadonlySet<ErrorCode> = new Set([
  'idempotency_in_progress',
  'idempotency_key_invalid',
  'idempotency_key_reused',
  'request_invalid',
  'validation_failed',
]);
const STORED_STATUS: ReadonlySet<number> = new Set([400, 404, 409, 412, 422]);

/** The header, bare or quoted as a structured field. Undefined when absent; 400 when it cannot be a key. */
export function idempotencyKey(call: CallContext): string | undefined {
  const raw = call.header('idempotency-key');
  if (raw === undefined) return undefined;
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(raw.trim());
  const key = quoted === null ? raw.trim() : (quoted[1] ?? '').replace(/\\(["\\])/g, '$1');
  if (key.length >= 1 && key.length <= KEY_CHARS_MAX && /^[\x20-\x7e]+$/.test(key)) return key;
  throw apiError(
    'idempotency_key_invalid',
    `Idempotency-Key has ${key.length} characters, expected 1 to ${KEY_CHARS_MAX} printable ASCII characters`,
  );
}

/**
 * A key that is narrowed to a team is somebody else than its person: it must not be told what another
 * credential did in another team.
 */
function principalOf({ kind, credentialId, userId, onlyTeamId }: Caller): string {
  // A job is known by its run, since a repeated call may come with another id_token than the first.
  if (kind === 'ci_job') return `ci_job:${credentialId}`;
  if (kind === 'agent') return `agent:${userId}`;
  return onlyTeamId === undefined ? `user:${userId}` : `user:${userId}/${onlyTeamId}`;
}

export interface KeyedRequest {
  readonly rpc: RpcInfo;
  readonly caller: Caller;
  readonly key: string;
  readonly request: Message;
}

export function claimFor({ rpc, caller, key, request }: KeyedRequest): IdempotencyClaim {
  return { principal: principalOf(caller), rpc: rpc.id, key, fingerprint: fingerprint(rpc, request) };
}

/**
 * The fingerprint is the same over every protocol. It is of the message's JSON with sorted names, since maps
 * and optional fields have no order on the wire.
 */
export function fingerprint(rpc: RpcInfo, request: Message): Uint8Array {
  const json = JSON.stringify(toJson(rpc.desc.input, request), (_name, value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(`${rpc.id}\n${json}`).digest();
}

interface StoredAnswer {
  readonly fingerprint: Uint8Array;
  readonly status: number;
  readonly response: Uint8Array;
}

export interface KeyedCall {
  readonly call: CallContext;
  readonly db: Database;
  readonly clock: Clock;
  readonly claim: IdempotencyClaim;
}

/** Does `work` at most once per key. It must do all of its writing with the database handle that it gets. */
export async function runKeyed(keyed: KeyedCall, work: (db: Database) => Promise<Message>): Promise<Message> {
  const { call, db, clock, claim } = keyed;
  try {
    return await db.transact(async (tx) => {
      await lock(tx.sql, claim);
      const stored = await find(tx.sql, claim, clock);
      if (stored !== undefined) return replay(call, claim, stored);
      const response = await work(tx);
      await store(tx.sql, claim, {
        now: clock.now(),
        status: call.status ?? call.rpc.successStatus,
        response: toBinary(call.rpc.desc.output, response),
      });
      return response;
    });
  } catch (error) {
    if (error instanceof ApiError && isStored(error) && !call.responseHeaders.has(REPLAYED_HEADER)) {
      await store(db.sql, claim, {
        now: clock.now(),
        status: error.status,
        response: encodeError(error),
      });
    }
    throw error;
  }
}

async function lock(sql: SqlTag, claim: IdempotencyClaim): Promise<void> {
  const name = `${claim.principal}\n${claim.rpc}\n${claim.key}`;
  const [row] = await sql<
    Array<{ locked: boolean }>
  >`select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as locked`;
  if (row?.locked === true) return;
  throw apiError(
    'idempotency_in_progress',
    'another call with the same Idempotency-Key has not finished; try again',
    { retryAfterMs: 1_000 },
  );
}

async function find(sql: SqlTag, claim: IdempotencyClaim, clock: Clock): Promise<StoredAnswer | undefined> {
  const oldest = new Date(clock.now().getTime() - KEY_LIFE_MS);
  const [row] = await sql<StoredAnswer[]>`
    select fingerprint, status, response from idempotency_keys
    where principal = ${claim.principal} and rpc = ${claim.rpc} and key = ${claim.key} and created_at > ${oldest}`;
  return row;
}

async function store(
  sql: SqlTag,
  claim: IdempotencyClaim,
  { now, ...answer }: Omit<StoredAnswer, 'fingerprint'> & { readonly now: Date },
): Promise<void> {
  const oldest = new Date(now.getTime() - KEY_LIFE_MS);
  // A row that has not expired stays, so that of two refusals that race the first one stands.
  await sql`
    insert into idempotency_keys (principal, rpc, key, fingerprint, status, response, created_at)
    values (${claim.principal}, ${claim.rpc}, ${claim.key}, ${claim.fingerprint}, ${answer.status}, ${answer.response}, ${now})
    on conflict (principal, rpc, key) do update
      set fingerprint = excluded.fingerprint, status = excluded.status, response = excluded.response, created_at = excluded.created_at
      where idempotency_keys.created_at <= ${oldest}`;
}

/**
 * The stored answer as if it were made now: the message, or the error thrown again. Also for RPCs that store
 * in their own statement.
 */
export function replay(call: CallContext, claim: IdempotencyClaim, stored: StoredAnswer): Message {
  if (!Buffer.from(stored.fingerprint).equals(claim.fingerprint)) {
    throw apiError(
      'idempotency_key_reused',
      `Idempotency-Key "${claim.key}" was used for another request; use a new key for a new request`,
    );
  }
  call.responseHeaders.set(REPLAYED_HEADER, 'true');
  call.status = stored.status;
  if (stored.status >= 400) throw decodeError(stored.response);
  return fromBinary(call.rpc.desc.output as DescMessage, stored.response);
}

function isStored(error: ApiError): boolean {
  return STORED_STATUS.has(error.status) && !error.retryable && !NOT_STORED.has(error.code);
}

function encodeError(error: ApiError): Uint8Array {
  return Buffer.from(JSON.stringify({ code: error.code, message: error.message, details: error.details }));
}

function decodeError(bytes: Uint8Array): ApiError {
  const { code, message, details } = JSON.parse(Buffer.from(bytes).toString('utf8')) as {
    code: string;
    message: string;
    details?: Record<string, unknown>;
  };
  const known = code in ERRORS ? (code as ErrorCode) : 'internal';
  return apiError(known, message, details === undefined ? {} : { details });
}

/** Deletes what is older than 24 hours, in pieces, so that no statement runs long. Returns how many. */
export async function purgeIdempotencyKeys(sql: SqlTag, clock: Clock, piece = 5_000): Promise<number> {
  const oldest = new Date(clock.now().getTime() - KEY_LIFE_MS);
  for (let total = 0; ;) {
    const { count } = await sql`
      delete from idempotency_keys where ctid in (
        select ctid from idempotency_keys where created_at <= ${oldest} limit ${piece})`;
    total += count;
    if (count < piece) return total;
  }
}
