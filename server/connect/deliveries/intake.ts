/**
 * This file stores deliveries that came in. An answer means that it is on disk. Concurrent deliveries share a
 * statement: while one runs, the next ones gather, so that a storm costs a few commits a second rather than
 * one each. A delivery that is there already is counted and not stored again.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { apiError } from '@svc/proto/http/errors.ts';
import { isConnectionError, isForeignKeyViolation, type SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import type { Delivery } from './store.ts';

export interface Incoming {
  readonly connectionId: string;
  readonly teamId: string;
  /** Within the connection. */
  readonly deliveryId: string;
  readonly event: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface Stored {
  readonly id: string;
  /** It is false when the delivery was there already. */
  readonly isNew: boolean;
  readonly state: Delivery['state'];
  /** The reason why it is not read, or not yet. */
  readonly detail: string | null;
}

export interface Intake {
  /** Undefined when the connection is gone. */
  store(incoming: Incoming): Promise<Stored | undefined>;
}

/** Statements at once: one runs while the next one gathers. */
const PARALLEL_MAX = 2;
const BATCH_MAX = 200;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** Limit of the bodies that wait; more than that means that the database is gone or too slow. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;

interface Waiter {
  readonly incoming: Incoming;
  settle(stored: Stored | undefined): void;
  fail(error: unknown): void;
}

/** Waiters for the same delivery. */
type Same = readonly [Waiter, ...Waiter[]];

export function createIntake(sql: SqlTag, onStored: () => void): Intake {
  const waiting: Waiter[] = [];
  let waitingBytes = 0;
  let running = 0;

  const flush = async (): Promise<void> => {
    const batch = waiting.splice(0, sizeOfBatch(waiting));
    for (const { incoming } of batch) waitingBytes -= incoming.body.length;
    running += 1;
    await storeBatch(sql, groupSame(batch));
    running -= 1;
    onStored();
    if (waiting.length > 0 && running < PARALLEL_MAX) void flush();
  };
  return {
    store: async (incoming) => {
      if (waitingBytes + incoming.body.length > WAITING_BYTES_MAX)
        throw apiError(
          'unavailable',
          `webhooks of ${waitingBytes} bytes wait to be stored already, at most ${WAITING_BYTES_MAX} may`,
          { retryAfterMs: 1_000 },
        );
      return await new Promise((settle, fail) => {
        waiting.push({ incoming, settle, fail });
        waitingBytes += incoming.body.length;
        if (running < PARALLEL_MAX) void flush();
      });
    },
  };
}

/** Takes at least one, however large it is. */
function sizeOfBatch(waiting: readonly Waiter[]): number {
  let bytes = 0;
  let count = 0;
  for (const { incoming } of waiting) {
    bytes += incoming.body.length;
    if (count === BATCH_MAX || (count > 0 && bytes > BATCH_BYTES_MAX)) break;
    count += 1;
  }
  return count;
}

/**
 * Sorts deliveries in one order for all batches, so that two of them that hold the same deliveries never wait
 * for each other.
 */
