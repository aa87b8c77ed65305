/**
 * Events of ended work that a worker publishes in a second: each metered, rated and summed up by its place,
 * beside one counter a team and day.
 */
import type { SqlTag } from '../../server/base/db/index.ts';
import type { EventEffect } from '../../server/kit/feature.ts';
import { publish } from '../../server/kit/events/index.ts';
import { announce } from '../../server/engine/work/sql.ts';
import { catalogued } from '../../server/delivery/artifacts/catalogue.ts';
import { passportsDue } from '../../server/delivery/impact/index.ts';
import { deployed } from '../../server/delivery/promotions/deployed.ts';
import { ended } from '../../server/delivery/promotions/ended.ts';
import { notified } from '../../server/operations/notifications/index.ts';
import { deliveriesMade } from '../../server/operations/webhookendpoints/index.ts';
import { metered } from '../../server/money/metering/index.ts';
import { createTestDatabase } from '../setup/database.ts';
import { figure, median, type Figure } from './figure.ts';
import { createUsageDays, usageDays } from './reference/usage-days.ts';

/** Effects of events that the server has besides. */
const OTHERS: readonly EventEffect[] = [notified, deliveriesMade, ended, deployed, catalogued, passportsDue];

const TEAMS = 50;
const RUNNERS_OF_TEAM = 4;
const EVENTS = 40_000;
/** Written by one statement. */
const PIECE = 10_000;
const BATCH = 500;
const WARM_UP = 8;

/** Each team has a project, an environment that its runs name, and runners. */
async function teamsOf(sql: SqlTag): Promise<void> {
  await sql`insert into regions (id, name, operator) values ('reg_1', 'here', 'customer')`;
  await sql`
    insert into teams (id, name, region_id, created_at) select 'team_' || n, 't', 'reg_1', now() from generate_series(1, ${TEAMS}::int) n`;
  await sql`
    insert into projects (id, team_id, name, slug, created_at) select 'prj_' || n, 'team_' || n, 'p', 'p-' || n, now() from generate_series(1, ${TEAMS}::int) n`;
  await sql`
    insert into environments (id, team_id, project_id, name, created_at, updated_at)
    select 'env_' || n, 'team_' || n, 'prj_' || n, 'e', now(), now() from generate_series(1, ${TEAMS}::int) n`;
  await sql`
    insert into runners (id, team_id, name, key_id, public_key, enrolled_at)
    select 'rnr_' || n || '_' || r, 'team_' || n, 'r' || r, 'key_' || n || '_' || r, '\\x00', now()
    from generate_series(1, ${TEAMS}::int) n, generate_series(1, ${RUNNERS_OF_TEAM}::int) r`;
}

/** Ended work with its events, as the engine writes them. */
async function write(sql: SqlTag): Promise<void> {
  for (let from = 0; from < EVENTS; from += PIECE)
    await sql`
    with ended as (
      insert into work_items (id, team_id, kind, pool_id, state, spec, labels, run_after, hint_due_at, created_by, created_at, claimed_at, finished_at,
        metered_ms, self_reported_ms, runner_id)
      select 'run_' || i.n, 'team_' || i.team, 'run', 'team_' || i.team, 'succeeded', '{}', jsonb_build_object('environment', 'env_' || i.team),
        now(), now(), 'user_1', now(), now() - interval '40 seconds', now(), 40000, 39000, 'rnr_' || i.team || '_' || i.n % ${RUNNERS_OF_TEAM}::int + 1
      from (select n, n % ${TEAMS}::int + 1 as team from generate_series(${from + 1}::int, ${from + PIECE}::int) n) i
      returning *
    ), ${announce(sql, 'ended')} select 1`;
  await sql`analyze outbox, work_items, usage_events, cost_days`;
}

export async function run(): Promise<Figure[]> {
  const database = await createTestDatabase({ max: 1 });
  const { sql } = database.db;
  try {
    await teamsOf(sql);
    await createUsageDays(sql);
    const ours: number[] = [];
    const theirs: number[] = [];
    const timed = async (effect: EventEffect, times: number[]): Promise<void> => {
      const startedAt = performance.now();
      await publish({ sql, effects: [effect, ...OTHERS], batch: BATCH });
      times.push(performance.now() - startedAt);
    };
    // The writes take turns on one queue, because the first of each are planned and cold.
    await write(sql);
    for (let turn = 0; turn < EVENTS / BATCH / 2; turn += 1) {
      await timed(usageDays, theirs);
      await timed(metered('usd'), ours);
    }
    const perSecond = (times: readonly number[]) => (BATCH / median(times.slice(WARM_UP))) * 1_000;
    return [
      figure({
        name: 'events published and metered',
        value: perSecond(ours),
        unit: '/s',
        reference: 'one counter a team and day',
        referenceValue: perSecond(theirs),
        target: '≥ 0.7 ×',
        pass: (_, ratio) => ratio >= 0.7,
      }),
    ];
  } finally {
    await database.drop();
  }
}
