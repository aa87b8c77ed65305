/**
 * What budgets and plans cost: submissions, which read gates and limits, and the evaluation of a thousand
 * payers.
 */
import { createLocalQueue } from '@svc/proto/queue/local.ts';
import { createSubmit, type Submit } from '../../server/engine/work/submit.ts';
import { defaultWorkSettings } from '../../server/engine/work/settings.ts';
import { systemClock } from '../../server/base/clock.ts';
import type { SqlTag } from '../../server/base/db/index.ts';
import { newId } from '../../server/base/ids.ts';
import { evaluate } from '../../server/money/budgets/index.ts';
import { createTestDatabase } from '../setup/database.ts';
import { figure, median, type Figure } from './figure.ts';
import { throughText } from './reference/without-gates.ts';

const TEAMS = 20;
/** Submissions that come together: one statement. */
const TOGETHER = 32;
const TURNS = 300;
const WARM_UP = 30;
const GATES = 10_000;

const PAYERS = 1_000;
const BUDGETS_OF_TEAM = 3;
/** Each day has two projects with two environments each. */
const ROWS_OF_DAY = 4;
const DAYS = 45;
const EVALUATIONS = 5;
const EVALUATION_MS_MAX = 2_000;

async function teamsOf(sql: SqlTag): Promise<void> {
  await sql`insert into regions (id, name, operator) values ('reg_1', 'here', 'customer')`;
  await sql`
    insert into teams (id, name, region_id, created_at) select 'team_' || n, 't', 'reg_1', now() from generate_series(1, ${PAYERS}::int) n`;
}

async function submitting(submit: Submit): Promise<number> {
  const submissions = Array.from({ length: TOGETHER }, (_one, n) => ({
    work: {
      id: newId('run'),
      kind: 'run' as const,
      teamId: `team_${(n % TEAMS) + 1}`,
      createdBy: 'user_1',
      createdAt: new Date(),
      spec: { command: ['true'] },
      labels: { environment: 'env_1' },
      needsContainer: false,
      timeoutMs: 600_000,
      logLimit: 1_000_000,
    },
  }));
  const startedAt = performance.now();
  await Promise.all(submissions.map(async (each) => await submit(each)));
  return performance.now() - startedAt;
}

/** Measures in turn, where each comes first in every other one. */
async function submissions(sql: SqlTag, name: string): Promise<Figure> {
  const submitOver = (tag: SqlTag): Submit =>
    createSubmit({
      sql: tag,
      queue: createLocalQueue(),
      settings: defaultWorkSettings,
      onError: (error) => {
        throw error;
      },
    });
  const ours = { submit: submitOver(throughText(sql, { isWhole: true })), times: [] as number[] };
  const bare = { submit: submitOver(throughText(sql, { isWhole: false })), times: [] as number[] };
  await sql`truncate work_items cascade`;
  for (let turn = 0; turn < TURNS; turn += 1)
    for (const side of turn % 2 === 0 ? [ours, bare] : [bare, ours])
      side.times.push(await submitting(side.submit));
  const perSecond = (times: readonly number[]) => (TOGETHER / median(times.slice(WARM_UP))) * 1_000;
  return figure({
    name,
    value: perSecond(ours.times),
    unit: '/s',
    reference: 'the same statement without gates and limits',
    referenceValue: perSecond(bare.times),
    target: '≥ 0.97 ×',
    pass: (_, ratio) => ratio >= 0.97,
  });
}

