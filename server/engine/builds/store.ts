/**
 * Changes of build rows. All statements carry the team of a build or an environment that was found in a
 * TeamScope.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { Database } from '../../base/db/index.ts';
import type { OpenBuilds } from '../../apps/environments/index.ts';
import { rowId } from '../../base/sql.ts';
import { builds } from './schema.ts';

/** The columns of a build as it is made; the others are written later. */
export type NewBuild = Omit<
  typeof builds.$inferSelect,
  | 'number'
  | 'address'
  | 'approvalBy'
  | 'approvalAt'
  | 'needsDecision'
  | 'message'
  | 'deployRunnerId'
  | 'finishedAt'
>;

interface Owner {
  readonly id: string;
  readonly teamId: string;
}

/** Under the lock on the environment: see work/build-sql.ts for what rests on it. */
export async function nextNumber(
  { sql }: Database,
  { id, teamId }: Owner,
): Promise<{ readonly number: number; readonly open: number }> {
  const [row] = await sql<Array<{ number: number; open: number }>>`
    select coalesce((select max(number) from builds where environment_id = ${id} and team_id = ${teamId}), 0)::int + 1 as number,
      (select count(*)::int from builds where environment_id = ${id} and team_id = ${teamId} and finished_at is null) as open`;
  if (row === undefined) throw new Error('no number was given out');
  return row;
}

export async function insertBuild(
  { orm }: Database,
  build: NewBuild & { readonly number: number },
): Promise<void> {
  await orm.insert(builds).values(build);
}

/** Returns whether a promotion deployed an image with this digest in the environment. */
export async function wasPromoted(
  { sql }: Database,
  { id, teamId }: Owner,
  digest: string,
): Promise<boolean> {
  const found = await sql`
    select 1 from builds
    where environment_id = ${id} and team_id = ${teamId} and trigger = 'promotion' and state = 'succeeded' and digest = ${digest} limit 1`;
  return found.length > 0;
}

/** Returns false when it does not wait for approval (any more). */
export async function approveBuild(
  { sql }: Database,
  { id, teamId }: Owner,
  { workId, by }: { readonly workId: string; readonly by: string },
): Promise<boolean> {
  const { count } = await sql`
    update builds set state = 'open', approval = 'approved', approval_by = ${by}, approval_at = clock_timestamp(), work_id = ${workId}
    where id = ${id} and team_id = ${teamId} and state = 'awaiting_approval'`;
  return count === 1;
}

/** Ends a build that waits for approval, and makes the next one due. False: it does not wait (any more). */
export async function endWaiting(
  { sql }: Database,
  { id, teamId }: Owner,
  { message, rejectedBy }: { readonly message: string; readonly rejectedBy: string | null },
): Promise<boolean> {
  const { count } = await sql`
    with ended as (
      update builds set state = 'cancelled', finished_at = clock_timestamp(), message = ${message},
        approval = case when ${rejectedBy}::text is null then approval else 'rejected' end, approval_by = ${rejectedBy}::text,
        approval_at = case when ${rejectedBy}::text is null then null else clock_timestamp() end
      where id = ${id} and team_id = ${teamId} and state = 'awaiting_approval'
      returning id, team_id, environment_id, number, finished_at
    ),
    notified as (
      -- No item ends with it, so nothing else reports that it has finished.
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select ${rowId(sql, 'evt')}, e.team_id, 'build.finished', e.id || ' decided',
        jsonb_build_object('kind', 'build', 'buildId', e.id, 'environmentId', e.environment_id, 'number', e.number, 'state', 'cancelled'),
        e.finished_at
      from ended e on conflict (kind, dedupe_key) do nothing
    ),
    roused as (
      update work_items w set hint_due_at = clock_timestamp(), hint_count = 0
      where w.state = 'queued' and w.id = (
        select o.work_id from ended e join builds o on o.environment_id = e.environment_id and o.number > e.number and o.finished_at is null
        order by o.number limit 1)
    )
    select id from ended`;
  return count === 1;
}

/** The build that holds the environment: the open one with the smallest number. */
export interface Holder {
  readonly id: string;
  readonly teamId: string;
  readonly number: number;
  /** It waits for a runner again, or its lease is over: nobody works on it. */
  readonly lostRunner: boolean;
}

export async function holderOf({ sql }: Database, { id, teamId }: Owner): Promise<Holder | undefined> {
  const [row] = await sql<Holder[]>`
    select b.id, b.team_id as "teamId", b.number,
      coalesce((w.state = 'queued' and w.attempt > 0) or x.expires_at < clock_timestamp(), false) as "lostRunner"
    from builds b left join work_items w on w.id = b.work_id left join work_leases x on x.work_id = w.id and x.ended_at is null
    where b.environment_id = ${id} and b.team_id = ${teamId} and b.finished_at is null
    order by b.number limit 1`;
  return row;
}

/** Fills the port of environments, in the transaction in which some are deleted. */
export const openBuilds: OpenBuilds = async ({ db: { sql }, teams }, environmentIds, max) => {
  const found = await sql<Array<{ id: string }>>`
    select id from builds where environment_id = any(${[...environmentIds]}::text[]) and team_id = any(${teams.teamIds}::text[])
      and finished_at is null
    order by created_at, id limit ${max}::int`;
  return found.map(({ id }) => id);
};
