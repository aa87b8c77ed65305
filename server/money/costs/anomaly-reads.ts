/** Costs by day, of a team and its projects, and of environments and runners on days that stand out. */
import type { Ctx } from '../../kit/context.ts';
import { DIFFERENCE_MIN, type Anomaly, type Series } from './anomaly.ts';
import type { CostDays } from './days.ts';
import { median } from './median.ts';
import { costAt } from './priced-days.ts';

/** Projects that are looked at: those with the dearest days. */
const PROJECTS_MAX = 200;
/** Environments and runners that are compared with their past: those that cost most on the day. */
const CANDIDATES_MAX = 20;
const CONTRIBUTORS_MAX = 3;

export interface ScopedSeries extends Series {
  /** It is absent for the whole team. */
  readonly projectId: string | undefined;
  readonly projectName: string | undefined;
}

interface DayOfScope {
  readonly projectId: string | null;
  readonly name: string | null;
  readonly day: string;
  readonly meter: string;
  readonly ms: string;
  readonly list: string;
  readonly teamFirstDay: string;
}

/**
 * Series of the team, and of each project with a day that could stand out. A project's series begins with its
 * first day in this time.
 */
export async function seriesOf(
  { db, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, since, until }: CostDays & { readonly teamId: string },
): Promise<ScopedSeries[]> {
  const rows = await db.behind.sql<DayOfScope[]>`
    with days as (
      select day, project_id, price_id, sum(metered_ms) as ms from cost_days
      where team_id = ${teamId} and team_id = any(${teams.teamIds}::text[])
        and period >= date_trunc('month', ${since}::date)::date and day >= ${since}::date and day < ${until}::date
      group by day, project_id, price_id
    ),
    rated as materialized (
      select d.day, d.project_id, p.meter, sum(d.ms) as ms, sum(d.ms * p.nanos_per_second) as list
      from days d join prices p on p.id = d.price_id group by 1, 2, 3
    ),
    dear as (
      select project_id from (select day, project_id, sum(list) as list from rated where project_id <> '' group by 1, 2) r group by project_id
      having max(list) >= ${String(DIFFERENCE_MIN)}::numeric order by max(list) desc, project_id limit ${PROJECTS_MAX}
    ),
    scoped as (
      select null as project_id, day, meter, sum(ms) as ms, sum(list) as list from rated group by day, meter
      union all
      select project_id, day, meter, ms, list from rated where project_id in (select project_id from dear)
    )
    select s.project_id as "projectId", n.name, s.day::text, s.meter, s.ms::text, s.list::text,
      (select min(day)::text from cost_days where team_id = ${teamId} and period = (select min(period) from cost_days where team_id = ${teamId})) as "teamFirstDay"
    from scoped s left join cost_names n on n.team_id = ${teamId} and n.id = s.project_id
    order by s.project_id nulls first, s.day, s.meter`;
  const scopes = new Map<string | null, DayOfScope[]>();
  for (const row of rows) scopes.set(row.projectId, [...(scopes.get(row.projectId) ?? []), row]);
  return [...scopes.values()].map(seriesOfScope);
}

function seriesOfScope(rows: readonly DayOfScope[]): ScopedSeries {
  const [first] = rows;
  const meters = rows.map(({ day, meter, ms, list }) => ({ day, meter, ms: BigInt(ms), list: BigInt(list) }));
  const days = new Map<string, bigint>();
  for (const { day, list } of meters) days.set(day, (days.get(day) ?? 0n) + list);
  return {
    projectId: first?.projectId ?? undefined,
    projectName: first?.name ?? undefined,
    firstDay: (first?.projectId === null ? first.teamFirstDay : first?.day) ?? '',
    days,
    costAt: costAt(meters),
  };
}

export interface Contributor {
  readonly kind: 'environment' | 'runner';
  /** It is absent for work of no environment. */
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** Project of an environment. */
  readonly projectId: string | undefined;
  readonly projectName: string | undefined;
  readonly actual: bigint;
  readonly expected: bigint;
}

export interface ContributorsQuestion {
  readonly teamId: string;
  readonly anomalies: ReadonlyArray<
    Pick<Anomaly, 'day' | 'samples'> & { readonly projectId: string | undefined }
  >;
}

