/**
 * Statements computed again: from the sums of days, from who paid under which plan, and from the ledger of
 * credit.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { SqlTag } from '../../base/db/index.ts';
import { paidMonth, SELF_HOSTED } from '../plans/index.ts';
import { SHORTFALL, usageLines, type Line, type StatementRow } from '../statements/index.ts';
import {
  amountsOf,
  differing,
  isOf,
  type Check,
  type Difference,
  type Looked,
  type Texts,
} from './differences.ts';

/** A statement says the sums of its lines. */
const headsSummed: Check = async (sql, looked) => {
  const rows = await sql<
    Array<Texts<'state' | 'list' | 'net' | 'due' | 'credit' | 'listOfLines' | 'netOfLines'>>
  >`
    select s.id as row, s.state, s.list_cents::text as list, s.net_cents::text as net, s.due_cents::text as due, s.credit_cents::text as credit,
      x.list::text as "listOfLines", x.net::text as "netOfLines"
    from statements s cross join lateral (
      select coalesce(sum(l.list_cents), 0) as list, coalesce(sum(l.net_cents), 0) as net from statement_lines l where l.statement_id = s.id
    ) x
    where ${isOf(sql, sql`s.team_id`, looked)}
      and (s.list_cents <> x.list or s.net_cents <> x.net or s.due_cents <> x.net - s.credit_cents or (s.state = 'settled') <> (s.due_cents = 0))
    order by 1 limit ${looked.limit}::int`;
  const amount = amountsOf(looked);
  return differing(
    'statements',
    rows,
    ({ state, list, net, due, credit, listOfLines, netOfLines }) =>
      `list, net and due are ${amount(list)}, ${amount(net)} and ${amount(due)}, and it is ${state}; ` +
      `its lines come to ${amount(listOfLines)} and ${amount(netOfLines)}, of which credit paid ${amount(credit)}`,
  );
};

/**
 * Credit that a statement was paid with is what its transfers took, and what it puts on of a shortfall is
 * what theirs did.
 */
const creditTaken: Check = async (sql, looked) => {
  const rows = await sql<Array<Texts<'shortfall' | 'taken' | 'owed'> & { readonly credit: string | null }>>`
    with taken as (
      select team_id, split_part(source, ' ', 1) as id, sum(cents) as cents from credit_transfers t
      where ${isOf(sql, sql`t.team_id`, looked)} and kind = 'usage' group by 1, 2
    ),
    owed as (
      select team_id, source as id, sum(cents) as cents from credit_transfers t
      where ${isOf(sql, sql`t.team_id`, looked)} and t.kind = 'refund' and t.from = 'bought' and t.to = 'consumed' group by 1, 2
    ),
    stated as (
      select s.team_id, s.id, s.credit_cents, coalesce((select sum(l.net_cents) from statement_lines l where l.statement_id = s.id and l.meter = ${SHORTFALL}), 0) as shortfall
      from statements s where ${isOf(sql, sql`s.team_id`, looked)}
    )
    select id as row, s.credit_cents::text as credit, coalesce(s.shortfall, 0)::text as shortfall, coalesce(t.cents, 0)::text as taken, coalesce(o.cents, 0)::text as owed
    from stated s full join taken t using (team_id, id) full join owed o using (team_id, id)
    where s.credit_cents is null or s.credit_cents <> coalesce(t.cents, 0) or s.shortfall <> coalesce(o.cents, 0)
    order by 1 limit ${looked.limit}::int`;
  const amount = amountsOf(looked);
  return differing(
    'statements',
    rows,
    ({ credit, shortfall, taken, owed }) =>
      `credit is ${credit === null ? 'of no statement' : amount(credit)} and shortfall ${amount(shortfall)}; ` +
      `the ledger took ${amount(taken)} and put on ${amount(owed)}`,
  );
};

/** The month before the open one may be in the middle of its closing, until that says that it is done. */
const monthsStated: Check = async (sql, looked) =>
  await sql<Difference[]>`
  select distinct 'statements' as table, concat_ws(' ', d.team_id, d.period) as row, 'there is no statement of a closed month that has work' as problem
  from cost_days d where ${isOf(sql, sql`d.team_id`, looked)}
    and d.period <= (select greatest(settled_month, (month - interval '2 months')::date) from open_period)
    and not exists (select from statements s where s.team_id = d.team_id and s.period = d.period)
    and not exists (select from settled_months m where m.team_id = d.team_id and m.period = d.period)
  order by 2, 3 limit ${looked.limit}::int`;

/** A month that was settled has the very statement that it had then. */
const settledKept: Check = async (sql, looked) =>
  await sql<Difference[]>`
  select 'statements' as table, coalesce(s.id, m.statement_id) as row,
    case when s.id is null then 'the statement of ' || m.team_id || ' for ' || to_char(m.period, 'YYYY-MM') || ' is not there'
      when m.statement_id is null then 'it is of no month that was settled'
      else 'it is not the statement that was made for its month: that is ' || m.statement_id end as problem
  from (select * from settled_months m where ${isOf(sql, sql`m.team_id`, looked)}) m
  full join (select * from statements s where ${isOf(sql, sql`s.team_id`, looked)}) s on s.team_id = m.team_id and s.period = m.period
  where s.id is distinct from m.statement_id
  order by 2, 3 limit ${looked.limit}::int`;

