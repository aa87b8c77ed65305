/** This view lists the budgets of a team, each as a meter that has its figures. */
import type { Budget, CostSummary, Team } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { ask, mayBill } from './question.ts';
import { amount, scopeName, type Names } from './words.ts';

interface Props {
  readonly team: Team;
  readonly budgets: readonly Budget[];
  readonly names: Names;
  readonly summary: CostSummary;
}

export function BudgetList({ team, budgets, names, summary }: Props) {
  return (
    <section class="panel" aria-labelledby="budgets-title" tabIndex={-1}>
      <div class="panel-head">
        <h2 id="budgets-title">Budgets</h2>
        {mayBill(team) && (
          <Button
            text="Set a budget"
            look="small"
            onClick={() => ask({ kind: 'budget', budget: undefined })}
          />
        )}
      </div>
      {budgets.length === 0 ? (
        <p class="muted">There is no budget: nobody is told what is spent, and nothing is held.</p>
      ) : (
        <ul class="budgets">
          {budgets.map((budget) => (
            <BudgetView
              key={budget.id}
              team={team}
              budget={budget}
              summary={summary}
              scope={scopeName(budget, names)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

interface ViewProps {
  readonly team: Team;
  readonly budget: Budget;
  readonly summary: CostSummary;
  readonly scope: string;
}

function BudgetView({ team, budget, summary, scope }: ViewProps) {
  const { state, percentUsed, spent, monthlyLimit, forecast, enforcement, scopeDeleted } = budget;
  return (
    <li class={`budget budget-${state}`}>
      <div class="panel-head">
        <h3>{scope}</h3>
        {mayBill(team) && (
          <span class="budget-actions">
            <Button
              text="Change"
              look="small"
              label={`Change the budget: ${scope}`}
              onClick={() => ask({ kind: 'budget', budget })}
            />
            <Button
              text="Delete"
              look="small"
              label={`Delete the budget: ${scope}`}
              onClick={() => ask({ kind: 'delete', budget })}
            />
          </span>
        )}
      </div>
      <meter
        min={0}
        max={100}
        high={80}
        low={80}
        optimum={0}
        value={Math.min(100, percentUsed)}
        aria-label={`Spent of the budget: ${scope}`}
      />
      <p>
        {amount(spent, summary)} of {amount(String(monthlyLimit), summary)},{' '}
        {percentUsed.toLocaleString('en')} %
        {scopeDeleted && '; bound to nothing, since what it was of was deleted'}
        {state === 'disabled' && '; switched off'}
        {state === 'exceeded' && (enforcement === 'hold' ? '; exceeded, new work is refused' : '; exceeded')}
        {forecast !== undefined && `; forecast ${amount(forecast, summary)}`}
        {state !== 'exceeded' && enforcement === 'hold' && '; holds new work when it is exceeded'}
      </p>
    </li>
  );
}
