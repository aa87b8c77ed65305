/**
 * Sends what is due, any number of workers at once:
 *
 *     pending ──2xx──> delivered
 *        │ ^
 *        │ └─ anything else: again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 24 h
 *        └──the last of them fails──> failed
 *
 * A worker takes a delivery by moving its next attempt ahead, sends outside of any transaction, and writes what came of it only if the
 * delivery is still at the attempt that it began: a worker that dies loses a minute and no delivery. The same message may arrive twice; its
 * id is the same then.
 */
import type { SafeFetch } from '../../platform/safe-fetch.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { Attempt } from './schema.ts';
import { signedHeaders } from './sign.ts';
import { startLoop } from '../../platform/loop.ts';
import { rowId } from '../../platform/sql.ts';
import type { Loop } from '../../platform/loop.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waits between attempts. */
export const RETRY_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  24 * HOUR,
];
/** An endpoint that answered nothing well for so long is disabled. */
export const DISABLE_AFTER_DAYS = 5;
const EVERY_MS = 1_000;
/** Attempts of one pass at once; of one endpoint, so that a slow one does not take all. */
const BATCH = 20;
const BATCH_ENDPOINT = 4;
/** Longer than an attempt can take: then its worker is taken for dead. */
const CLAIM_MS = MINUTE;
const GONE = 410;
/** The answer is read to its end for the connection's sake, and thrown away. */
const ANSWER_BYTES_MAX = 65_536;

export interface DeliverDeps {
  readonly sql: SqlTag;
  readonly secrets: Pick<Secrets, 'open'>;
  readonly fetch: SafeFetch;
  onError(error: unknown): void;
}

interface Due {
  readonly id: string;
  readonly endpointId: string;
  readonly body: string;
  readonly attemptCount: number;
  readonly url: string;
  readonly secret: string;
  readonly previousSecret: string | null;
}

/** Where a secret is sealed for. */
export const secretPlace = (endpointId: string): string => `webhook_endpoints.secret:${endpointId}`;

async function takeDue(sql: SqlTag): Promise<readonly Due[]> {
  return await sql<Due[]>`
    with first as (
      select d.id, d.endpoint_id, d.next_attempt_at from webhook_deliveries d
      where d.state = 'pending' and d.next_attempt_at <= now() order by d.next_attempt_at limit ${BATCH * 50}::int
    ),
    fair as (
      select f.id, row_number() over (partition by f.endpoint_id order by f.next_attempt_at, f.id) as place from first f
    ),
    due as (
      select d.id from webhook_deliveries d
      where d.id in (select f.id from fair f where f.place <= ${BATCH_ENDPOINT}::int) and d.state = 'pending' and d.next_attempt_at <= now()
      order by d.next_attempt_at limit ${BATCH}::int for update skip locked
    )
    update webhook_deliveries d set
      next_attempt_at = clock_timestamp() + ${CLAIM_MS}::int * interval '1 millisecond', attempt_count = d.attempt_count + 1
    from due, webhook_endpoints h
    where d.id = due.id and h.id = d.endpoint_id
    returning d.id, d.endpoint_id as "endpointId", d.body, d.attempt_count as "attemptCount", h.url, h.secret,
      case when h.previous_until > now() then h.previous_secret end as "previousSecret"`;
}

/** One pass. Returns how many attempts were made. */
export async function deliverDue(deps: DeliverDeps, signal?: AbortSignal): Promise<number> {
  const due = await takeDue(deps.sql);
  await Promise.all(due.map(async (delivery) => await attempt(deps, delivery, signal)));
  return due.length;
}

async function attempt(deps: DeliverDeps, due: Due, signal: AbortSignal | undefined): Promise<void> {
  const at = new Date();
  const startedMs = performance.now();
  const { status, error } = await post(deps, due, at, signal);
  // Stopped in the middle: whether it arrived is not known. The next worker sends it again, with the same id.
  if (signal?.aborted === true) return;
  const durationMs = Math.round(performance.now() - startedMs);
  const made: Attempt = { at: at.toISOString(), durationMs, status: status ?? null, error };
  await (error === '' ? settleWell(deps.sql, due, made) : settleBadly(deps.sql, due, made));
}

