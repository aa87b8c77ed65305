/**
 * People are told once of each threshold that is passed: of several that are passed at once only of the
 * highest.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { rowId } from '../../base/sql.ts';
import { centsOf, decimalOf, moneyOf, picoOf } from '../amounts/index.ts';
import type { PaidMonth } from '../plans/index.ts';
import { majorOf, passed } from './figures.ts';
import { scopeOf, type Evaluated, type Measured } from './measure.ts';

const INCLUDED = [75, 90, 100] as const;

/** One threshold, and the event of it. */
interface Notice {
  /** A budget, or a team. */
  readonly subjectId: string;
  readonly kind: 'actual' | 'forecast' | 'included';
  readonly threshold: number;
  readonly revision: number;
  readonly teamId: string;
  readonly event: string;
  readonly payload: Readonly<Record<string, string | number>>;
}

export async function tell(sql: SqlTag, evaluated: Evaluated): Promise<void> {
  const { budgets, payers, month, now } = evaluated;
  const notices = [
    ...budgets.flatMap((budget) => (budget.enabled ? noticesOf(budget, evaluated) : [])),
    ...payers.flatMap((payer) => includedNotices(payer, evaluated)),
  ];
  if (notices.length === 0) return;
  const fresh = await markTold(sql, { notices, period: month.period });
  const told = highest(notices.filter((notice) => fresh.has(keyOf(notice))));
  const events = told.map((notice) => ({
    team_id: notice.teamId,
    kind: notice.event,
    key: `${notice.subjectId} ${month.period} ${notice.kind} ${notice.threshold} ${notice.revision}`,
    payload: notice.payload,
  }));
  if (events.length === 0) return;
  await sql`
    insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
    select ${rowId(sql, 'evt')}, e.team_id, e.kind, e.key, e.payload, ${now}
    from jsonb_to_recordset(${sql.json(events)}::jsonb) e(team_id text, kind text, key text, payload jsonb) join teams t on t.id = e.team_id
    on conflict (kind, dedupe_key) do nothing`;
}

type Key = Pick<Notice, 'subjectId' | 'kind' | 'threshold'>;

const keyOf = ({ subjectId, kind, threshold }: Key): string => `${subjectId} ${kind} ${threshold}`;

/** Keys of those that nobody was told of. */
async function markTold(
  sql: SqlTag,
  { notices, period }: { readonly notices: readonly Notice[]; readonly period: string },
): Promise<ReadonlySet<string>> {
  const rows = notices.map(({ subjectId: subject_id, kind, threshold, revision }) => ({
    subject_id,
    kind,
    threshold,
    revision,
  }));
  const fresh = await sql<Key[]>`
    insert into budget_notices (subject_id, month, kind, threshold, revision)
    select n.subject_id, ${period}::date, n.kind, n.threshold, n.revision
    from jsonb_to_recordset(${sql.json(rows)}::jsonb) n(subject_id text, kind text, threshold int, revision int) order by 1, 3, 4
    on conflict do nothing returning subject_id as "subjectId", kind, threshold`;
  return new Set(fresh.map(keyOf));
}

/** Returns the highest notice of each subject and kind. */
function highest(notices: readonly Notice[]): readonly Notice[] {
  const top = new Map<string, Notice>();
  for (const notice of notices.toSorted((a, b) => a.threshold - b.threshold))
    top.set(`${notice.subjectId} ${notice.kind}`, notice);
  return [...top.values()];
}

function noticesOf(budget: Measured, { currency, month }: Evaluated): readonly Notice[] {
  const { id, teamId, revision, limitCents, percentUsed, spent } = budget;
  const limit = moneyOf(limitCents, currency);
  const said = (pico: bigint): string => moneyOf(centsOf(pico, currency), currency);
  const what = `the budget of ${limit} for ${nameOf(budget)}`;
  const figures = {
    budgetId: id,
    ...scopeOf(budget),
    month: month.period,
    monthlyLimit: majorOf(limitCents, currency),
    currency,
    spent: decimalOf(spent),
    percentUsed,
  };
  const of = { subjectId: id, teamId, revision } as const;
  const actual = passed(percentUsed).map((threshold): Notice => {
    const title = `${percentUsed} % of ${what} is spent`;
    const body = bodyOf(budget, `Since the beginning of the month ${said(spent)} was spent.`);
    return {
      ...of,
      kind: 'actual',
      threshold,
      event: 'budget.threshold',
      payload: { ...figures, threshold, title, body },
    };
  });
  const limitPico = picoOf(limitCents, currency);
  if (percentUsed >= 100 || budget.forecastMax <= limitPico) return actual;
  const forecast = budget.forecast() ?? 0n;
  if (forecast <= limitPico) return actual;
  const title = `${what[0]!.toUpperCase()}${what.slice(1)} is likely to be exceeded`;
  const body = bodyOf(
    budget,
    `By the end of the month ${said(forecast)} is likely to be spent; ${said(spent)} is up to now.`,
  );
  const payload = { ...figures, threshold: 100, forecast: decimalOf(forecast), title, body };
  return [...actual, { ...of, kind: 'forecast', threshold: 100, event: 'budget.forecast', payload }];
}

function nameOf({ projectId, environmentId, name, id }: Measured): string {
  const kind = projectId !== '' ? 'the project' : environmentId !== '' ? 'the environment' : 'the team';
  return `${kind} ${name ?? id}`;
}

function bodyOf({ enforcement, percentUsed, teamId }: Measured, what: string): string {
  const effect =
    enforcement !== 'hold'
      ? ''
      : percentUsed >= 100
        ? ' New work is refused until the limit is raised or the month ends.'
        : ' At 100 % new work is refused.';
  return `${what}${effect} svc budgets list --team ${teamId}`;
}

function includedNotices(payer: PaidMonth, { month }: Evaluated): readonly Notice[] {
  const { poolMs, usedMs, plan, teamIds } = payer;
  if (poolMs === 0) return [];
  const reached = INCLUDED.filter((threshold) => usedMs * 100 >= threshold * poolMs);
  const percentUsed = Math.floor((usedMs * 1_000) / poolMs) / 10;
  const effect = plan.overage ? 'Time beyond it costs its price.' : 'Beyond it new work is refused.';
  return teamIds.flatMap((teamId) =>
    reached.map((threshold): Notice => {
      const title = `${percentUsed} % of the time that the plan ${plan.name} includes is used`;
      const body = `Of ${seconds(poolMs)} s of this month ${seconds(usedMs)} s are used. ${effect} svc teams billing ${teamId}`;
      const payload = {
        month: month.period,
        plan: plan.id,
        includedSeconds: seconds(poolMs),
        usedSeconds: seconds(usedMs),
        percentUsed,
        threshold,
        title,
        body,
      };
      return {
        subjectId: teamId,
        kind: 'included',
        threshold,
        revision: seconds(poolMs),
        teamId,
        event: 'included_time.near',
        payload,
      };
    }),
  );
}

const seconds = (ms: number): number => Math.floor(ms / 1_000);
