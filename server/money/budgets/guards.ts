/** Budgets that guard environments: those that hold new work of it, exceeded or not. */
import { and, eq, inArray } from 'drizzle-orm';
import type { GuardsOf } from '../../apps/environments/index.ts';
import { budgetRows } from './acts.ts';
import { budgets } from './schema.ts';

export const budgetGuards: GuardsOf = async (who, { id: environmentId, teamId, projectId }) => {
  const found = await budgetRows.list(who, {
    where: and(
      eq(budgets.teamId, teamId),
      budgets.enabled,
      eq(budgets.enforcement, 'hold'),
      inArray(budgets.projectId, ['', projectId]),
      inArray(budgets.environmentId, ['', environmentId]),
    ),
    by: budgets.projectId,
  });
  return found.map(({ id }) => ({ kind: 'budget', id, name: `the budget ${id}` }));
};
