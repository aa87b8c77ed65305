/**
 * This view shows what a team's work costs: the month so far and where it goes, days that stand out, budgets,
 * and for admins credit, statements and the plan.
 */
import type { Team } from '@svc/sdk';
import { Missing } from '../../missing.tsx';
import { Unread } from '../../reading.tsx';
import type { PageProps } from '../../page.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { TeamPage } from '../../team-page.tsx';
import { Anomalies } from './anomalies.tsx';
import { BudgetList } from './budget-list.tsx';
import { Credit } from './credit.tsx';
import { Days } from './days.tsx';
import { Dialogs } from './dialogs.tsx';
import { Month } from './month.tsx';
import { Parts } from './parts.tsx';
import { PlanView } from './plan-view.tsx';
import { Statements } from './statements.tsx';
import { dialog } from './question.ts';
import { useCosts, type TeamCosts } from './reads.ts';

export function CostsPage({ place }: PageProps) {
  return (
    <TeamPage title="Costs" place={place}>
      {(team) => <CostsOf key={team.id} team={team} />}
    </TeamPage>
  );
}

function CostsOf({ team }: { readonly team: Team }) {
  const costs = useCosts(team.id);
  const known = costs.data.value;
  if (known === 'absent') return <Missing />;
  return (
    <div class="costs">
      <h1>Costs</h1>
      {known !== undefined ? (
        <>
          <StaleNotice of={costs} />
          <Known team={team} known={known} />
        </>
      ) : (
        <Unread of={costs} what="the costs" />
      )}
    </div>
  );
}

interface KnownProps {
  readonly team: Team;
  readonly known: TeamCosts;
}

function Known({ team, known }: KnownProps) {
  const { summary, anomalies, budgets, names, money } = known;
  return (
    <>
      <Month summary={summary} />
      <Days teamId={team.id} statement={summary.since.slice(0, 7)} summary={summary} anomalies={anomalies} />
      <Anomalies anomalies={anomalies} currency={summary} />
      <Parts summary={summary} />
      <BudgetList team={team} budgets={budgets} names={names} summary={summary} />
      {money !== undefined && (
        <>
          <Credit team={team} money={money} />
          <Statements teamId={team.id} of={money.billing.statements} />
          <PlanView money={money} />
        </>
      )}
      {dialog.value !== undefined && <Dialogs team={team} dialog={dialog.value} known={known} />}
    </>
  );
}