function groupSame(batch: readonly Waiter[]): readonly Same[] {
  const groups = new Map<string, [Waiter, ...Waiter[]]>();
  for (const waiter of batch) {
    const key = keyOf(waiter.incoming);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [waiter]);
    else group.push(waiter);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

const keyOf = ({ connectionId, deliveryId }: Pick<Incoming, 'connectionId' | 'deliveryId'>): string =>
  `${connectionId} ${deliveryId}`;

/** Never rejects: each waiter gets the result or the error. */
async function storeBatch(sql: SqlTag, groups: readonly Same[]): Promise<void> {
  try {
    const stored = await insertAll(sql, groups);
    for (const group of groups) {
      const row = stored.get(keyOf(group[0].incoming));
      group.forEach(({ settle }, n) => settle(row && { ...row, isNew: row.isNew && n === 0 }));
    }
  } catch (error) {
    // A connection that was deleted between look and insert, or is being deleted, must not cost what came for
    // the others.
    if (!isConnectionError(error) && groups.length > 1) {
      for (const group of groups) await storeBatch(sql, [group]);
      return;
    }
    for (const { settle, fail } of groups.flat()) {
      if (isForeignKeyViolation(error)) settle(undefined);
      else fail(error);
    }
  }
}

/** Detail of deliveries that come while the connection takes no webhooks. */
const TURNED_AWAY =
  'the CI connection takes direct reports alone; to have it take webhooks: svc ci connections update {id} --ingest-mode both';
/** Detail of deliveries that come while the connection is paused. */
export const HELD = 'the CI connection is paused; it is read when the connection is active again';

/**
 * The state of a delivery is decided by the connection as this statement reads it, and the connection's row
 * is held until that is on disk: whoever pauses it or makes it active again does so before or after. The
 * bodies travel as one value with their lengths: an array of them would be escaped and scanned byte by byte.
 * What was turned away for the connection's mode is taken when the provider sends it again in another one.
 * The `limit` takes all: without it the database expects ten rows whatever comes, finds their look-ups dear,
 * and plans the statement anew each time.
 */
async function insertAll(sql: SqlTag, groups: readonly Same[]): Promise<ReadonlyMap<string, Stored>> {
  const all = groups.map(([first, ...again]) => ({
    id: newId('ciw'),
    ...first.incoming,
    again: again.length,
  }));
  let end = 0;
  const offsets = all.map(({ body }) => (end += body.length) - body.length + 1);
  const rows = await sql<Array<Omit<Stored, 'isNew'> & Pick<Incoming, 'connectionId' | 'deliveryId'>>>`
    insert into ci_deliveries as d (id, team_id, connection_id, delivery_id, event, state, detail, headers, body, repeats, due_at, received_at, processed_at)
    select id, team_id, connection_id, delivery_id, event, state, case state
        when 'held' then ${HELD} when 'ignored' then replace(${TURNED_AWAY}, '{id}', connection_id)
      end, headers, body, again, case when state = 'received' then now() end, now(), case when state = 'ignored' then now() end
    from (
      select a.id, c.team_id, c.id as connection_id, a.delivery_id, a.event, a.headers::jsonb as headers, a.again,
        substring(${Buffer.concat(all.map(({ body }) => body))}::bytea from a.start for a.length) as body,
        case when c.ingest_mode = 'direct' then 'ignored' when c.status = 'paused' then 'held' else 'received' end as state
      from (select * from unnest(${all.map(({ id }) => id)}::text[], ${all.map((one) => one.connectionId)}::text[], ${all.map((one) => one.deliveryId)}::text[],
        ${all.map((one) => one.event ?? null)}::text[], ${all.map((one) => JSON.stringify(one.headers))}::text[], ${offsets}::int4[],
        ${all.map(({ body }) => body.length)}::int4[], ${all.map(({ again }) => again)}::int4[])
        limit ${all.length}::int) as a (id, connection_id, delivery_id, event, headers, start, length, again)
      join ci_connections c on c.id = a.connection_id for share of c
    ) come
    on conflict (connection_id, delivery_id) do update set repeats = d.repeats + 1 + excluded.repeats,
      state = case when d.state = 'ignored' and d.attempts = 0 then excluded.state else d.state end,
      detail = case when d.state = 'ignored' and d.attempts = 0 then excluded.detail else d.detail end,
      due_at = case when d.state = 'ignored' and d.attempts = 0 then excluded.due_at else d.due_at end,
      processed_at = case when d.state = 'ignored' and d.attempts = 0 then excluded.processed_at else d.processed_at end
    returning d.id, d.connection_id as "connectionId", d.delivery_id as "deliveryId", d.state, d.detail`;
  const made = new Set(all.map(({ id }) => id));
  return new Map(
    rows.map(({ id, state, detail, ...key }) => [keyOf(key), { id, state, detail, isNew: made.has(id) }]),
  );
}
