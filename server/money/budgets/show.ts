/** A budget with its figures, as the contract has it. */
import { BudgetSchema, type Budget } from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import type { Place } from '../../apps/environments/index.ts';
import { shown } from '../../kit/resource/index.ts';
import { decimalOf } from '../amounts/index.ts';
import { majorOf, stateOf } from './figures.ts';
import type { Measured } from './measure.ts';

export interface Shown {
  readonly currency: string;
  /** Time up to which costs are in the figures. */
  readonly evaluatedAt: Date;
  readonly place: Place;
}

export function showBudget(budget: Measured, { currency, evaluatedAt, place }: Shown): Budget {
  const { environmentId, limitCents, spent } = budget;
  const forecast = budget.forecast();
  return shown(BudgetSchema, budget, {
    projectId: place.projectId,
    environmentId: environmentId === '' ? undefined : environmentId,
    monthlyLimit: majorOf(limitCents, currency),
    currency,
    spent: decimalOf(spent),
    forecast: forecast === undefined ? undefined : decimalOf(forecast),
    state: stateOf(budget),
    evaluatedAt,
    scopeDeleted: place.isDeleted,
  });
}
