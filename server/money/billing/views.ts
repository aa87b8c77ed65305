/** Billing as teams and accounts see it. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import {
  StatementSchema,
  TeamBillingSchema,
  type Statement,
  type TeamBilling,
} from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { ListStatementsRequest } from '@svc/proto/gen/svc/billing/v1/billing_pb.ts';
import { findUserById, type AccountPlan } from '../../access/accounts/index.ts';
import { teamsPaidBy } from '../../access/teams/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { shown } from '../../kit/resource/index.ts';
import type { TeamLimits } from '../../engine/limits/index.ts';
import { decimalOf, decimalsOf } from '../amounts/index.ts';
import { balanceOf } from '../credits/index.ts';
import { dayOf, monthOf } from '../metering/index.ts';
import {
  accountPlanOf,
  includedOf,
  monthEnd,
  NOTHING_BOUGHT,
  paidMonth,
  planById,
  SELF_HOSTED,
  teamsOfPayer,
  type AccountPlan as PlanRow,
  type Pricing,
} from '../plans/index.ts';
import { openNets, pendingCents, statementsOf } from '../statements/index.ts';

const STATEMENTS_MAX = 12;

const SELF: PlanRow = { ...NOTHING_BOUGHT, plan: SELF_HOSTED.id, standing: 'self_hosted' };

async function planOf(db: Database, charges: boolean, userId: string | null): Promise<PlanRow> {
  if (!charges) return SELF;
  return userId === null ? NOTHING_BOUGHT : await accountPlanOf(db, userId);
}

async function usedSeconds(
  { sql }: Pick<Database, 'sql'>,
  { teamIds, period }: { readonly teamIds: readonly string[]; readonly period: string },
): Promise<number> {
  const [row] = await sql<Array<{ ms: number }>>`
    select coalesce(sum(metered_ms), 0)::bigint as ms from cost_days where team_id = any(${teamIds}::text[]) and period = ${period}::date`;
  return Number(row?.ms ?? 0) / 1_000;
}

/** This is shown to somebody who may see the team. */
export async function teamBilling(
  { charges, currency }: Pricing,
  ctx: Ctx,
  teamId: string,
): Promise<TeamBilling> {
  const { db } = ctx;
  const period = monthOf(dayOf(ctx.clock.now().getTime()));
  const month = await paidMonth(db, { teamId, period, charges });
  const { payerId } = month;
  const { standing, cancelAt } = await planOf(db, charges, payerId);
  const nets = await openNets(ctx, { teamId, charges, currency });
  const payer = payerId === null ? undefined : await findUserById(db, payerId);
  return shown(TeamBillingSchema, {
    teamId,
    plan: month.plan.id,
    standing,
    payer: payerId === null ? undefined : { userId: payerId, username: payer?.username },
    period: period.slice(0, 7),
    currency,
    decimals: decimalsOf(currency),
    includedSeconds: month.poolMs / 1_000,
    usedSeconds: month.usedMs / 1_000,
    net: decimalOf(nets.get(period)?.net ?? 0n),
    creditBalanceCents: await balanceOf(db.sql, teamId),
    pendingCents: pendingCents(nets),
    cancelAt,
    statements: await statementsOf(ctx, { teamId, limit: STATEMENTS_MAX }),
  });
}

/** This lists all statements of a team, page by page. */
export async function listStatements(
  request: ListStatementsRequest,
  ctx: Ctx,
): Promise<{ readonly statements: Statement[]; readonly nextCursor?: string }> {
  const { teamId } = request;
  const page = openPage(ctx, teamId, request);
  const before = page.after === undefined ? undefined : `${page.after[0]}-01`;
  const rows = await statementsOf(ctx, { teamId, limit: page.take, before });
  const { items, ...next } = closePage(page, rows, ({ period }) => [period]);
  return { ...next, statements: items.map((row) => shown(StatementSchema, row)) };
}

/** Limits of the installation that `account.plan` shows where the plan has no lower ones. */
export interface AccountLimits extends TeamLimits {
  readonly requestsPerMinute: number;
  readonly apiKeysMax: number;
  readonly teamsMax: number;
}

/** Limits are those of the installation where the plan has no lower ones. */
export async function accountPlan(
  { pricing: { charges }, limits }: { readonly pricing: Pricing; readonly limits: AccountLimits },
  { db, clock, caller }: Ctx,
): Promise<AccountPlan> {
  const { userId } = caller;
  const now = clock.now();
  const period = monthOf(dayOf(now.getTime()));
  const teams = await teamsOfPayer(db.sql, { payerId: userId, now });
  const { standing, cancelAt, plan } = await planOf(db, charges, userId);
  const included = charges ? (await includedOf(db, { payerId: userId, period })).poolMs : 0;
  // Time of teams that are gone is used as well.
  const used = await teamsPaidBy(db.sql, {
    payerId: userId,
    before: monthEnd(period),
  });
  const { id: name, limits: ofPlan } = planById(plan);
  return {
    ...limits,
    name,
    runnersPerTeamMax: Math.min(limits.runnersPerTeamMax, ofPlan.runnersMax ?? Infinity),
    queuedRunsPerTeamMax: Math.min(limits.queuedRunsPerTeamMax, ofPlan.queuedMax ?? Infinity),
    standing,
    periodStart: new Date(`${period}T00:00:00Z`),
    periodEnd: monthEnd(period),
    includedSeconds: included / 1_000,
    usedSeconds: await usedSeconds(db, { teamIds: used, period }),
    cancelAt,
    teamIds: teams.map(({ id }) => id),
  };
}
