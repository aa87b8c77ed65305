/** Notifications in the database: every read and change is limited to one account, and to the teams and kinds that its credential reaches. */
import type { TeamScope } from '../../platform/context.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import { NOTIFYING } from '../../platform/events.ts';
import { newId } from '../../platform/ids.ts';
import { rowId } from '../../platform/sql.ts';
import type { Fragment } from '../../platform/sql.ts';

const KEPT_MS = 90 * 24 * 60 * 60_000;

/**
 * CTE `notified`: tells the people who can act (admins and owners) of the outbox rows of the CTE `published` that concern people. Once each,
 * whatever happens.
 */
export function notified(sql: SqlTag): Fragment {
  return sql`
    notified as (
      insert into notifications (id, user_id, team_id, event_id, kind, title, body, created_at)
      select ${rowId(sql, 'ntf')}, m.user_id, e.team_id, e.id, e.kind,
        case e.kind
          when 'runner.degraded' then 'No runner takes the work of ' || t.name
          when 'runner.recovered' then 'The runners of ' || t.name || ' take work again'
          when 'webhook_endpoint.disabled' then 'The webhook endpoint at ' || coalesce(e.payload ->> 'host', '') || ' was switched off'
          else 'The runner ' || coalesce(e.payload ->> 'name', '') || ' is refused new work'
        end,
        case e.kind
          when 'runner.degraded' then 'Work waits, and the reason is ' || coalesce(e.payload ->> 'reason', 'not known') || '; svc runners health says what to do.'
          when 'runner.recovered' then 'A runner is in contact and ready; what waited is being offered.'
          when 'webhook_endpoint.disabled' then 'It is told nothing any more, because ' || coalesce(e.payload ->> 'reason', '')
            || '. When it answers again: svc webhook-endpoints update ' || coalesce(e.payload ->> 'endpointId', '') || ' --team ' || e.team_id || ' --enabled'
          else 'Its own durations differed from the measured ones ' || coalesce(e.payload ->> 'strikes', '') || ' times; an owner lets it go on with svc runners clear-divergence-flag.'
        end,
        e.created_at
      from published e
      join teams t on t.id = e.team_id
      join team_members m on m.team_id = e.team_id and m.role in ('admin', 'owner')
      where e.kind = any(${[...NOTIFYING]}::text[])
      on conflict (user_id, event_id) do nothing
    )`;
}

export interface NotificationRow {
  readonly id: string;
  readonly teamId: string;
  readonly kind: string;
  readonly title: string;
  readonly body: string;
  readonly createdAt: Date;
  readonly readAt: Date | null;
}

export interface Reader {
  readonly userId: string;
  readonly teams: TeamScope;
  readonly kinds: readonly string[];
}

const columns = (sql: SqlTag) =>
  sql`id, team_id as "teamId", kind, title, body, created_at as "createdAt", read_at as "readAt"`;

const own = (sql: SqlTag, { userId, teams, kinds }: Reader) =>
  sql`user_id = ${userId} and team_id = any(${[...teams.teamIds]}::text[]) and kind = any(${[...kinds]}::text[])`;

/** Newest first. */
export async function listNotifications(
  sql: SqlTag,
  reader: Reader,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<readonly NotificationRow[]> {
  return await sql<NotificationRow[]>`
    select ${columns(sql)} from notifications where ${own(sql, reader)}
    order by created_at desc nulls last, id desc nulls last limit ${limit}::int offset ${offset}::int`;
}

export async function countUnread(sql: SqlTag, reader: Reader): Promise<number> {
  const [row] = await sql<Array<{ count: number }>>`
    select count(*)::int as count from notifications where ${own(sql, reader)} and read_at is null`;
  return row?.count ?? 0;
}

/** Undefined: there is none. The first time that it was read stays. */
export async function markRead(
  sql: SqlTag,
  reader: Reader,
  id: string,
): Promise<NotificationRow | undefined> {
  const [row] = await sql<NotificationRow[]>`
    update notifications set read_at = coalesce(read_at, now()) where id = ${id} and ${own(sql, reader)} returning ${columns(sql)}`;
  return row;
}

export async function markAllRead(sql: SqlTag, reader: Reader): Promise<number> {
  const { count } = await sql`
    update notifications set read_at = now() where ${own(sql, reader)} and read_at is null`;
  return count;
}

/** What is older than 90 days; ids sort by time. */
export async function purgeNotifications(sql: SqlTag, nowMs: number): Promise<number> {
  const { count } = await sql`delete from notifications where id < ${newId('ntf', nowMs - KEPT_MS)}`;
  return count;
}
