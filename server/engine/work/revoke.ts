/**
 * Revokes a runner: it loses everything that it holds in the same statement. A grant that was being written
 * at that very moment is not seen by it; such an offer goes nowhere, because the runner is not listened to
 * any more, and returns to the queue when it ends.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { boundRunner } from './build-sql.ts';
import type { WorkSettings } from './settings.ts';
import { release } from './sql.ts';
import { rowId } from '../../base/sql.ts';

export interface Revoked {
  readonly runnerId: string;
  readonly keyId: string;
  /** It is false when it had been revoked before. */
  readonly now: boolean;
  /** Items that it lost, queued again or ended. */
  readonly lost: readonly string[];
}

/** Returns undefined when there is no such runner in the team. */
export async function revokeRunner(
  sql: SqlTag,
  settings: WorkSettings,
  { teamId, runnerId }: { readonly teamId: string; readonly runnerId: string },
): Promise<Revoked | undefined> {
  const [row] = await sql<Revoked[]>`
    with me as materialized (
      select r.id, r.team_id, r.name, r.key_id, r.revoked_at is null as live from runners r
      where r.id = ${runnerId} and r.team_id = ${teamId} for update
    ),
    marked as (
      update runners r set revoked_at = clock_timestamp() from me where r.id = me.id and me.live returning r.id
    ),
    ${release(sql, settings, {
      lost: sql`
        where w.runner_id = (select id from me) and w.lease_id is not null and x.ended_at is null
        order by w.id for update of x, w`,
      endReason: 'revoked',
      backoff: false,
    })},
    freed as (
      -- Builds that waited for this runner alone (as the statement's snapshot has it): any other one may have them now.
      update work_items i set hint_due_at = clock_timestamp(), hint_count = 0
      where i.id in (
        select w.id from work_items w
        where w.route_id in (select o.id from work_routes o where o.pool_id = (select team_id from me where live) and o.kind = 'build')
          and w.state = 'queued' and ${boundRunner(sql)} = (select id from me)
        for update of w skip locked)
    ),
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select me.team_id, me.id, clock_timestamp(), 'runner.revoked', me.name || ' was revoked; it held ' || (select count(*) from released)
      from me where me.live
    ),
    notified as (
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select ${rowId(sql, 'evt')}, me.team_id, 'runner.revoked', me.id,
        jsonb_build_object('runnerId', me.id, 'name', me.name, 'held', (select count(*) from released)), clock_timestamp()
      from me where me.live
    )
    select me.id as "runnerId", me.key_id as "keyId", me.live as now,
      coalesce((select array_agg(id) from released), '{}') as lost
    from me`;
  return row;
}
