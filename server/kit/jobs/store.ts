/** Jobs in the database, whose clock alone decides what is due. */
import { nextEpoch, type Database, type SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { ms, rowId, type Fragment } from '../../base/sql.ts';
import type { Job, Payload } from './kind.ts';

const DEAD_KEPT_MS = 30 * 24 * 60 * 60_000;
/** Characters of an error that are kept. */
const ERROR_MAX = 1_000;

export interface NewJob {
  /** It is null for work of the installation. */
  readonly teamId: string | null;
  readonly kind: string;
  /** Subject of the job, with a word for its kind, since lanes of all kinds are one set. */
  readonly lane: string;
  readonly key?: string;
  readonly payload?: Payload;
  /** Default: at once. */
  readonly inMs?: number;
}

/** Each wakes a worker of this process. */
const workers = new Set<() => void>();

/** Returns how it is ended. */
export function onWake(wake: () => void): () => void {
  workers.add(wake);
  return () => void workers.delete(wake);
}

/**
 * Workers of this process look for jobs once the transaction has committed. Those of other processes look
 * every second.
 */
export function wakeWorkers(db: Pick<Database, 'afterCommit'>): void {
  db.afterCommit(() => {
    for (const wake of workers) wake();
  });
}

/**
 * Added again while it waits, a job of a key takes the newer payload and time; while it runs, it runs once
 * more.
 */
export async function addJob(db: Database, job: NewJob): Promise<void> {
  const { teamId, kind, lane, key = null, payload = {}, inMs = 0 } = job;
  const { sql } = db;
  await sql`
    insert into jobs (id, team_id, kind, key, lane, payload, due_at, created_at)
    values (${newId('job')}, ${teamId}, ${kind}, ${key}, ${lane}, ${sql.json(payload)}, now() + ${ms(sql, inMs)}, now())
    ${again(sql)}`;
  wakeWorkers(db);
}

function again(sql: SqlTag): Fragment {
  return sql`on conflict (kind, key) where state <> 'dead' do update set payload = excluded.payload, version = jobs.version + 1, attempts = 0,
    last_error = null, due_at = case when jobs.state = 'running' then jobs.due_at else excluded.due_at end`;
}

/** Adds a job for each of `rows` (team_id, lane, payload), as a part of the statement that makes them. */
export function jobsAdded(sql: SqlTag, kind: string, rows: Fragment): Fragment {
  return sql`
    insert into jobs (id, team_id, kind, lane, payload, due_at, created_at)
    select ${rowId(sql, 'job')}, r.team_id, ${kind}, r.lane, r.payload, now(), now() from (${rows}) r`;
}

type KeyedJobs = (sql: SqlTag, job: Required<Pick<NewJob, 'kind' | 'inMs'>>, rows: Fragment) => Fragment;

const keyedJobs =
  (onConflict: (sql: SqlTag) => Fragment): KeyedJobs =>
  (sql, { kind, inMs }, rows) =>
    sql`
    insert into jobs (id, team_id, kind, key, lane, payload, due_at, created_at)
    select ${rowId(sql, 'job')}, r.team_id, ${kind}, r.key, r.lane, r.payload, now() + ${ms(sql, inMs)}, now() from (${rows}) r
    order by r.key
    ${onConflict(sql)}`;

/** Adds jobs of rows with a key (team_id, lane, key, payload), which is theirs alone, as `addJob` does it. */
export const keyedJobsAdded = keyedJobs(again);

/** The same, but a job of the key that is there already stays as it is. */
export const missingJobsAdded = keyedJobs(
  (sql) => sql`on conflict (kind, key) where state <> 'dead' do nothing`,
);

/** Says whether a team has jobs of a kind that wait or run. */
export async function hasJobs(
  sql: SqlTag,
  { kind, teamId }: Pick<NewJob, 'kind'> & { readonly teamId: string },
): Promise<boolean> {
  const found = await sql`
    select from jobs where kind = ${kind} and team_id = ${teamId} and state <> 'dead' limit 1`;
  return found.length > 0;
}

/** Returns the condition that a job of this key is open. */
export function isJobOpen(sql: SqlTag, kind: string, key: Fragment): Fragment {
  return sql`exists (select 1 from jobs j where j.kind = ${kind} and j.key = ${key} and j.state <> 'dead')`;
}

export interface Claim {
  readonly kind: string;
  readonly take: number;
  readonly perTeam: number;
  readonly leaseMs: number;
}

export type Claimed = Omit<Job, 'retryInMs'>;

export async function isAnyDue(sql: SqlTag, kinds: readonly string[]): Promise<boolean> {
  const due = await sql`
    select 1 from jobs where state in ('waiting', 'running') and due_at <= now() and kind = any(${[...kinds]}) limit 1`;
  return due.length > 0;
}

/**
 * Jobs that are due: one of each lane, none of a lane that has one at work, the teams of a kind in turns.
 *
 * Workers of all processes take turns for the few milliseconds of a claim: only then does each see every
 * claim before its own.
 */
export async function claimJobs(db: Database, claims: readonly Claim[]): Promise<readonly Claimed[]> {
  return await db.transact(async ({ sql }) => {
    // Sent together; the claim begins, and looks at the jobs, when the lock is there.
    const lock = sql`select pg_advisory_xact_lock(hashtextextended('jobs', 0))`;
    const [, claimed] = await Promise.all([lock.execute(), claimInTurn(sql, claims)]);
    return claimed;
  });
}

/**
 * Due jobs that are read to see whose turn it is; with a longer backlog each team is looked up by its first
 * index entry, so that none reads that of another one.
 */
const LOOK = 1_000;

/** A job whose worker is lost runs still, past its time. */
async function claimInTurn(sql: SqlTag, claims: readonly Claim[]): Promise<readonly Claimed[]> {
  /** Finds the first jobs of one team, or of the installation, each by the index. */
  const firstOf = (ofQueue: Fragment): Fragment => sql`
    (select j.id, j.lane, j.due_at from jobs j
      where j.kind = q.kind and ${ofQueue} and j.state <> 'dead' and j.due_at <= now()
        and (j.state = 'running' or j.lane not in (select lane from busy))
      order by j.due_at, j.id limit greatest(w.per_team - coalesce(s.taken, 0), 0))`;
  return await sql<Claimed[]>`
    with recursive wanted as materialized (
      select * from unnest(${claims.map(({ kind }) => kind)}::text[], ${claims.map(({ take }) => take)}::int[],
        ${claims.map(({ perTeam }) => perTeam)}::int[], ${claims.map(({ leaseMs }) => leaseMs)}::int[]) as w (kind, take, per_team, lease_ms)
    ), busy as materialized (
      select kind, team_id, lane, due_at from jobs where state = 'running'
    ), share as (
      select kind, team_id, count(*) as taken from busy where due_at > now() group by kind, team_id
    ), look as materialized (
      select kind, team_id from jobs
      where state in ('waiting', 'running') and due_at <= now() and kind = any(${claims.map(({ kind }) => kind)}) order by due_at limit ${LOOK}::int
    ), teams_of (kind, team_id) as (
      select w.kind, (select min(j.team_id) from jobs j where j.kind = w.kind and j.state <> 'dead')
      from wanted w where (select count(*) from look) = ${LOOK}::int
      union all
      select t.kind, (select min(j.team_id) from jobs j where j.kind = t.kind and j.state <> 'dead' and j.team_id > t.team_id)
      from teams_of t where t.team_id is not null
    ), queues as (
      select kind, team_id from look union select kind, team_id from teams_of where team_id is not null
      union select kind, null from wanted where (select count(*) from look) = ${LOOK}::int
    ), first as (
      select w.kind, w.take, j.id, j.due_at,
        coalesce(s.taken, 0) + row_number() over (partition by q.kind, q.team_id order by j.due_at, j.id) as turn,
        row_number() over (partition by j.lane order by j.due_at, j.id) as in_lane
      from queues q join wanted w on w.kind = q.kind left join share s on s.kind = q.kind and s.team_id is not distinct from q.team_id
      cross join lateral (
        ${firstOf(sql`j.team_id = q.team_id`)} union all ${firstOf(sql`q.team_id is null and j.team_id is null`)}
      ) j
    ), fair as (
      select *, row_number() over (partition by kind order by turn, due_at, id) as place from first where in_lane = 1
    ), mine as (
      -- Skipped: one that is being added again at this moment.
      select j.id from jobs j where j.id = any(array(select id from fair where place <= take)) and j.state <> 'dead' and (j.due_at <= now()) is true
      for no key update skip locked
    )
    update jobs j set state = 'running', attempts = j.attempts + 1, epoch = ${nextEpoch(sql, sql`j.epoch`)},
      due_at = clock_timestamp() + w.lease_ms * interval '1 millisecond',
      last_error = case when j.state = 'running' then 'its worker was lost' else j.last_error end
    from wanted w where j.id = any(array(select id from mine)) and w.kind = j.kind
    returning j.id, coalesce(j.team_id, '') as "teamId", j.kind, j.key, j.payload, j.attempts, j.epoch, j.version, j.last_error as "lastError"`;
}

/** Puts off when their worker counts as lost. Returns the ids of those that are this worker's still. */
export async function renewJobs(
  sql: SqlTag,
  held: readonly Pick<Job, 'id' | 'epoch'>[],
  leaseMs: number,
): Promise<ReadonlySet<string>> {
  const rows = await sql<Array<{ id: string }>>`
    update jobs j set due_at = clock_timestamp() + ${ms(sql, leaseMs)}
    from unnest(${held.map(({ id }) => id)}::text[], ${held.map(({ epoch }) => epoch)}::int[]) as h (id, epoch)
    where j.id = h.id and j.epoch = h.epoch and j.state = 'running' returning j.id`;
  return new Set(rows.map(({ id }) => id));
}

export type JobClaim = Pick<Job, 'id' | 'epoch' | 'version'>;

/**
 * They are done, but for those that were added again meanwhile. Nothing happens to one whose claim is another
 * worker's by now.
 */
export async function finishJobs(sql: SqlTag, done: readonly JobClaim[]): Promise<void> {
  const held = (some: readonly JobClaim[]): Fragment => sql`
    unnest(${some.map(({ id }) => id)}::text[], ${some.map(({ epoch }) => epoch)}::int[], ${some.map(({ version }) => version)}::int[])
      as d (id, epoch, version)`;
  const ended = await sql<Array<{ id: string }>>`
    delete from jobs j using ${held(done)} where j.id = d.id and j.epoch = d.epoch and j.version = d.version returning j.id`;
  if (ended.length === done.length) return;
  const ids = new Set(ended.map(({ id }) => id));
  await sql`
    update jobs j set state = 'waiting', due_at = now() from ${held(done.filter(({ id }) => !ids.has(id)))}
    where j.id = d.id and j.epoch = d.epoch`;
}

export interface Return {
  readonly inMs: number;
  /** It is undefined where nothing was tried; then no attempt is counted. */
  readonly error?: string;
}

/** It waits again; for the named time, unless it was added again meanwhile. */
export async function returnJob(sql: SqlTag, job: JobClaim, { inMs, error }: Return): Promise<void> {
  const { id, epoch, version } = job;
  const untried = error === undefined ? 1 : 0;
  await sql`
    update jobs set state = 'waiting', attempts = greatest(attempts - ${untried}::int, 0),
      last_error = coalesce(${error?.slice(0, ERROR_MAX) ?? null}, last_error),
      due_at = case when version = ${version} then now() + ${ms(sql, inMs)} else now() end
    where id = ${id} and epoch = ${epoch}`;
}

/**
 * No further attempt; unless it was added again meanwhile. What is sealed in the payload was for attempts
 * alone and goes.
 */
export async function buryJob(sql: SqlTag, { id, epoch, version }: JobClaim, reason: string): Promise<void> {
  await sql`
    update jobs set last_error = ${reason.slice(0, ERROR_MAX)}, state = case when version = ${version} then 'dead' else 'waiting' end,
      due_at = case when version = ${version} then now() + ${ms(sql, DEAD_KEPT_MS)} else now() end,
      payload = case when version = ${version} then payload - 'sealed' else payload end
    where id = ${id} and epoch = ${epoch}`;
}

/** Dead ones are kept for 30 days. */
export async function purgeJobs(sql: SqlTag): Promise<number> {
  const { count } = await sql`delete from jobs where state = 'dead' and due_at < now()`;
  return count;
}

export interface KindFigures {
  readonly kind: string;
  readonly waiting: number;
  readonly running: number;
  readonly dead: number;
  /** Since when the one that has been due for the longest time is due. */
  readonly oldestSeconds: number;
}

export async function jobFigures(sql: SqlTag): Promise<readonly KindFigures[]> {
  return await sql<KindFigures[]>`
    select kind, count(*) filter (where state = 'waiting')::int as waiting, count(*) filter (where state = 'running')::int as running,
      count(*) filter (where state = 'dead')::int as dead,
      coalesce(extract(epoch from now() - min(due_at) filter (where state = 'waiting' and due_at <= now())), 0)::float8 as "oldestSeconds"
    from jobs group by kind`;
}
