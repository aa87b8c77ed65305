/**
 * Makes a new item durable: the team's pool, the limit on waiting items, the Idempotency-Key and the row itself in one statement. The row is its own
 * outbox: the hint that follows may get lost, the relay finds the row.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import type { IdempotencyClaim } from '../../platform/context.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import { KEY_LIFE_MS } from '../../platform/idempotency.ts';
import { poolColumn } from './pool.ts';
import type { QueueRoom } from './queue-room.ts';
import type { WorkSettings } from './settings.ts';
import { ms } from '../../platform/sql.ts';
import type { Fragment } from '../../platform/sql.ts';

export interface NewWork {
  readonly id: string;
  readonly kind: WorkKind;
  readonly teamId: string;
  readonly createdBy: string;
  readonly createdAt: Date;
  /** JSON values only. */
  readonly spec: object;
  readonly labels: Readonly<Record<string, string>>;
  readonly needsContainer: boolean;
  readonly timeoutMs: number;
  /** Bytes of output that are kept. */
  readonly logLimit: number;
  /** Builds only: the build that it is an item of; its row is written before, in the same transaction. */
  readonly buildId?: string;
  /** Default: 5. */
  readonly maxAttempts?: number;
}

const ATTEMPTS_MAX = 5;

/** The answer that is stored for a repeated call with the same key. */
export interface KeyedAnswer extends IdempotencyClaim {
  readonly status: number;
  readonly response: Uint8Array;
}

export interface StoredAnswer {
  readonly fingerprint: Uint8Array;
  readonly status: number;
  readonly response: Uint8Array;
}

/** `earlier`: what the first call with this key left; whether it was the same request is for `replay` of the platform to see. */
export type Submitted = { readonly poolId: string } | { readonly earlier: StoredAnswer };

interface Row {
  readonly pool: string | null;
  /** Items that wait already, at most the limit; 0 when this submit does not count. */
  readonly queued: number;
  readonly created: boolean;
}

export interface SubmitDeps {
  readonly settings: WorkSettings;
  readonly room: QueueRoom;
}

export async function submit(
  sql: SqlTag,
  { settings, room }: SubmitDeps,
  { work, keyed }: { readonly work: NewWork; readonly keyed?: KeyedAnswer | undefined },
): Promise<Submitted> {
  const queue = `${work.kind} ${work.teamId}`;
  const counts = room.mustCount(queue, settings.queuedMax);
  const [row] = await sql<Row[]>`
    with team as materialized (
      select t.id, ${poolColumn(sql)} as pool from teams t join regions r on r.id = t.region_id where t.id = ${work.teamId}
    ),
    room as materialized (
      select count(*)::int as queued, count(*) < ${settings.queuedMax}::int as free
      from (
        select from work_items w
        where ${counts}::boolean and w.team_id = ${work.teamId} and w.pool_id = (select pool from team) and w.kind = ${work.kind} and w.state = 'queued'
        limit ${settings.queuedMax}::int
      ) q
    ),
    ${keyed === undefined ? sql`` : takeKey(sql, keyed)}
    item as (
      insert into work_items (id, team_id, kind, pool_id, state, spec, labels, needs_container, timeout_ms, log_limit,
        build_id, max_attempts, run_after, hint_due_at, created_by, created_at)
      select ${work.id}, t.id, ${work.kind}, t.pool, 'queued', ${sql.json(work.spec as never)}, ${sql.json(work.labels)},
        ${work.needsContainer}::boolean, ${work.timeoutMs}::int, ${work.logLimit}::int,
        ${work.buildId ?? null}::text, ${work.maxAttempts ?? ATTEMPTS_MAX}::int,
        clock_timestamp(), clock_timestamp() + ${ms(sql, settings.hintFirstMs)}, ${work.createdBy}, ${work.createdAt}
      from team t, room where room.free and t.pool is not null ${keyed === undefined ? sql`` : sql`and exists (select from taken)`}
      returning id
    )
    select t.pool, room.queued, exists (select from item) as created from room left join team t on true`;
  if (counts && row !== undefined) room.counted(queue, row.queued);
  if (row?.created === true && row.pool !== null) {
    room.added(queue);
    return { poolId: row.pool };
  }
  const earlier = keyed === undefined ? undefined : await storedAnswer(sql, keyed);
  if (earlier !== undefined) return { earlier };
  if (row !== undefined && row.queued >= settings.queuedMax) {
    throw apiError(
      'limit_reached',
      `team ${work.teamId} has ${settings.queuedMax} queued ${work.kind}s, which is the limit; let some finish`,
      {
        details: {
          resource: work.kind === 'run' ? 'sandbox run' : 'build',
          limit: settings.queuedMax,
        },
        retryable: true,
        retryAfterMs: 5_000,
      },
    );
  }
  if (row === undefined || row.pool === null) {
    throw apiError(
      'unavailable',
      `team ${work.teamId} has no pool of runners: the service's own pool is not set up`,
    );
  }
  // The key was taken by a call that then rolled back: doing it again is what the caller would do.
  throw apiError(
    'idempotency_in_progress',
    'another call with the same Idempotency-Key has not finished; try again',
    { retryAfterMs: 1_000 },
  );
}

/** CTE `taken`: one row when the key is ours. A parallel call with the same key waits here for the first one's outcome. */
function takeKey(sql: SqlTag, { principal, rpc, key, fingerprint, status, response }: KeyedAnswer): Fragment {
  return sql`
    taken as (
      insert into idempotency_keys (principal, rpc, key, fingerprint, status, response, created_at)
      select ${principal}, ${rpc}, ${key}, ${fingerprint}, ${status}::int, ${response}, clock_timestamp()
      from team t, room where room.free and t.pool is not null
      on conflict (principal, rpc, key) do update set
        fingerprint = excluded.fingerprint, status = excluded.status, response = excluded.response, created_at = excluded.created_at
        where idempotency_keys.created_at <= now() - ${ms(sql, KEY_LIFE_MS)}
      returning key
    ),`;
}

async function storedAnswer(
  sql: SqlTag,
  { principal, rpc, key }: KeyedAnswer,
): Promise<StoredAnswer | undefined> {
  const [row] = await sql<StoredAnswer[]>`
    select fingerprint, status, response from idempotency_keys
    where principal = ${principal} and rpc = ${rpc} and key = ${key} and created_at > now() - ${ms(sql, KEY_LIFE_MS)}`;
  return row;
}
