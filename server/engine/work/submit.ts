/**
 * Makes new items durable: the teams' pools, the limits on waiting items, the Idempotency-Keys and the rows
 * themselves, in one statement for those that come together. A row is its own outbox: the hint that follows
 * may get lost, or is never sent because the broker is down or this process ends; the relay finds the row.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { apiError } from '@svc/proto/http/errors.ts';
import { inBatches } from '@svc/proto/process/batches.ts';
import type { WorkHint, WorkKind, WorkQueue } from '@svc/proto/queue/queue.ts';
import type { IdempotencyClaim } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { KEY_LIFE_MS } from '../../kit/idempotency.ts';
import { admitAgent, type SubmittingAgent } from './agents.ts';
import { batching } from './nonces.ts';
import { poolColumn } from './pool.ts';
import { createQueueRoom, type QueueRoom } from './queue-room.ts';
import { DEFAULT_PLACEMENT, routeId, routeJoin, ROUTES_MAX, type Placement } from './routes.ts';
import type { WorkSettings } from './settings.ts';
import { beginTurns } from './turns.ts';
import { fewRows, ms } from '../../base/sql.ts';

export interface NewWork {
  readonly id: string;
  readonly kind: WorkKind;
  readonly teamId: string;
  readonly createdBy: string;
  /** Agents submit within a transaction alone. */
  readonly agent?: SubmittingAgent | undefined;
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
  /** What is left out is the default. */
  readonly placement?: Placement;
}

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

export interface Submission {
  readonly work: NewWork;
  readonly keyed?: KeyedAnswer | undefined;
}

export interface Submit {
  /**
   * Submits together with others of the same moment. Resolves with what the first call with this key left, if
   * this is not it; whether it was the same request is for `replay` of the platform to see.
   */
  (submission: Submission): Promise<StoredAnswer | undefined>;
  /** The same as a part of a transaction, by itself. */
  within(db: Database, submission: Submission): Promise<StoredAnswer | undefined>;
}

export interface SubmitDeps {
  readonly sql: SqlTag;
  readonly queue: WorkQueue;
  readonly settings: WorkSettings;
  /** A hint that was not published; the relay publishes it again. */
  onError(error: unknown): void;
}

interface Row {
  readonly pool: string | null;
  /**
   * Items that wait already, at most the limit; 0 when this statement does not count. Null: there is no such
   * team.
   */
  readonly queued: number | null;
  /**
   * The installation's, or the plan's where that is lower, as is the next one, in seconds. Money writes the
   * tables of both, and of gates.
   */
  readonly queuedMax: number | null;
  readonly timeoutMax: number | null;
  /** Cause and figures of the gate that holds it; of several gates one is told. Null: none holds it. */
  readonly cause: string | null;
  readonly details: Readonly<Record<string, unknown>> | null;
  /** There was room for it, and nothing holds it. */
  readonly fits: boolean;
  /** The pool has a route for it. */
  readonly routed: boolean;
  readonly created: boolean;
}

const ITEMS_MAX = 64;
/** The length of stored specifications, in characters. */
const TOGETHER_MAX = 1_048_576;

const placementColumns = ({ selector, priority, queueTimeoutSeconds, maxAttempts }: Placement) => ({
  selector,
  priority,
  queue_timeout: queueTimeoutSeconds,
  max_attempts: maxAttempts,
});

const queueOf = ({ kind, teamId }: NewWork): string => `${kind} ${teamId}`;
const keyOf = ({ principal, rpc, key }: KeyedAnswer): string => `${principal}\n${rpc}\n${key}`;