interface Candidate {
  readonly n: number;
  readonly kind: Contributor['kind'];
  readonly key: string;
  readonly name: string | null;
  readonly projectId: string | null;
  readonly projectName: string | null;
  readonly actual: string;
  /** Costs of the sampled days at the prices of that day; those without usage are left out. */
  readonly past: readonly string[];
}

/** This finds for each anomaly those that grew most over their own median, at most three. */
export async function contributorsOf(
  { db, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, anomalies }: ContributorsQuestion,
): Promise<Contributor[][]> {
  if (anomalies.length === 0) return [];
  const { sql } = db.behind;
  const asked = anomalies.map(({ day, samples, projectId }, n) => ({ n, day, samples, project: projectId }));
  const rows = await sql<Candidate[]>`
    with asked as materialized (
      select * from jsonb_to_recordset(${sql.json(asked)}::jsonb) a(n int, day date, project text, samples date[])
    ),
    parts as materialized (
      select a.n, s.day = a.day as is_that_day, s.day, d.meter, d.project_id, d.environment_id, d.runner_id, sum(d.metered_ms) as ms,
        sum(d.metered_ms * p.nanos_per_second::numeric) as list
      from asked a
      cross join lateral unnest(a.samples || a.day) s(day)
      join cost_days d on d.team_id = ${teamId} and d.team_id = any(${teams.teamIds}::text[])
        and d.period = date_trunc('month', s.day)::date and d.day = s.day and (a.project is null or d.project_id = a.project)
      join prices p on p.id = d.price_id
      group by 1, 2, 3, 4, 5, 6, 7
    ),
    paid as (select n, meter, sum(ms) as ms, sum(list) as list from parts where is_that_day group by n, meter having sum(ms) > 0),
    costs as (
      select x.n, x.is_that_day, x.day, k.kind, k.key, max(k.project_id) as project_id,
        sum(case when x.is_that_day or t.ms is null then x.list else div(x.ms * t.list, t.ms) end) as list
      from parts x left join paid t on t.n = x.n and t.meter = x.meter
      cross join lateral (values ('environment', x.environment_id, x.project_id), ('runner', x.runner_id, null)) k(kind, key, project_id)
      group by 1, 2, 3, 4, 5
    ),
    candidates as (
      select * from (
        select n, kind, key, project_id, list, row_number() over (partition by n, kind order by list desc, key) as rank from costs where is_that_day
      ) c
      where rank <= ${CANDIDATES_MAX}
    )
    select c.n, c.kind, c.key, m.name, nullif(c.project_id, '') as "projectId", j.name as "projectName", c.list::text as actual, coalesce(x.past, '{}') as past
    from candidates c
    left join (select n, kind, key, array_agg(list::text) as past from costs where not is_that_day group by 1, 2, 3) x
      on x.n = c.n and x.kind = c.kind and x.key = c.key
    left join cost_names m on m.team_id = ${teamId} and m.id = c.key
    left join cost_names j on j.team_id = ${teamId} and j.id = c.project_id`;
  return anomalies.map(({ samples }, n) =>
    topThree(
      rows.filter((row) => row.n === n),
      samples.length,
    ),
  );
}

function topThree(rows: readonly Candidate[], samples: number): Contributor[] {
  const growth = ({ actual, expected }: Contributor): bigint => actual - expected;
  return rows
    .map(({ kind, key, name, projectId, projectName, actual, past }): Contributor => {
      const idle = Array.from({ length: samples - past.length }, () => 0n);
      const expected = median([...past.map(BigInt), ...idle]);
      return {
        kind,
        id: key === '' ? undefined : key,
        name: name ?? undefined,
        projectId: key === '' ? undefined : (projectId ?? undefined),
        projectName: key === '' ? undefined : (projectName ?? undefined),
        actual: BigInt(actual),
        expected,
      };
    })
    .filter((each) => growth(each) > 0n)
    .toSorted((a, b) => (growth(a) > growth(b) ? -1 : 1))
    .slice(0, CONTRIBUTORS_MAX);
}