/** A payer a team, with six weeks of work and three budgets, of which nothing is likely to be exceeded. */
async function spent(sql: SqlTag): Promise<void> {
  await sql`insert into team_payers (team_id, from_at, payer_id) select id, '2026-01-01', 'user_' || id from teams`;
  await sql`
    insert into plan_changes (id, user_id, plan, standing, from_at) select 'plc_' || id, 'user_' || id, 'team', 'active', '2026-01-01' from teams`;
  await sql`
    insert into cost_days (team_id, period, day, meter, price_id, project_id, environment_id, runner_id, events, metered_ms, self_reported_ms, self_reported_count)
    select t.id, date_trunc('month', d.day)::date, d.day, p.meter, p.id, 'prj_' || r % 2, 'env_' || r, 'rnr_1', 10, 10000000 + r * 1000, 0, 0
    from teams t cross join (select (now() at time zone 'UTC')::date - n as day from generate_series(0, ${DAYS - 1}::int) n) d
      cross join generate_series(1, ${ROWS_OF_DAY}::int) r cross join prices p
    where p.meter = 'run.runner' and p.is_default`;
  await sql`
    insert into budgets (id, team_id, project_id, environment_id, limit_cents, enforcement, created_at, updated_at)
    select 'bdg_' || t.id || n, t.id, case n when 2 then 'prj_1' else '' end, case n when 3 then 'env_1' else '' end, 10000000, 'hold', now(), now()
    from teams t cross join generate_series(1, ${BUDGETS_OF_TEAM}::int) n`;
  await sql`analyze cost_days, budgets, team_payers, plan_changes`;
}

async function evaluations(database: Awaited<ReturnType<typeof createTestDatabase>>): Promise<Figure[]> {
  const { db } = database;
  const { sql } = db;
  await sql`truncate spend_gates`;
  await spent(sql);
  const [ours, bare]: [number[], number[]] = [[], []];
  const timed = async (times: number[], work: () => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  };
  const all = async (): Promise<void> => {
    while (await evaluate({ db, clock: systemClock, currency: 'usd', charges: true }));
  };
  const marked = async () =>
    await sql`insert into spend_dirty (team_id) select id from teams on conflict do nothing`;
  const sums = async () =>
    await sql`
      select d.team_id, d.project_id, d.environment_id, d.day, sum(d.metered_ms::numeric * p.nanos_per_second) from cost_days d join prices p on p.id = d.price_id
      where d.day > (now() at time zone 'UTC')::date - 31 group by 1, 2, 3, 4`;
  for (let turn = 0; turn < EVALUATIONS; turn += 1) {
    await marked();
    await timed(ours, all);
    await timed(bare, sums);
  }
  // All budgets are passed at once: each is told of, held, and noted in its team's ledger.
  await sql`update budgets set limit_cents = 1, revision = revision + 1`;
  await marked();
  const passed: number[] = [];
  await timed(passed, all);
  const [row] = await sql<Array<{ held: number }>>`select count(*)::int as held from spend_gates`;
  const reference = 'the sums of the same days by place, read once';
  const target = `< ${EVALUATION_MS_MAX / 1_000} s`;
  const pass = (ms: number) => ms < EVALUATION_MS_MAX;
  const shared = { unit: 'ms', reference, referenceValue: median(bare), target, pass };
  return [
    figure({
      ...shared,
      name: `${PAYERS} payers with ${BUDGETS_OF_TEAM} budgets each evaluated`,
      value: median(ours),
    }),
    figure({
      ...shared,
      name: `the same where ${row?.held ?? 0} gates come, each noted in a ledger`,
      value: median(passed),
      target: 'none: once a month at most',
      pass: () => true,
    }),
  ];
}

export async function run(): Promise<Figure[]> {
  const database = await createTestDatabase({ max: 2, statementTimeoutMs: 60_000 });
  const { sql } = database.db;
  try {
    await teamsOf(sql);
    const empty = await submissions(sql, 'runs submitted, nothing held');
    await sql`
      insert into spend_gates (team_id, scope, cause, details, since)
      select 'team_held_' || n, '', 'budget', '{"resetsAt":"2026-12-01T00:00:00.000Z"}', now() from generate_series(1, ${GATES}::int) n`;
    await sql`analyze spend_gates`;
    const full = await submissions(sql, `runs submitted, ${GATES} scopes of others held`);
    return [empty, full, ...(await evaluations(database))];
  } finally {
    await database.drop();
  }
}