export function createSubmit({ sql, queue, settings, onError }: SubmitDeps): Submit {
  const hint = (submissions: readonly Submission[], rows: readonly Row[]): void => {
    if (!queue.up) return;
    for (const each of hintsOf(submissions, rows)) queue.hint(each).catch(onError);
  };
  const room = createQueueRoom(() => performance.now());
  const store = inBatches<Submission, Row>({
    ...batching,
    itemsMax: ITEMS_MAX,
    // The second call with a key has to find what the first one left.
    keysOf: ({ keyed }) => (keyed === undefined ? [] : [keyOf(keyed)]),
    sizeOf: ({ work: { spec } }) => JSON.stringify(spec).length,
    sizeMax: TOGETHER_MAX,
    run: async (submissions) => {
      const rows = await storeTogether(sql, { settings, room }, submissions);
      hint(submissions, rows);
      return rows;
    },
  });
  return Object.assign(
    async (submission: Submission) => await outcomeOf(sql, { submission, row: await store(submission) }),
    {
      within: async (db: Database, submission: Submission) => {
        const { work, keyed } = submission;
        if (work.agent !== undefined) {
          // A repeated call is answered, whatever the agent may do by now.
          const earlier = keyed && (await storedAnswer(db.sql, keyed));
          if (earlier !== undefined) return earlier;
          await admitAgent(db, { teamId: work.teamId, id: work.agent.id });
        }
        const rows = await storeTogether(db.sql, { settings, room }, [submission]);
        const stored = await outcomeOf(db.sql, { submission, row: rows[0]! });
        db.afterCommit(() => hint([submission], rows));
        return stored;
      },
    },
  );
}

/** Makes one hint of each pool and kind. */
function hintsOf(submissions: readonly Submission[], rows: readonly Row[]): Iterable<WorkHint> {
  const hints = new Map<string, WorkHint>();
  submissions.forEach(({ work: { id, kind } }, n) => {
    const { pool = null, created = false } = rows[n] ?? {};
    if (pool === null || !created) return;
    const { workId = id, count = 0 } = hints.get(`${kind} ${pool}`) ?? {};
    hints.set(`${kind} ${pool}`, { workId, poolId: pool, kind, count: count + 1 });
  });
  return hints.values();
}

function askedColumns({ work, keyed }: Submission) {
  return {
    id: work.id,
    kind: work.kind,
    team_id: work.teamId,
    spec: work.spec,
    labels: work.labels,
    needs_container: work.needsContainer,
    timeout_ms: work.timeoutMs,
    log_limit: work.logLimit,
    build_id: work.buildId ?? null,
    ...placementColumns(work.placement ?? DEFAULT_PLACEMENT),
    created_by: work.createdBy,
    agent_id: work.agent?.id ?? null,
    agent_key_id: work.agent?.keyId ?? null,
    approval_id: work.agent?.approvalId ?? null,
    created_at: work.createdAt,
    ...(keyed && {
      principal: keyed.principal,
      rpc: keyed.rpc,
      key: keyed.key,
      fingerprint: Buffer.from(keyed.fingerprint).toString('base64'),
      status: keyed.status,
      response: Buffer.from(keyed.response).toString('base64'),
    }),
  };
}

/** These are the columns of the route of a row of `fitting`. */
const wanted = (sql: SqlTag) => ({ pool: sql`f.pool`, kind: sql`f.kind`, selector: sql`f.selector` });

/** Selects where the items of `asked` go, and how many may wait there. */
const queues = (sql: SqlTag, { queuedMax }: WorkSettings) => sql`
  select q.team_id, q.kind, p.pool, p.shared, least(${queuedMax}::int, l.queued_max) as queued_max, l.run_timeout_seconds_max as timeout_max, (
    select count(*)::int from (
      select from work_routes o
      cross join lateral (select from work_items w where w.route_id = o.id and w.team_id = q.team_id and w.state = 'queued' offset 0) w
      where q.counts and o.pool_id = p.pool and o.kind = q.kind
      limit least(${queuedMax}::int, l.queued_max)
    ) waiting
  ) as queued
  from (select team_id, kind, bool_or(counts) as counts from asked group by team_id, kind) q
  cross join lateral (
    select ${poolColumn(sql)} as pool, r.operator <> 'customer' or t.service_pool as shared from teams t join regions r on r.id = t.region_id where t.id = q.team_id
  ) p
  left join team_limits l on l.team_id = q.team_id`;

