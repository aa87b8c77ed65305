/** One team's costs, and what only admins and owners see of them: credit, statements, the plan. */
import {
  SvcApiError,
  type Budget,
  type CostAnomaly,
  type CostsCreditBalanceResponse,
  type CostSummary,
  type Plan,
  type Team,
  type TeamBilling,
} from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import { createQuestion } from '../../question.ts';
import { billingOf, budgets, costs, plans } from './calls.ts';

export interface Money {
  readonly billing: TeamBilling;
  readonly credit: CostsCreditBalanceResponse;
  readonly plans: readonly Plan[];
}

export interface TeamCosts {
  readonly summary: CostSummary;
  readonly anomalies: readonly CostAnomaly[];
  readonly budgets: readonly Budget[];
  /** It is undefined where the person may not see it. */
  readonly money: Money | undefined;
}

/** `absent`: there is no such team. */
export type CostsAnswer = TeamCosts | 'absent';

export const readCosts = async (teamId: string): Promise<CostsAnswer> =>
  await ifMissing('absent' as const, async () => {
    const [summary, anomalies, list, money] = await Promise.all([
      costs.summary(teamId),
      costs.anomalies(teamId),
      budgets.list(teamId),
      readMoney(teamId),
    ]);
    return { summary, anomalies, budgets: list, money };
  });

async function readMoney(teamId: string): Promise<Money | undefined> {
  try {
    const [billing, credit, catalogue] = await Promise.all([
      billingOf(teamId),
      costs.creditBalance(teamId),
      plans.list(),
    ]);
    return { billing, credit, plans: catalogue };
  } catch (error) {
    if (error instanceof SvcApiError && error.status === 403) return undefined;
    throw error;
  }
}

/** Question that the page asks at the moment. */
export type Dialog =
  | { readonly kind: 'budget'; readonly budget: Budget | undefined }
  | { readonly kind: 'delete'; readonly budget: Budget }
  | { readonly kind: 'credit' }
  | { readonly kind: 'plan'; readonly plan: Plan };

export const { dialog, ask, closeDialog } = createQuestion<Dialog>();

export const mayBill = ({ role }: Team): boolean => role === 'admin' || role === 'owner';
export const maySpend = ({ role }: Team): boolean => role === 'owner';
