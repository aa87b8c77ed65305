/**
 * This benchmark measures the costs of two teams of one shape, one with 10,000 events in a month and one with
 * a million: the summary, which reads rows of days, and the export of the million, beside what psql copies of
 * the same columns. Rows of days are as metering sums them; with few events not every environment is on every
 * runner each day, so that the small team has fewer of them.
 */
import { spawn } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import postgres from 'postgres';
import { startPlatform, type Platform } from '../e2e/platform.ts';
import { freshDatabase } from './database.ts';
import { figure, median, percentile, type Figure } from './figure.ts';
import { watchResident } from './resident.ts';

const SHORT = 10_000;
const LONG = 1_000_000;
const SHAPE = { environments: 18, projects: 6, runners: 36 };
const READS = 100;
const WARM_UP = 20;
const ROUNDS = 3;

interface FilledTeam {
  readonly teamId: string;
  readonly events: number;
  readonly rows: number;
}

async function fill(sql: postgres.Sql, teamId: string, events: number): Promise<FilledTeam> {
  const { environments, projects, runners } = SHAPE;
  await sql`
    insert into usage_events (work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, environment_id, project_id, claimed_at, metered_ms, self_reported_ms, price_id, rated, period)
    select 'run_' || ${teamId}::text || n, at, ${teamId}, 'run', 'runner', 1, 'rnr_' || r, 'env_' || e, 'prj_' || e % ${projects}::int, at - interval '1 minute',
      ms, ms - 5, p.id, ms::numeric * p.nanos_per_second, (date_trunc('month', now() at time zone 'UTC'))::date
    from generate_series(1, ${events}::int) n,
      lateral (
        select date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' + random() * (now() - date_trunc('month', now() at time zone 'UTC') at time zone 'UTC') as at,
          floor(random() * ${runners}::int)::int + 0 * n as r, floor(random() * ${environments}::int)::int as e, 10000 + (random() * 100000)::int as ms
      ) x
    join prices p on p.meter = 'run.runner' and p.is_default`;
  const { count } = await sql`
    insert into cost_days (team_id, period, day, meter, price_id, project_id, environment_id, runner_id, events, metered_ms, self_reported_ms, self_reported_count)
    select team_id, period, (reported_at at time zone 'UTC')::date, 'run.runner', price_id, project_id, environment_id, runner_id, count(*), sum(metered_ms), sum(self_reported_ms), count(*)
    from usage_events where team_id = ${teamId} group by 1, 2, 3, 4, 5, 6, 7, 8`;
  await sql`
    insert into cost_names (team_id, id, name)
    select ${teamId}, id, 'name of ' || id from (
      select 'env_' || n as id from generate_series(0, ${environments - 1}::int) n
      union all select 'prj_' || n from generate_series(0, ${projects - 1}::int) n
      union all select 'rnr_' || n from generate_series(0, ${runners - 1}::int) n) named`;
  return { teamId, events, rows: count };
}

async function summaries(
  { sdk }: Platform,
  [short, long]: readonly [FilledTeam, FilledTeam],
): Promise<Figure> {
  const times = new Map<FilledTeam, number[]>([
    [short, []],
    [long, []],
  ]);
  for (let n = 0; n < READS + WARM_UP; n += 1)
    for (const [team, samples] of times) {
      const began = performance.now();
      const { usage } = await sdk.costs.summary(team.teamId);
      const ms = performance.now() - began;
      if (usage.events !== team.events) throw new Error(`${usage.events} events, expected ${team.events}`);
      if (n >= WARM_UP) samples.push(ms);
    }
  const p95 = (team: FilledTeam): number => percentile(times.get(team) ?? [], 0.95);
  const of = ({ events, rows }: FilledTeam): string =>
    `${events.toLocaleString('en')} events in ${rows.toLocaleString('en')} rows of days`;
  return figure({
    name: `summary of a month, ${of(long)}, p95`,
    value: p95(long),
    unit: 'ms',
    reference: of(short),
    referenceValue: p95(short),
    target: '≤ 1.5 ×',
    pass: (_, ratio) => ratio <= 1.5,
  });
}