async function post(
  { secrets, fetch }: DeliverDeps,
  { id, endpointId, body, url, secret, previousSecret }: Due,
  at: Date,
  signal: AbortSignal | undefined,
): Promise<{ readonly status?: number; readonly error: string }> {
  const open = (sealed: string): string =>
    Buffer.from(secrets.open(secretPlace(endpointId), sealed)).toString();
  const keys = [secret, ...(previousSecret === null ? [] : [previousSecret])].map(open);
  const timestamp = Math.floor(at.getTime() / SECOND);
  try {
    const { status } = await fetch({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'svc-webhooks/1',
        ...signedHeaders({ id, timestamp, body }, keys),
      },
      body,
      bytesMax: ANSWER_BYTES_MAX,
      ...(signal === undefined ? {} : { signal }),
    });
    const well = status >= 200 && status < 300;
    const redirect = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
    return { status, error: well ? '' : `the answer was ${status}, expected 2xx${redirect}` };
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'the request failed' };
  }
}

async function settleWell(sql: SqlTag, { id, endpointId, attemptCount }: Due, made: Attempt): Promise<void> {
  await sql`
    with settled as (
      update webhook_deliveries d set state = 'delivered', next_attempt_at = null, attempts = d.attempts || ${sql.json([{ ...made }])}::jsonb
      where d.id = ${id} and d.attempt_count = ${attemptCount}::int and d.state = 'pending'
    )
    update webhook_endpoints h set failing_since = null where h.id = ${endpointId} and h.failing_since is not null`;
}

async function settleBadly(
  sql: SqlTag,
  { id, endpointId, url, attemptCount }: Due,
  made: Attempt,
): Promise<void> {
  const wait = RETRY_MS[attemptCount - 1] ?? null;
  const gone = made.status === GONE;
  await sql`
    with before as materialized (select h.id, h.enabled from webhook_endpoints h where h.id = ${endpointId} for update),
    ailing as (
      update webhook_endpoints h set failing_since = coalesce(h.failing_since, now()),
        enabled = h.enabled and not (${gone}::boolean or coalesce(h.failing_since < now() - ${DISABLE_AFTER_DAYS}::int * interval '1 day', false)),
        disabled_reason = case
          when not h.enabled then h.disabled_reason
          when ${gone}::boolean then 'it answered 410: gone'
          when h.failing_since < now() - ${DISABLE_AFTER_DAYS}::int * interval '1 day'
            then ${`it answered nothing well for ${DISABLE_AFTER_DAYS} days`}::text
          else '' end
      from before b
      where h.id = b.id
      returning h.id, h.team_id, h.url, h.enabled, h.disabled_reason, b.enabled and not h.enabled as fell
    ),
    told as (
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select ${rowId(sql, 'evt')}, a.team_id, 'webhook_endpoint.disabled', a.id || ' ' || ${id}, 
        jsonb_build_object('endpointId', a.id, 'host', ${new URL(url).host}::text, 'reason', a.disabled_reason), clock_timestamp()
      from ailing a where a.fell
    ),
    given_up as (
      update webhook_deliveries d set state = 'failed', next_attempt_at = null
      where d.endpoint_id = ${endpointId} and d.state = 'pending' and d.id <> ${id} and exists (select from ailing where not enabled)
    )
    update webhook_deliveries d set
      attempts = d.attempts || ${sql.json([{ ...made }])}::jsonb,
      state = case when a.enabled and ${wait}::bigint is not null then 'pending' else 'failed' end,
      next_attempt_at = case when a.enabled and ${wait}::bigint is not null then now() + ${wait}::bigint * interval '1 millisecond' end
    from ailing a
    where d.id = ${id} and d.attempt_count = ${attemptCount}::int and d.state = 'pending'`;
}

export function startDeliveries(deps: DeliverDeps): Loop {
  const stopping = new AbortController();
  const loop = startLoop({
    everyMs: EVERY_MS,
    onError: deps.onError,
    run: async () => (await deliverDue(deps, stopping.signal)) > 0,
  });
  return {
    wake: loop.wake,
    stop: async () => {
      stopping.abort();
      await loop.stop();
    },
  };
}
