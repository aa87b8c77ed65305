/**
 * What the runners of one pool are able to, counted in one indexed read. The rules are those of work/sql.ts
 * (who may receive work) and of row.ts (which word comes first): each runner is counted under the first
 * thing that keeps it from work.
 */
// No TeamScope: fragments of statements that take a TeamScope.
import type { SqlTag } from '../../base/db/index.ts';
import { runnerIsBelow, type WorkSettings } from '../work/index.ts';
import { ms, type Fragment } from '../../base/sql.ts';

/** Why no runner of a pool takes work, as it is stored and compared; the words of WaitingReason. */
export type Blocked = 'no_live_runner' | 'not_ready' | 'version_too_old' | 'all_paused' | 'flagged';

export interface PoolFacts {
  readonly enrolled: number;
  /** Have called at some time since they were enrolled. */
  readonly seen: number;
  readonly unpaused: number;
  /** In contact, and paused or draining. */
  readonly resting: number;
  /** In contact, and nothing keeps it from work but what it holds already. */
  readonly able: number;
  readonly ableContainers: number;
  /** Able, holding nothing, and in no group whose limit is reached. */
  readonly idle: number;
  readonly idleContainers: number;
  /**
   * A group of able runners that hold nothing, and may hold nothing more because its limit is reached. Null:
   * there is none.
   */
  readonly fullGroup: string | null;
  /** Null while a runner is able. */
  readonly blocked: Blocked | null;
  /** `<name>: <reasons>` of at most three runners that say that they are not ready. */
  readonly reasons: string | null;
}

/**
 * Returns whether the runner `r` may be given work at this moment. `work/sql.ts` decides it when it calls;
 * this is for looking on.
 */
export function isAble(sql: SqlTag, settings: WorkSettings): Fragment {
  return sql`(
    r.revoked_at is null and r.last_seen_at > now() - ${ms(sql, settings.silentMs)} and r.strikes < ${settings.strikesMax}::int
    and not (r.paused_at is not null and (r.paused_until is null or r.paused_until > now()))
    and not ${runnerIsBelow(sql, settings.minVersion)} and not r.draining and cardinality(r.not_ready) = 0)`;
}

/**
 * Builds a SELECT of one row with the columns of PoolFacts, for the pool that the fragment names. With
 * `only`, it counts those of its runners `r` for which that holds.
 */
export function poolFacts(
  sql: SqlTag,
  settings: WorkSettings,
  { poolId, only = sql`true` }: { readonly poolId: Fragment; readonly only?: Fragment },
): Fragment {
  return sql`
    select c.*,
      case
        when c.able > 0 then null
        when c.contact = 0 then 'no_live_runner'
        when c.unready > 0 then 'not_ready'
        when c.outdated > 0 then 'version_too_old'
        when c.resting > 0 then 'all_paused'
        else 'flagged'
      end as blocked
    from (
      select count(*)::int as enrolled,
        count(*) filter (where x.last_seen_at is not null)::int as seen,
        count(*) filter (where not x.paused)::int as unpaused,
        count(*) filter (where x.contact)::int as contact,
        count(*) filter (where x.contact and not x.flagged and (x.paused or x.draining))::int as resting,
        count(*) filter (where x.contact and x.outdated and not (x.flagged or x.paused or x.draining))::int as outdated,
        count(*) filter (where x.unready)::int as unready,
        count(*) filter (where x.able)::int as able,
        count(*) filter (where x.able and x.container)::int as "ableContainers",
        count(*) filter (where x.able and not x.busy and x.full_group is null)::int as idle,
        count(*) filter (where x.able and not x.busy and x.full_group is null and x.container)::int as "idleContainers",
        min(x.full_group) filter (where x.able and not x.busy) as "fullGroup",
        array_to_string((array_agg(x.name || ': ' || array_to_string(x.not_ready, ', ') order by x.name) filter (where x.unready))[1:3], '; ') as reasons
      from (
        select r.name, r.not_ready, r.last_seen_at, f.*, r.isolation = 'container' as container, r.draining,
          f.contact and cardinality(r.not_ready) > 0 and not (f.flagged or f.paused or f.outdated or r.draining) as unready,
          exists (select from work_items h where h.runner_id = r.id and h.lease_id is not null) as busy,
          (
            select g.name from runner_groups g
            where g.id = r.group_id and g.max_running <= (
              select count(*) from runners o join work_items h on h.runner_id = o.id and h.lease_id is not null where o.group_id = g.id)
          ) as full_group
        from runners r cross join lateral (
          select coalesce(r.last_seen_at > now() - ${ms(sql, settings.silentMs)}, false) as contact,
            r.strikes >= ${settings.strikesMax}::int as flagged,
            r.paused_at is not null and (r.paused_until is null or r.paused_until > now()) as paused,
            ${runnerIsBelow(sql, settings.minVersion)} as outdated,
            coalesce(${isAble(sql, settings)}, false) as able
        ) f
        where r.team_id = ${poolId} and r.revoked_at is null and ${only}
      ) x
    ) c`;
}
