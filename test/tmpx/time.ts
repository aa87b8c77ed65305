import { createTestDatabase } from '../setup/database.ts';
import { announce } from '../../server/engine/work/sql.ts';
import { usageDays, createUsageDays } from '../bench/reference/usage-days.ts';
import { publish } from '../../server/engine/outbox/index.ts';
const mods = process.argv.slice(2);
const variants: any[] = [['ref', usageDays]];
for (const m of mods) variants.push([m, (await import(m)).metered('usd')]);
const TEAMS = 50, R = 4, EVENTS = 40000;
const d = await createTestDatabase({ max: 1 });
const { sql } = d.db;
await sql`insert into regions (id, name, operator) values ('reg_1', 'here', 'customer')`;
await sql`insert into teams (id, name, region_id, created_at) select 'team_' || n, 't', 'reg_1', now() from generate_series(1, ${TEAMS}::int) n`;
await sql`insert into projects (id, team_id, name, slug, created_at) select 'prj_' || n, 'team_' || n, 'p', 'p-' || n, now() from generate_series(1, ${TEAMS}::int) n`;
await sql`insert into environments (id, team_id, project_id, name, created_at, updated_at) select 'env_' || n, 'team_' || n, 'prj_' || n, 'e', now(), now() from generate_series(1, ${TEAMS}::int) n`;
await sql`insert into runners (id, team_id, name, key_id, public_key, enrolled_at) select 'rnr_' || n || '_' || r, 'team_' || n, 'r' || r, 'key_' || n || '_' || r, '\\x00', now() from generate_series(1, ${TEAMS}::int) n, generate_series(1, ${R}::int) r`;
await createUsageDays(sql);
for (let f = 0; f < EVENTS; f += 10000) await sql`
    with ended as (
      insert into work_items (id, team_id, kind, pool_id, state, spec, labels, run_after, hint_due_at, created_by, created_at, claimed_at, finished_at,
        metered_ms, self_reported_ms, runner_id)
      select 'run_' || i.n, 'team_' || i.team, 'run', 'team_' || i.team, 'succeeded', '{}', jsonb_build_object('environment', 'env_' || i.team),
        now(), now(), 'user_1', now(), now() - interval '40 seconds', now(), 40000, 39000, 'rnr_' || i.team || '_' || i.n % ${R}::int + 1
      from (select n, n % ${TEAMS}::int + 1 as team from generate_series(${f + 1}::int, ${f + 10000}::int) n) i
      returning *
    ), ${announce(sql, 'ended')} select 1`;
await sql`analyze outbox, work_items, usage_events, cost_days`;
const times = variants.map(() => [] as number[]);
const rounds = Math.floor(EVENTS / 500 / variants.length);
for (let i = 0; i < rounds; i++) for (const [n, [, e]] of variants.entries()) { const t = performance.now(); await publish({ sql, effects: [e], batch: 500 }); times[n]!.push(performance.now() - t); }
const med = (x: number[]) => x.slice(6).toSorted((a, b) => a - b)[Math.floor((x.length - 6) / 2)]!;
for (const [n, [name]] of variants.entries()) console.log(name, med(times[n]!).toFixed(2), 'ms', (med(times[0]!) / med(times[n]!)).toFixed(3));
await d.drop();
