/**
 * Sends deliveries, each by a job of its own:
 *
 *     pending ──2xx──> delivered
 *        │ ^ │ └─ anything else: again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 24 h └──the last of them
 *        fails──> failed
 *
 * It is sent outside of any transaction, and what came of it is written only if the delivery is still at the
 * attempt that was begun. The same message may arrive twice; its id is the same then.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { JobFailed, type Job, type JobKind } from '../../kit/jobs/index.ts';
import type { SafeFetch } from '../../base/safe-fetch.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Attempt, webhookDeliveries, webhookEndpoints } from './schema.ts';
import { signedHeaders } from './sign.ts';
import { ms, rowId } from '../../base/sql.ts';
import { DELIVERY_JOB } from './store.ts';
import type { RowOf } from '../../kit/resource/index.ts';

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
const AT_ONCE = 40;
const OF_TEAM = 20;
/** Longer than an attempt can take: the fetch has a limit of its own. */
const TIMEOUT_MS = 30 * SECOND;
const GONE = 410;
/** The answer is read to its end for the connection's sake, and thrown away. */
const ANSWER_BYTES_MAX = 65_536;

export interface DeliverDeps {
  readonly sql: SqlTag;
  readonly secrets: Pick<Secrets, 'open'>;
  readonly fetch: SafeFetch;
}

type Due = Pick<RowOf<typeof webhookDeliveries>, 'id' | 'endpointId' | 'body' | 'attemptCount'> &
  Pick<RowOf<typeof webhookEndpoints>, 'url' | 'secret' | 'previousSecret'>;

/** A secret is sealed for this place. */
export const secretPlace = (endpointId: string): string => `webhook_endpoints.secret:${endpointId}`;

/** The attempt begins. Undefined: the delivery is over, or went with its endpoint. */
async function begin(sql: SqlTag, id: string): Promise<Due | undefined> {
  const [due] = await sql<Due[]>`
    update webhook_deliveries d set attempt_count = d.attempt_count + 1 from webhook_endpoints h
    where d.id = ${id} and d.state = 'pending' and h.id = d.endpoint_id
    returning d.id, d.endpoint_id as "endpointId", d.body, d.attempt_count as "attemptCount", h.url, h.secret,
      case when h.previous_until > now() then h.previous_secret end as "previousSecret"`;
  return due;
}

export function deliveryJob(deps: DeliverDeps): JobKind<{ readonly deliveryId: string }> {
  return {
    kind: DELIVERY_JOB,
    attempts: RETRY_MS.length + 1,
    backoff: (attempts) => RETRY_MS[attempts - 1] ?? 0,
    concurrency: AT_ONCE,
    perTeam: OF_TEAM,
    timeoutMs: TIMEOUT_MS,
    run: async (job, signal) => {
      const due = await begin(deps.sql, job.payload.deliveryId);
      if (due !== undefined) await attempt(deps, { due, job }, signal);
    },
    gaveUp: async ({ payload }) => await giveUp(deps.sql, payload.deliveryId),
  };
}

interface Attempted {
  readonly due: Due;
  readonly job: Pick<Job, 'retryInMs'>;
}

async function attempt(deps: DeliverDeps, { due, job }: Attempted, signal: AbortSignal): Promise<void> {
  const at = new Date();
  const startedMs = performance.now();
  const { status, error } = await post(deps, { due, at }, signal);
  // Stopped in the middle: whether it arrived is not known. The next worker sends it again, with the same id.
  signal.throwIfAborted();
  const durationMs = Math.round(performance.now() - startedMs);
  const made: Attempt = { at: at.toISOString(), durationMs, status: status ?? null, error };
  if (error === '') return await settleWell(deps.sql, due, made);
  const isTriedAgain = await settleBadly(deps.sql, { due, made, retryInMs: job.retryInMs });
  throw new JobFailed(error, { isFinal: !isTriedAgain });
}

async function post(
  { secrets, fetch }: DeliverDeps,
  { due, at }: { readonly due: Due; readonly at: Date },
  signal: AbortSignal,
): Promise<{ readonly status?: number; readonly error: string }> {
  const { id, endpointId, body, url, secret, previousSecret } = due;
  const open = (sealed: string): string =>
    Buffer.from(secrets.open(secretPlace(endpointId), sealed)).toString();
  const keys = [secret, ...(previousSecret === null ? [] : [previousSecret])].map(open);
  const timestamp = Math.floor(at.getTime() / SECOND);
  try {
    const about = { 'content-type': 'application/json', 'user-agent': 'svc-webhooks/1' };
    const headers = { ...about, ...signedHeaders({ id, timestamp, body }, keys) };
    const request = { method: 'POST', url, headers, body, bytesMax: ANSWER_BYTES_MAX, signal } as const;
    const { status } = await fetch(request);
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

interface Failure {
  readonly due: Due;
  readonly made: Attempt;
  readonly retryInMs: number | undefined;
}

/** It is true if the delivery waits for another attempt. */
async function settleBadly(sql: SqlTag, { due, made, retryInMs }: Failure): Promise<boolean> {
  const { id, endpointId, url, attemptCount } = due;
  const isLast = retryInMs === undefined;
  const gone = made.status === GONE;
  const [after] = await sql<Array<{ state: string }>>`
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
      state = case when a.enabled and not ${isLast}::boolean then 'pending' else 'failed' end,
      next_attempt_at = case when a.enabled and not ${isLast}::boolean then now() + ${ms(sql, retryInMs ?? 0)} end
    from ailing a
    where d.id = ${id} and d.attempt_count = ${attemptCount}::int and d.state = 'pending'
    returning d.state`;
  return after?.state === 'pending';
}

/** Ends what no attempt has settled: its workers were lost, or failed by themselves. */
async function giveUp(sql: SqlTag, id: string): Promise<void> {
  await sql`update webhook_deliveries set state = 'failed', next_attempt_at = null where id = ${id} and state = 'pending'`;
}