/** The columns of an export by item that are not empty, as text. */
const COPIED = `
  select t.id as "BillingAccountId", t.name as "BillingAccountName", 'Team' as "BillingAccountType", t.id as "SubAccountId", t.name as "SubAccountName", 'Team' as "SubAccountType",
    e.period || 'T00:00:00Z' as "BillingPeriodStart", (e.period + interval '1 month')::date || 'T00:00:00Z' as "BillingPeriodEnd",
    e.reported_at::date || 'T00:00:00Z' as "ChargePeriodStart", e.reported_at::date + 1 || 'T00:00:00Z' as "ChargePeriodEnd",
    'Usage' as "ChargeCategory", null as "ChargeClass", 'Sandbox runs on runners of the team' as "ChargeDescription", 'Usage-Based' as "ChargeFrequency",
    e.metered_ms / 1000.0 as "ConsumedQuantity", 'Seconds' as "ConsumedUnit", 'Standard' as "PricingCategory", e.metered_ms / 1000.0 as "PricingQuantity", 'Seconds' as "PricingUnit",
    p.nanos_per_second / 1e9 as "ListUnitPrice", p.nanos_per_second / 1e9 as "ContractedUnitPrice", e.rated / 1e12 as "ListCost", e.rated / 1e12 as "ContractedCost",
    null as "BilledCost", null as "EffectiveCost", 'USD' as "BillingCurrency", null as "InvoiceId", 'svc' as "InvoiceIssuerName", 'svc' as "ProviderName", 'svc' as "PublisherName",
    'svc' as "ServiceName", 'Developer Tools' as "ServiceCategory", 'Continuous Integration and Deployment' as "ServiceSubcategory", e.kind || '.' || e.executed_by as "SkuId",
    'Sandbox runs on runners of the team' as "SkuMeter", e.price_id as "SkuPriceId", e.environment_id as "ResourceId", v.name as "ResourceName", 'Environment' as "ResourceType",
    t.region_id as "RegionId", json_build_object('project', j.name, 'environment', v.name) as "Tags", e.runner_id as "x_RunnerId", null as "x_CoveredBy",
    e.self_reported_ms / 1000.0 as "x_SelfReportedSeconds", e.work_id as "x_ItemId"
  from usage_events e join teams t on t.id = e.team_id join prices p on p.id = e.price_id
  left join cost_names v on v.team_id = e.team_id and v.id = e.environment_id left join cost_names j on j.team_id = e.team_id and j.id = e.project_id
  where e.team_id = 'TEAM' order by e.reported_at, e.work_id`;

/** Returns how many rows were copied in a second. */
async function copied(url: string, { teamId, events }: FilledTeam): Promise<number> {
  const began = performance.now();
  const copy = `\\copy (${COPIED.replaceAll('\n', ' ').replace('TEAM', teamId)}) to stdout csv header`;
  const psql = spawn('psql', [url, '-q', '-c', copy], { stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise<number | null>((resolve) => psql.once('exit', resolve));
  if (code !== 0) throw new Error(`psql ended with ${code}`);
  return events / ((performance.now() - began) / 1_000);
}

interface Exported {
  readonly rate: number;
  readonly firstByteMs: number;
  /** Memory of the server at most, MiB. */
  readonly most: number;
}

async function exported({ sdk, server }: Platform, { teamId, events }: FilledTeam): Promise<Exported> {
  const memory = watchResident(server);
  const began = performance.now();
  let firstByteMs = 0;
  let lines = 0;
  for await (const bytes of sdk.costs.exportCsv(teamId, { detail: 'items' })) {
    firstByteMs ||= performance.now() - began;
    for (const byte of bytes) if (byte === 10) lines += 1;
  }
  const most = memory.stop();
  if (lines !== events + 1) throw new Error(`${lines} lines, expected ${events + 1}`);
  return { rate: events / ((performance.now() - began) / 1_000), firstByteMs, most };
}

/**
 * Beside the memory of the server after an export of the short team: code, and the space in which what is
 * young lives.
 */
async function exports(
  platform: Platform,
  url: string,
  [short, long]: readonly [FilledTeam, FilledTeam],
): Promise<Figure[]> {
  const { most: base } = await exported(platform, short);
  const ours: Exported[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    theirs.push(await copied(url, long));
    ours.push(await exported(platform, long));
  }
  const of = `export of ${long.events.toLocaleString('en')} items as CSV`;
  const most = Math.max(...ours.map((one) => one.most)) - base;
  const firstByteMs = median(ours.map((one) => one.firstByteMs));
  return [
    figure({
      name: of,
      value: median(ours.map(({ rate }) => rate)),
      unit: 'rows/s',
      reference: 'psql, COPY of the same columns',
      referenceValue: median(theirs),
      target: '≥ 0.4 ×',
      pass: (_, ratio) => ratio >= 0.4,
    }),
    figure({
      name: `${of}: memory of the server beyond what it had after one of ${short.events.toLocaleString('en')}, most of ${ROUNDS}`,
      value: most,
      unit: 'MiB',
      reference: 'the target',
      referenceValue: 64,
      target: '≤ 64',
      pass: (value) => value <= 64,
    }),
    figure({
      name: `${of}: first byte`,
      value: firstByteMs,
      unit: 'ms',
      reference: 'the target',
      referenceValue: 100,
      target: '< 100',
      pass: (value) => value < 100,
    }),
  ];
}

export async function run(): Promise<Figure[]> {
  await using database = await freshDatabase();
  const platform = await startPlatform({ DATABASE_URL: database.url, LIMIT_REQUESTS_PER_MINUTE: '10000000' });
  const sql = postgres(database.url, {
    max: 1,
    onnotice: () => undefined,
    connection: { synchronous_commit: 'off' },
  });
  try {
    const filled = async (events: number): Promise<FilledTeam> =>
      await fill(sql, await platform.customerTeam(`bench ${events}`), events);
    const short = await filled(SHORT);
    const long = await filled(LONG);
    await sql`vacuum analyze`;
    return [
      await summaries(platform, [short, long]),
      ...(await exports(platform, database.url, [short, long])),
    ];
  } finally {
    await sql.end();
    await platform.stop();
  }
}
