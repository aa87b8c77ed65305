/** Tasks in the database. A worker takes one by a claim that ends by itself, so that one that dies loses time and no task. */
import type { Database, SqlTag } from '../../../platform/db/index.ts';
import { newId } from '../../../platform/ids.ts';
import type { Connection } from '../connections-store.ts';

export type TaskKind = 'discover' | 'subscribe' | 'unsubscribe' | 'commit_status' | 'poll_run';

export interface Wanted {
  readonly kind: TaskKind;
  /** Within connection and kind. */
  readonly key: string;
  /** Default: the connection's own. */
  readonly lane?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
  /** Default: now. */
  readonly dueAt?: Date;
}

export interface Task {
  readonly id: string;
  readonly teamId: string;
  readonly connectionId: string;
  readonly kind: TaskKind;
  readonly key: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly version: number;
  /** With the one that is being made. */
  readonly attempts: number;
  /** Tells this claim from one that somebody made after it had run out. */
  readonly claimedUntil: Date;
}

/** Longer than a task may take: the worker gives it up before. */
export const CLAIM_MS = 5 * 60_000;

/** Asked for again while it waits, a task takes the newer payload and is due at once; while it is done, it is done again. */
export async function want(
  { sql }: Database,
  connection: Pick<Connection, 'id' | 'teamId'>,
  { kind, key, lane = connection.id, payload = {}, dueAt }: Wanted,
  now: Date,
): Promise<void> {
  await sql`
    insert into ci_tasks (id, team_id, connection_id, kind, key, lane, payload, due_at, created_at)
    values (${newId('cit', now.getTime())}, ${connection.teamId}, ${connection.id}, ${kind}, ${key}, ${lane},
      ${sql.json(payload as never)}, ${dueAt ?? now}, ${now})
    on conflict (connection_id, kind, key) do update set payload = excluded.payload, lane = excluded.lane, version = ci_tasks.version + 1,
      attempts = 0, due_at = excluded.due_at`;
}

export interface Taking {
  /** Those that somebody here can do. */
  readonly kinds: readonly TaskKind[];
  readonly take: number;
  /** At work at once for one team, in all servers. */
  readonly ofTeamMax: number;
  readonly now: Date;
}

/**
 * Those that are due: at most one of each lane, none of a lane that somebody works in, none of a connection whose host asked to be left alone. Takers of
 * all servers take turns for these few milliseconds: only then does each see every claim that was made before its own.
 */
export async function takeDue(
  db: Database,
  { kinds, take, ofTeamMax, now }: Taking,
): Promise<readonly Task[]> {
  return await db.transact(async ({ sql }) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('ci_tasks', 0))`;
    return await sql<Task[]>`
      with busy as (
        select lane, team_id from ci_tasks where claimed_until >= ${now}
      ), ready as (
        select t.id, t.team_id, t.due_at, row_number() over (partition by t.lane order by t.due_at, t.id) as place
        from ci_tasks t left join ci_connections c on c.id = t.connection_id
        where t.due_at <= ${now} and (t.claimed_until is null or t.claimed_until < ${now}) and t.kind = any(${[...kinds]})
          and (c.quiet_until is null or c.quiet_until <= ${now}) and not exists (select 1 from busy b where b.lane = t.lane)
      ), fair as (
        select r.id, r.due_at, row_number() over (partition by r.team_id order by r.due_at, r.id)
          + (select count(*) from busy b where b.team_id = r.team_id) as place
        from ready r where r.place = 1
      ), mine as (
        -- Skipped: one that is being asked for again at this moment.
        select t.id from ci_tasks t join fair f on f.id = t.id where f.place <= ${ofTeamMax}::int
        order by f.due_at, f.id limit ${take}::int for no key update of t skip locked
      )
      update ci_tasks t set claimed_until = ${new Date(now.getTime() + CLAIM_MS)}, attempts = t.attempts + 1
      from mine where t.id = mine.id
      returning t.id, t.team_id as "teamId", t.connection_id as "connectionId", t.kind, t.key, t.payload, t.version, t.attempts,
        t.claimed_until as "claimedUntil"`;
  });
}

/** It is done; unless it was asked for again meanwhile. Nothing happens when the claim ran out and somebody else has it. */
export async function finish(db: Database, { id, version, claimedUntil }: Task): Promise<void> {
  await db.transact(async ({ sql }) => {
    const [row] = await sql<Array<{ version: number }>>`
      select version from ci_tasks where id = ${id} and claimed_until = ${claimedUntil} for update`;
    if (row?.version === version) await sql`delete from ci_tasks where id = ${id}`;
    else if (row !== undefined) await sql`update ci_tasks set claimed_until = null where id = ${id}`;
  });
}

/** It is tried again then; at once if it was asked for again meanwhile. */
export async function putBack(sql: SqlTag, { id, version, claimedUntil }: Task, dueAt: Date): Promise<void> {
  await sql`
    update ci_tasks set claimed_until = null, due_at = case when version = ${version} then ${dueAt} else due_at end
    where id = ${id} and claimed_until = ${claimedUntil}`;
}

/** The connection's host asked to be left alone until then: no task of it is begun before, whichever it is. */
export async function keepQuiet(sql: SqlTag, { connectionId }: Task, until: Date): Promise<void> {
  await sql`update ci_connections set quiet_until = greatest(quiet_until, ${until}) where id = ${connectionId}`;
}
