/**
 * This view shows what a team's work costs: the month so far and where it goes, days that stand out, budgets,
 * and for admins credit, statements and the plan.
 */
import type { Team } from '@svc/sdk';
import type { LastGood } from '../../last-good.ts';
import { Missing } from '../../missing.tsx';
import { Unread } from '../../reading.tsx';
import type { PageProps } from '../../page.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { TeamPage } from '../../team-page.tsx';
import { usePolled } from '../../use-last-good.ts';
import { Anomalies } from './anomalies.tsx';
import { BudgetList } from './budget-list.tsx';
import { Credit } from './credit.tsx';
import { Days } from './days.tsx';
import { Dialogs } from './dialogs.tsx';
import { Month } from './month.tsx';
import { Parts } from './parts.tsx';
import { PlanView } from './plan-view.tsx';
import { Statements } from './statements.tsx';
import { dialog, readCosts, type CostsAnswer, type TeamCosts } from './store.ts';

/** Costs follow reports within seconds; nobody watches them to the second. */
const READ_EVERY_MS = 30_000;

export function CostsPage({ place }: PageProps) {
  return (
    <TeamPage title="Costs" place={place}>
      {(team) => <CostsOf key={team.id} team={team} />}
    </TeamPage>
  );
}

function CostsOf({ team }: { readonly team: Team }) {
  const costs = usePolled(async () => await readCosts(team.id), READ_EVERY_MS);
  const known = costs.data.value;
  if (known === 'absent') return <Missing />;
  return (
    <div class="costs">
      <h1>Costs</h1>
      {known !== undefined ? (
        <Known team={team} known={known} of={costs} />
      ) : (
        <Unread of={costs} what="the costs" />
      )}
    </div>
  );
}

interface KnownProps {
  readonly team: Team;
  readonly known: TeamCosts;
  readonly of: LastGood<CostsAnswer>;
}

function Known({ team, known, of }: KnownProps) {
  const { summary, anomalies, budgets, money } = known;
  return (
    <>
      <StaleNotice of={of} />
      <Month summary={summary} />
      <Days summary={summary} anomalies={anomalies} />
      <Anomalies anomalies={anomalies} currency={summary} />
      <Parts summary={summary} />
      <BudgetList team={team} budgets={budgets} summary={summary} />
      {money !== undefined && (
        <>
          <Credit team={team} money={money} />
          <Statements billing={money.billing} />
          <PlanView money={money} />
        </>
      )}
      {dialog.value !== undefined && (
        <Dialogs team={team} dialog={dialog.value} known={known} reload={of.load} />
      )}
    </>
  );
}