/**
 * Selects the items of `asked` that a gate holds: one of the team, or of the environment that a run's label
 * names or a build is of, or of its project. Another item of a build that was let in is no new work.
 */
const heldItems = (sql: SqlTag) => sql`
  select a.n, g.cause, g.details from asked a cross join lateral (
    select s.cause, s.details from spend_gates s
    where s.team_id = a.team_id and not exists (select from work_items w where w.build_id = a.build_id) and (s.scope = '' or exists (
      select from environments e where e.team_id = a.team_id and s.scope in (e.id, e.project_id)
        and e.id = coalesce((select b.environment_id from builds b where b.id = a.build_id), a.labels ->> 'environment')))
    order by s.cause desc, s.scope limit 1
  ) g where exists (select from spend_gates)`;

async function storeTogether(
  sql: SqlTag,
  { settings, room }: { readonly settings: WorkSettings; readonly room: QueueRoom },
  submissions: readonly Submission[],
): Promise<readonly Row[]> {
  const asked = submissions.map((submission, n) => ({
    ...askedColumns(submission),
    n,
    counts: room.mustCount(queueOf(submission.work)),
  }));
  const sinceMs = performance.now();
  const rows = await sql<Row[]>`
    with asked as materialized (
      ${fewRows(
        sql,
        asked,
        sql`n int, id text, kind text, team_id text, spec jsonb, labels jsonb, needs_container boolean, timeout_ms int, log_limit int, build_id text,
          selector jsonb, priority int, queue_timeout int, max_attempts int, created_by text, agent_id text, agent_key_id text, approval_id text, created_at timestamptz, counts boolean,
          principal text, rpc text, key text, fingerprint text, status int, response text`,
      )}
    ),
    queue as materialized (${queues(sql, settings)}),
    held as materialized (${heldItems(sql)}),
    fitting as materialized (
      select a.*, q.pool, q.shared
      from (select *, row_number() over (partition by team_id, kind order by n) as place from asked) a
        join queue q on q.team_id = a.team_id and q.kind = a.kind
      where q.pool is not null and q.queued + a.place <= q.queued_max and (a.kind <> 'run' or q.timeout_max is null or a.timeout_ms <= q.timeout_max * 1000)
        and a.n not in (select n from held)
    ),
    routed as materialized (
      select f.*, ${routeId(sql, wanted(sql))} as route_id from fitting f ${routeJoin(sql, wanted(sql))}
    ),
    taken as (
      -- Ours are the keys that come back. A parallel call with one of them waits here for the first one's outcome.
      insert into idempotency_keys (principal, rpc, key, fingerprint, status, response, created_at)
      select f.principal, f.rpc, f.key, decode(f.fingerprint, 'base64'), f.status, decode(f.response, 'base64'), clock_timestamp()
      from routed f where f.key is not null and f.route_id is not null order by f.principal, f.rpc, f.key
      on conflict (principal, rpc, key) do update set
        fingerprint = excluded.fingerprint, status = excluded.status, response = excluded.response, created_at = excluded.created_at
        where idempotency_keys.created_at <= now() - ${ms(sql, KEY_LIFE_MS)}
      returning principal, rpc, key
    ),
    item as (
      insert into work_items (id, team_id, kind, pool_id, state, spec, labels, needs_container, timeout_ms, log_limit,
        build_id, selector, route_id, priority, queue_timeout_seconds, queue_expires_at, max_attempts,
        run_after, hint_due_at, created_by, agent_id, agent_key_id, approval_id, created_at)
      select f.id, f.team_id, f.kind, f.pool, 'queued', f.spec, f.labels, f.needs_container, f.timeout_ms, f.log_limit,
        f.build_id, f.selector, f.route_id, f.priority, f.queue_timeout, clock_timestamp() + f.queue_timeout * interval '1 second', f.max_attempts,
        clock_timestamp(), clock_timestamp() + ${ms(sql, settings.hintFirstMs)}, f.created_by, f.agent_id, f.agent_key_id, f.approval_id, f.created_at
      from routed f
      where f.route_id is not null and (f.key is null or (f.principal, f.rpc, f.key) in (select principal, rpc, key from taken))
      returning id, pool_id, kind, team_id
    ),
    ${beginTurns(sql, sql`select i.pool_id, i.kind, i.team_id from item i join queue q on q.team_id = i.team_id and q.kind = i.kind where q.shared`)}
    select q.pool, q.queued, q.queued_max as "queuedMax", q.timeout_max as "timeoutMax", h.cause, h.details,
      f.id is not null as fits, f.route_id is not null as routed, i.id is not null as created
    from asked a left join queue q on q.team_id = a.team_id and q.kind = a.kind left join routed f on f.n = a.n left join item i on i.id = a.id left join held h on h.n = a.n
    order by a.n`;
  submissions.forEach(({ work }, n) => {
    const { queued = null, queuedMax = null } = rows[n] ?? {};
    if (asked[n]?.counts === true)
      room.counted(queueOf(work), { count: queued ?? 0, limit: queuedMax ?? 0, sinceMs });
  });
  // This comes behind all counts, because they are of before the statement.
  submissions.forEach(({ work }, n) => rows[n]?.created === true && room.added(queueOf(work)));
  return rows;
}

