/**
 * What must hold of money whatever was killed, stopped or deleted: over all teams, by SQL. Nothing of the
 * product is imported here, so that no mistake of the product can hide itself.
 */
export interface MoneyDifference {
  readonly table: string;
  /** Parts of the row's key. */
  readonly row: string;
  /** Stored value and the one that it should be. */
  readonly problem: string;
}

/** Rows of a text without values. */
export type Ask = (text: string) => PromiseLike<readonly MoneyDifference[]>;

const SHOWN_MAX = 100;

const INVARIANTS: readonly string[] = [
  // Each report has exactly one event, of its own time. What waits in the outbox has none yet.
  `select 'usage_events' as table, w.id as row, 'its report of ' || w.metered_ms || ' ms has ' || u.events || ' events of ' || u.ms || ' ms, expected 1' as problem
  from work_items w cross join lateral (
    select count(*) as events, coalesce(sum(e.metered_ms), 0) as ms from usage_events e where e.work_id = w.id
  ) u
  where w.finished_at is not null and w.metered_ms is not null and (u.events <> 1 or u.ms <> w.metered_ms)
    and not exists (select from outbox o where o.kind = 'work.finished' and o.dedupe_key = w.id)`,
  // Nothing is metered that has not ended, or whose event is still to come.
  `select 'usage_events' as table, e.work_id as row, 'its work is ' || w.state || ' with ' || coalesce(w.metered_ms::text, 'no') || ' ms' as problem
  from usage_events e join work_items w on w.id = e.work_id
  where w.finished_at is null or w.metered_ms is null or exists (select from outbox o where o.kind = 'work.finished' and o.dedupe_key = w.id)`,
  `select 'usage_events' as table, e.work_id as row, 'rated is ' || e.rated || ', expected ' || coalesce((e.metered_ms::numeric * p.nanos_per_second)::text, 'a price') as problem
  from usage_events e left join prices p on p.id = e.price_id and p.from_at <= e.claimed_at and p.meter = e.kind || '.' || e.executed_by
  where e.rated is distinct from e.metered_ms::numeric * p.nanos_per_second`,
  // Days are the sums of events, by all that tells them apart.
  `with e as (
    select team_id, period, greatest((reported_at at time zone 'UTC')::date, period) as day, kind || '.' || executed_by as meter, price_id, coalesce(project_id, '') as project_id,
      coalesce(environment_id, '') as environment_id, runner_id, count(*) as events, sum(metered_ms) as metered_ms, coalesce(sum(self_reported_ms), 0) as self_reported_ms,
      count(self_reported_ms) as self_reported_count
    from usage_events group by 1, 2, 3, 4, 5, 6, 7, 8
  )
  select 'cost_days' as table, concat_ws(' ', team_id, period, day, meter, price_id, project_id, environment_id, runner_id) as row,
    'it has ' || coalesce(d.events, 0) || ' events of ' || coalesce(d.metered_ms, 0) || ' ms, expected ' || coalesce(e.events, 0) || ' of ' || coalesce(e.metered_ms, 0) as problem
  from cost_days d full join e using (team_id, period, day, meter, price_id, project_id, environment_id, runner_id)
  where (d.events, d.metered_ms, d.self_reported_ms, d.self_reported_count) is distinct from (e.events, e.metered_ms, e.self_reported_ms, e.self_reported_count)
    or date_trunc('month', day) <> period`,
  // Statements are the days of their month at their price, and each line is rounded once.
  `with s as (select s.team_id, s.period, l.* from statements s join statement_lines l on l.statement_id = s.id where l.price_id <> ''),
  d as (
    select d.team_id, d.period, d.meter, d.price_id, sum(d.metered_ms) as metered_ms, sum(d.metered_ms::numeric * p.nanos_per_second) as list
    from cost_days d join prices p on p.id = d.price_id where d.period < (select month from open_period)
      and exists (select from statements s where s.team_id = d.team_id and s.period = d.period)
    group by 1, 2, 3, 4
  )
  select 'statement_lines' as table, concat_ws(' ', team_id, period, meter, price_id) as row,
    'it has ' || coalesce(s.metered_ms, 0) || ' ms for ' || coalesce(s.list, 0) || ', expected ' || coalesce(d.metered_ms, 0) || ' ms for ' || coalesce(d.list, 0) as problem
  from s full join d using (team_id, period, meter, price_id)
  where s.metered_ms is distinct from d.metered_ms or s.list is distinct from d.list or not s.included_ms between 0 and s.metered_ms
    or abs(s.list_cents * 10000000000::numeric - s.list) > 5000000000 or abs(s.net_cents * 10000000000::numeric - s.list + s.included) > 5000000000`,
  `select 'statements' as table, s.id as row, 'list, net, credit and due are ' || concat_ws(', ', s.list_cents, s.net_cents, s.credit_cents, s.due_cents) || '; its lines come to '
    || concat_ws(', ', l.list, l.net) || ', and the ledger took ' || t.cents as problem
  from statements s
  cross join lateral (select coalesce(sum(list_cents), 0) as list, coalesce(sum(net_cents), 0) as net from statement_lines where statement_id = s.id) l
  cross join lateral (select coalesce(sum(cents), 0) as cents from credit_transfers where team_id = s.team_id and kind = 'usage' and starts_with(source, s.id)) t
  where s.list_cents <> l.list or s.net_cents <> l.net or s.credit_cents <> t.cents or s.due_cents <> s.net_cents - s.credit_cents`,
  `select 'credit_transfers' as table, t.id as row, 'it was used by ' || t.source || ', which is no statement' as problem
  from credit_transfers t where t.kind = 'usage' and not exists (select from statements s where s.team_id = t.team_id and starts_with(t.source, s.id))`,
  // The month before the open one may be in the middle of its closing.
  `select distinct 'statements' as table, concat_ws(' ', d.team_id, d.period) as row, 'there is none' as problem
  from cost_days d where d.period < (select month - interval '1 month' from open_period) and not exists (select from statements s where s.team_id = d.team_id and s.period = d.period)`,
  `select 'settled_months' as table, concat_ws(' ', team_id, period) as row, 'it has ' || coalesce(s.id, 'no statement') || ', expected ' || coalesce(m.statement_id, 'none') as problem
  from settled_months m full join statements s using (team_id, period) where s.id is distinct from m.statement_id`,
  // It checks the ledger of credit: nothing comes from nowhere, and there are no gaps.
  `select 'credit_entries' as table, team_id as row, 'they sum to ' || sum(cents) as problem from credit_entries group by team_id having sum(cents) <> 0`,
  `select 'credit_entries' as table, concat_ws(' ', team_id, account, seq) as row, 'its balance is ' || balance || ', expected entry ' || n || ' with ' || total as problem
  from (
    select team_id, account, seq, balance, row_number() over w as n, sum(cents) over w as total from credit_entries window w as (partition by team_id, account order by seq)
  ) x where seq <> n or balance <> total`,
  `select 'credit_transfers' as table, t.id as row, 'it has ' || count(e.seq) || ' entries' as problem
  from credit_transfers t left join credit_entries e on e.transfer_id = t.id and e.team_id = t.team_id
  group by t.id having count(*) filter (where e.account = t.from and e.cents = -t.cents) <> 1 or count(*) filter (where e.account = t.to and e.cents = t.cents) <> 1 or count(e.seq) <> 2`,
];

export async function moneyDifferences(ask: Ask): Promise<MoneyDifference[]> {
  const found: MoneyDifference[] = [];
  for (const invariant of INVARIANTS)
    found.push(...(await ask(`select * from (${invariant}) x limit ${SHOWN_MAX}`)));
  return found;
}
