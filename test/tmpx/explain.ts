import { createTestDatabase } from '../setup/database.ts';
import { metered } from '../../server/money/metering/index.ts';
import { announce } from '../../server/engine/work/sql.ts';
import { usageDays, createUsageDays } from '../bench/reference/usage-days.ts';
import { publish } from '../../server/engine/outbox/index.ts';
const mk: any = metered("usd");
const TEAMS = 50, R = 4, EVENTS = 10000;
const d = await createTestDatabase({ max: 1 });
const { sql } = d.db;
await sql`insert into regions (id, name, operator) values ('reg_1', 'here', 'customer')`;
await sql`insert into teams (id, name, region_id, created_at) select 'team_' || n, 't', 'reg_1', now() from generate_series(1, ${TEAMS}::int) n`;
await sql`insert into projects (id, team_id, name, slug, created_at) select 'prj_' || n, 'team_' || n, 'p', 'p-' || n, now() from generate_series(1, ${TEAMS}::int) n`;
await sql`insert into environments (id, team_id, project_id, name, created_at, updated_at) select 'env_' || n, 'team_' || n, 'prj_' || n, 'e', now(), now() from generate_series(1, ${TEAMS}::int) n`;
await sql`insert into runners (id, team_id, name, key_id, public_key, enrolled_at) select 'rnr_' || n || '_' || r, 'team_' || n, 'r' || r, 'key_' || n || '_' || r, '\\x00', now() from generate_series(1, ${TEAMS}::int) n, generate_series(1, ${R}::int) r`;
await createUsageDays(sql);
await sql`
    with ended as (
      insert into work_items (id, team_id, kind, pool_id, state, spec, labels, run_after, hint_due_at, created_by, created_at, claimed_at, finished_at,
        metered_ms, self_reported_ms, runner_id)
      select 'run_' || i.n, 'team_' || i.team, 'run', 'team_' || i.team, 'succeeded', '{}', jsonb_build_object('environment', 'env_' || i.team),
        now(), now(), 'user_1', now(), now() - interval '40 seconds', now(), 40000, 39000, 'rnr_' || i.team || '_' || i.n % ${R}::int + 1
      from (select n, n % ${TEAMS}::int + 1 as team from generate_series(1, ${EVENTS}::int) n) i
      returning *
    ), ${announce(sql, 'ended')} select 1`;
await sql`analyze outbox, work_items, usage_events, cost_days`;
for (let i = 0; i < 6; i++) await publish({ sql, effects: [mk], batch: 500 });
const ex = async (effect: any) => {
  const rows = await sql`explain (analyze, buffers off, costs off)
    with due as (select o.id from outbox o order by o.created_at limit 500 for update skip locked),
    published as (delete from outbox o using due d where o.id = d.id returning o.id, o.team_id, o.kind, o.dedupe_key, o.payload, o.created_at), ${effect(sql)}
    select count(*)::int as count from published`;
  console.log(rows.map((r: any) => r['QUERY PLAN']).join('\n'));
};
await ex(mk); await ex(mk);
console.log('-----------ref'); await ex(usageDays);await ex(usageDays);
await d.drop();