async function outcomeOf(
  sql: SqlTag,
  { submission: { work, keyed }, row }: { readonly submission: Submission; readonly row: Row },
): Promise<StoredAnswer | undefined> {
  if (row.created) return undefined;
  const earlier = keyed === undefined ? undefined : await storedAnswer(sql, keyed);
  if (earlier !== undefined) return earlier;
  if (row.pool === null) {
    throw apiError(
      'unavailable',
      `team ${work.teamId} has no pool of runners: the service's own pool is not set up`,
    );
  }
  if (row.cause !== null) {
    const { resetsAt, changedBy, projectId, environmentId } = row.details ?? {};
    const whose =
      projectId !== undefined
        ? `project ${projectId}`
        : environmentId !== undefined
          ? `environment ${environmentId}`
          : `team ${work.teamId}`;
    const message = `new ${work.kind}s of ${whose} are refused by its ${row.cause.replace('_', ' ')}, until ${resetsAt}; ${changedBy} can change that before`;
    throw apiError('spend_refused', message, { details: { cause: row.cause, ...row.details } });
  }
  if (!row.fits && work.kind === 'run' && work.timeoutMs > (row.timeoutMax ?? Infinity) * 1_000) {
    const message = `limits.timeoutSeconds is ${work.timeoutMs / 1_000}, at most ${row.timeoutMax} are in the plan of team ${work.teamId}`;
    const fields = [{ field: 'limits.timeoutSeconds', rule: 'plan', message }];
    throw apiError('validation_failed', message, { details: { resource: 'sandbox run', fields } });
  }
  if (!row.fits) {
    throw apiError(
      'limit_reached',
      `team ${work.teamId} has ${row.queuedMax} queued ${work.kind}s, which is the limit; let some finish`,
      {
        details: {
          resource: work.kind === 'run' ? 'sandbox run' : 'build',
          limit: row.queuedMax,
        },
        retryable: true,
        retryAfterMs: 5_000,
      },
    );
  }
  if (!row.routed) {
    throw apiError(
      'limit_reached',
      `work that waits in the pool asks for ${ROUTES_MAX} different selections of runners, which is the limit; ask for one of those, or for fewer labels`,
      { details: { resource: 'runner selector', limit: ROUTES_MAX } },
    );
  }
  // The key was taken by a call that then rolled back: doing it again is what the caller would do.
  throw apiError(
    'idempotency_in_progress',
    'another call with the same Idempotency-Key has not finished; try again',
    { retryAfterMs: 1_000 },
  );
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
