/** There is a valid request of each RPC, for the tests of the contract. */
import { once, team, type Requests } from '../../../test/contract/requests.ts';

/** One that nothing but its own deletion is about. */
const budget = once(async ({ teamId, projectId, sql }) => {
  await sql`
    insert into budgets (id, team_id, project_id, limit_cents, created_at, updated_at)
    values ('bdg_contract', ${teamId}, ${projectId}, 100, now(), now())`;
  return { teamId, budgetId: 'bdg_contract' };
});

export const requests: Requests = {
  'svc.budgets.v1.BudgetsService/List': { fields: team, gives: 'nothing' },
  'svc.budgets.v1.BudgetsService/Set': {
    statements: 13,
    gives: 'nothing',
    fields: ({ teamId, environmentId }) => ({ teamId, environmentId, monthlyLimit: 200 }),
  },
  'svc.budgets.v1.BudgetsService/Delete': { fields: budget, gives: 'nothing', last: 1 },
};
