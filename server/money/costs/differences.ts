/**
 * What money is computed from, computed again: each row that is not what the others make of it. The database
 * compares, and only what differs comes out, so that a question about millions of events takes no more memory
 * than one about ten.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { moneyOf } from '../amounts/index.ts';

export interface Difference {
  readonly table: string;
  /** Parts of the row's key. */
  readonly row: string;
  /** Problem in words: what is stored, and what it should be. */
  readonly problem: string;
}

export interface Looked {
  /** It is absent for every team. */
  readonly teamId?: string;
  /** The most differences of one kind. */
  readonly limit: number;
  /** Currency of the installation, in which all of its money is counted. */
  readonly currency: string;
}

export type Check = (sql: SqlTag, looked: Looked) => Promise<readonly Difference[]>;

/** Writes minor units, which the database gives as text, as people read them. */
export function amountsOf({ currency }: Looked): (cents: string | number) => string {
  return (cents) => moneyOf(BigInt(cents), currency);
}

/** Returns the condition that a column has the team's id. */
export function isOf(sql: SqlTag, column: Fragment, { teamId }: Looked): Fragment {
  return teamId === undefined ? sql`true` : sql`${column} = ${teamId}`;
}

/** Each event has the price that was in force at its claim, and is rated by it. */
const eventsRated: Check = async (sql, looked) =>
  await sql<Difference[]>`
  with p as (
    select id, meter, nanos_per_second, from_at, lead(from_at, 1, 'infinity') over (partition by meter, currency order by from_at) as until_at from prices
  )
  select 'usage_events' as table, concat_ws(' ', e.work_id, to_char(e.reported_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as row,
    case
      when p.id is null then 'its price is ' || e.price_id || ', which is not there'
      when p.meter <> e.kind || '.' || e.executed_by then 'its price is of ' || p.meter || ', expected ' || e.kind || '.' || e.executed_by
      when e.claimed_at < p.from_at or e.claimed_at >= p.until_at then 'its price ' || e.price_id || ' was not in force at its claim'
      when e.rated <> e.metered_ms::numeric * p.nanos_per_second then 'rated is ' || e.rated || ', expected ' || e.metered_ms::numeric * p.nanos_per_second
      else 'period is ' || e.period || ', expected none before its report'
    end as problem
  from usage_events e left join p on p.id = e.price_id
  where ${isOf(sql, sql`e.team_id`, looked)} and (p.id is null or p.meter <> e.kind || '.' || e.executed_by or e.claimed_at < p.from_at or e.claimed_at >= p.until_at
    or e.rated <> e.metered_ms::numeric * p.nanos_per_second or e.period < date_trunc('month', e.reported_at at time zone 'UTC')::date)
  order by 2, 3 limit ${looked.limit}::int`;

/** Each day is the sum of its events. */
const daysSummed: Check = async (sql, looked) =>
  await sql<Difference[]>`
  with e as (
    select team_id, period, greatest((reported_at at time zone 'UTC')::date, period) as day, kind || '.' || executed_by as meter, price_id, coalesce(project_id, '') as project_id,
      coalesce(environment_id, '') as environment_id, runner_id, count(*) as events, sum(metered_ms) as metered_ms, coalesce(sum(self_reported_ms), 0) as self_reported_ms,
      count(self_reported_ms) as self_reported_count
    from usage_events u where ${isOf(sql, sql`u.team_id`, looked)} group by 1, 2, 3, 4, 5, 6, 7, 8
  ),
  d as (select * from cost_days c where ${isOf(sql, sql`c.team_id`, looked)})
  select 'cost_days' as table, concat_ws(' ', team_id, period, day, meter, price_id, nullif(project_id, ''), nullif(environment_id, ''), runner_id) as row,
    case when d.events is null then 'there is no such row' else 'it has ' || ${sums(sql, 'd')} end
    || ', expected ' || case when e.events is null then 'no such row' else ${sums(sql, 'e')} end as problem
  from d full join e using (team_id, period, day, meter, price_id, project_id, environment_id, runner_id)
  where d.events is distinct from e.events or d.metered_ms is distinct from e.metered_ms or d.self_reported_ms is distinct from e.self_reported_ms
    or d.self_reported_count is distinct from e.self_reported_count
  order by 2, 3 limit ${looked.limit}::int`;

function sums(sql: SqlTag, of: 'd' | 'e'): Fragment {
  const row = sql(of);
  return sql`(${row}.events || ' events of ' || ${row}.metered_ms || ' ms, themselves reported ' || ${row}.self_reported_ms || ' ms of ' || ${row}.self_reported_count)`;
}

/** A row whose columns came as texts. */
export type Texts<Column extends string> = Readonly<Record<'row' | Column, string>>;

/** Makes a difference of each row, where `words` says what is wrong with one. */
export function differing<Row extends { readonly row: string }>(
  table: string,
  rows: readonly Row[],
  words: (row: Row) => string,
): readonly Difference[] {
  return rows.map((each) => ({ table, row: each.row, problem: words(each) }));
}