/** What a voided statement had used of the credit came back, and that of no other one did. */
const creditReturned: Check = async (sql, looked) => {
  const rows = await sql<Array<Texts<'used' | 'returned'> & { readonly state: string | null }>>`
    with returned as (
      select split_part(source, ' ', 1) as id, sum(cents) as cents from credit_transfers t
      where ${isOf(sql, sql`t.team_id`, looked)} and kind = 'usage_returned' group by 1
    )
    select coalesce(s.id, r.id) as row, s.state, coalesce(s.credit_cents, 0)::text as used, coalesce(r.cents, 0)::text as returned
    from (select * from statements s where ${isOf(sql, sql`s.team_id`, looked)}) s full join returned r on r.id = s.id
    where coalesce(r.cents, 0) <> case when s.state = 'voided' then s.credit_cents else 0 end
    order by 1 limit ${looked.limit}::int`;
  const amount = amountsOf(looked);
  return differing(
    'statements',
    rows,
    ({ state, used, returned }) =>
      `it is ${state ?? 'not there'} and used ${amount(used)} of the credit; the ledger gave back ${amount(returned)}`,
  );
};

export const STATEMENT_CHECKS: readonly Check[] = [
  headsSummed,
  creditTaken,
  monthsStated,
  settledKept,
  creditReturned,
];

const AT_ONCE = 100;

type Stated = Pick<StatementRow, 'id' | 'teamId' | 'payerId' | 'period' | 'currency' | 'plan'>;

type Key = Pick<Line, 'meter' | 'priceId'>;
type StoredLine = Omit<Line, 'list' | 'included'> & {
  readonly n: number;
  readonly list: string;
  readonly included: string;
};

/** Each statement's lines are what its month comes to now, under the plan of that month. */
export async function restated(sql: SqlTag, looked: Looked): Promise<readonly Difference[]> {
  const found: Difference[] = [];
  for (let after = ''; found.length < looked.limit;) {
    const statements = await sql<Stated[]>`
      select id, team_id as "teamId", payer_id as "payerId", period::text, currency, plan from statements s
      where ${isOf(sql, sql`s.team_id`, looked)} and s.id > ${after} order by s.id limit ${AT_ONCE}::int`;
    for (const stated of statements) found.push(...(await restatedOne(sql, stated, amountsOf(looked))));
    const last = statements.at(-1);
    if (last === undefined || statements.length < AT_ONCE) break;
    after = last.id;
  }
  return found.slice(0, looked.limit);
}

type Amount = ReturnType<typeof amountsOf>;

async function restatedOne(sql: SqlTag, stated: Stated, amount: Amount): Promise<Difference[]> {
  const { id, teamId, period, currency, plan } = stated;
  const paid = await paidMonth({ sql }, { teamId, period, charges: plan !== SELF_HOSTED.id });
  const expected = await usageLines(sql, { teamId, period, currency, coverage: paid.coverage });
  const stored = await sql<StoredLine[]>`
    select n, meter, price_id as "priceId", metered_ms as "meteredMs", included_ms as "includedMs", list::text, included::text, list_cents as "listCents", net_cents as "netCents"
    from statement_lines where statement_id = ${id} and meter <> ${SHORTFALL} order by n`;
  const differences: Difference[] = [];
  const differs = (table: string, row: string, problem: string): void =>
    void differences.push({ table, row, problem });
  const [was, is] = [
    `${plan} of ${stated.payerId ?? 'nobody'}`,
    `${paid.plan.id} of ${paid.payerId ?? 'nobody'}`,
  ];
  if (was !== is) differs('statements', id, `its plan is ${was}, expected ${is}`);
  for (const line of stored) {
    const again = expected.find((each) => keyOf(each) === keyOf(line));
    const [has, wants] = [
      wordsOf(line, amount),
      again === undefined ? 'no such line' : wordsOf(again, amount),
    ];
    if (has !== wants) differs('statement_lines', `${id} ${line.n}`, `it has ${has}, expected ${wants}`);
  }
  for (const line of expected)
    if (!stored.some((each) => keyOf(each) === keyOf(line)))
      differs(
        'statement_lines',
        `${id} ${keyOf(line)}`,
        `there is no such line, expected ${wordsOf(line, amount)}`,
      );
  return differences;
}

const keyOf = ({ meter, priceId }: Key): string => `${meter} ${priceId}`;

function wordsOf(line: Line | StoredLine, amount: Amount): string {
  const { meteredMs, includedMs, list, included, listCents, netCents } = line;
  return `${keyOf(line)}: ${meteredMs} ms, included ${includedMs} ms, list ${list}, included ${included}, rounded ${amount(listCents)}, net ${amount(netCents)}`;
}
