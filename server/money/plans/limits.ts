/** Limits of plans, as rows of the teams that they hold for. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { TeamLimits } from '../../engine/limits/index.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { FREE, PAID } from './catalogue.ts';

/** `all`: teams of every account. */
export type Whose = { readonly payerId: string } | 'all';

export type FollowPlans = (sql: SqlTag, whose: Whose) => Promise<void>;

const PLANS = [FREE, ...PAID];

/**
 * Where a plan allows no less than the installation does, its teams have no row. The service's own team has
 * none at all. `charges`: there is a provider of payments.
 */
export function createFollowPlans(limits: TeamLimits, charges: boolean): FollowPlans {
  const lower = (plan: number | undefined, own: number): number | null =>
    charges && plan !== undefined && plan < own ? plan : null;
  const wanted = PLANS.map(({ id, limits: of }) => ({
    id,
    queuedMax: lower(of.queuedMax, limits.queuedRunsPerTeamMax),
    runnersMax: lower(of.runnersMax, limits.runnersPerTeamMax),
    timeoutMax: lower(of.runTimeoutSecondsMax, Number.POSITIVE_INFINITY),
  }));
  const column = <K extends keyof (typeof wanted)[number]>(name: K) => wanted.map((plan) => plan[name]);
  return async (sql, whose) => {
    // A payer's teams are found by their payer, not by a look at all teams.
    const mine =
      whose === 'all'
        ? sql`true`
        : sql`t.id in (select team_id from team_payers where payer_id = ${whose.payerId}) and p.payer_id = ${whose.payerId}`;
    const others = whose === 'all' ? sql`true` : sql`l.team_id in (select team_id from paid)`;
    await sql`
      with plans as (
        select * from unnest(${column('id')}::text[], ${column('queuedMax')}::int[], ${column('runnersMax')}::int[], ${column('timeoutMax')}::int[])
          as p (id, queued_max, runners_max, run_timeout_seconds_max)
      ), paid as materialized (
        select t.id as team_id, coalesce(a.plan, ${FREE.id}) as plan
        from teams t
        left join lateral (select l.payer_id from team_payers l where l.team_id = t.id order by l.from_at desc limit 1) p on true
        left join account_plans a on a.user_id = p.payer_id
        where not t.service_pool and ${mine}
      ), wanted as materialized (
        select d.team_id, p.queued_max, p.runners_max, p.run_timeout_seconds_max
        from paid d join plans p on p.id = d.plan
        where num_nonnulls(p.queued_max, p.runners_max, p.run_timeout_seconds_max) > 0
      ), dropped as (
        delete from team_limits l where ${others} and not exists (select 1 from wanted w where w.team_id = l.team_id)
      )
      insert into team_limits as l (team_id, queued_max, runners_max, run_timeout_seconds_max)
      select * from wanted order by team_id
      on conflict (team_id) do update
        set queued_max = excluded.queued_max, runners_max = excluded.runners_max, run_timeout_seconds_max = excluded.run_timeout_seconds_max
        where (l.queued_max, l.runners_max, l.run_timeout_seconds_max)
          is distinct from (excluded.queued_max, excluded.runners_max, excluded.run_timeout_seconds_max)`;
  };
}