/** What comes to one account goes from another. */
const entriesBalanced: Check = async (sql, looked) => {
  const rows = await sql<Array<Texts<'sum'>>>`
    select team_id as row, sum(cents)::text as sum from credit_entries e
    where ${isOf(sql, sql`e.team_id`, looked)} group by team_id having sum(cents) <> 0 order by 1 limit ${looked.limit}::int`;
  const amount = amountsOf(looked);
  const words = ({ sum }: Texts<'sum'>) =>
    `the entries of the team sum to ${amount(sum)}, expected ${amount('0')}`;
  return differing('credit_entries', rows, words);
};

/** Each account is counted from 1 without a gap, and each balance is the sum so far. */
const entriesInOrder: Check = async (sql, looked) => {
  const rows = await sql<Array<Texts<'balance' | 'sum'> & { readonly seq: number; readonly n: number }>>`
    select concat_ws(' ', team_id, account, seq) as row, seq, n, balance::text, sum::text
    from (
      select team_id, account, seq, balance, (row_number() over w)::int as n, sum(cents) over w as sum from credit_entries e
      where ${isOf(sql, sql`e.team_id`, looked)} window w as (partition by team_id, account order by seq)
    ) x where seq <> n or balance <> sum order by 1 limit ${looked.limit}::int`;
  const amount = amountsOf(looked);
  return differing(
    'credit_entries',
    rows,
    ({ seq, n, balance, sum }) =>
      `it is entry ${seq} with balance ${amount(balance)}, expected entry ${n} with balance ${amount(sum)}`,
  );
};

type Entries = ReadonlyArray<readonly [teamId: string, account: string, cents: string]>;

const transfersWhole: Check = async (sql, looked) => {
  const rows = await sql<Array<Texts<'teamId' | 'from' | 'to' | 'cents'> & { readonly entries: Entries }>>`
    select t.id as row, t.team_id as "teamId", t.from, t.to, t.cents::text as cents,
      coalesce(jsonb_agg(jsonb_build_array(e.team_id, e.account, e.cents::text) order by e.cents) filter (where e.seq is not null), '[]') as entries
    from credit_transfers t left join credit_entries e on e.transfer_id = t.id
    where ${isOf(sql, sql`t.team_id`, looked)}
    group by t.id having count(e.seq) <> 2 or count(*) filter (where e.team_id = t.team_id
      and (e.account = t.from and e.cents = -t.cents or e.account = t.to and e.cents = t.cents)) <> 2
    order by 1 limit ${looked.limit}::int`;
  const amount = amountsOf(looked);
  const words = (entries: Entries): string =>
    entries.map(([team, account, cents]) => `${team} ${account} ${amount(cents)}`).join(', ');
  return differing('credit_transfers', rows, ({ teamId, from, to, cents, entries }) => {
    const expected = [[teamId, from, `-${cents}`] as const, [teamId, to, cents] as const];
    return `its entries are ${words(entries) || 'none'}; expected ${words(expected)}`;
  });
};

const GUARDS = [
  'credit_entries append_only',
  'credit_transfers append_only',
  'plan_changes append_only',
  'plan_fees append_only',
  'prices append_only',
  'settled_months append_only',
  'statement_lines append_only',
  'statements guarded',
  'statements kept',
  'team_payers append_only',
  'usage_events append_only',
];

/** Nobody has taken away what keeps rows as they are. */
const stillAppendOnly: Check = async (sql, { limit }) =>
  await sql<Difference[]>`
  select g.name as table, g.name || '_' || g.guard as row, 'the trigger that refuses changes is disabled or missing' as problem
  from (select split_part(g, ' ', 1) as name, split_part(g, ' ', 2) as guard from unnest(${GUARDS}::text[]) g) g
  where not exists (select from pg_trigger t where t.tgrelid = g.name::regclass and t.tgname = g.name || '_' || g.guard and t.tgenabled = 'A')
  limit ${limit}::int`;

export const CHECKS: readonly Check[] = [
  eventsRated,
  daysSummed,
  entriesBalanced,
  entriesInOrder,
  transfersWhole,
  stillAppendOnly,
];

export interface Counts {
  readonly events: number;
  readonly days: number;
  readonly statements: number;
  readonly entries: number;
}

export async function countsOf(sql: SqlTag, looked: Looked): Promise<Counts> {
  const of = (column: Fragment) => isOf(sql, column, looked);
  const [row] = await sql<Counts[]>`
    select (select count(*) from usage_events e where ${of(sql`e.team_id`)}) as events, (select count(*) from cost_days d where ${of(sql`d.team_id`)}) as days,
      (select count(*) from statements s where ${of(sql`s.team_id`)}) as statements, (select count(*) from credit_entries c where ${of(sql`c.team_id`)}) as entries`;
  if (row === undefined) throw new Error('a count returned no row');
  return row;
}
