/** What is asked before money or work is bounded or spent. */
import { useSignal, type Signal } from '@preact/signals';
import type { Budget, BudgetsSetParams, Plan, Team } from '@svc/sdk';
import { Ask } from '../../ask.tsx';
import { invalidate, useRead } from '../../cache.ts';
import { Check, TextField } from '../../field.tsx';
import { Picker } from '../../picker.tsx';
import { billing, budgets, costs, environments, projects } from './calls.ts';
import { closeDialog, type Dialog } from './question.ts';
import type { TeamCosts } from './reads.ts';
import { amount, ofCents, scopeName } from './words.ts';

interface Props {
  readonly team: Team;
  readonly dialog: Dialog;
  readonly known: TeamCosts;
}

export function Dialogs({ team, dialog, known }: Props) {
  switch (dialog.kind) {
    case 'budget':
      return <BudgetDialog team={team} budget={dialog.budget} known={known} />;
    case 'delete':
      return <DeleteDialog team={team} budget={dialog.budget} known={known} />;
    case 'credit':
      return <CreditDialog team={team} known={known} />;
    case 'plan':
      return <PlanDialog plan={dialog.plan} />;
  }
}

interface BudgetProps extends Omit<Props, 'dialog'> {
  readonly budget: Budget | undefined;
}

function BudgetDialog({ team, budget, known }: BudgetProps) {
  const limit = useSignal(budget === undefined ? '' : String(budget.monthlyLimit));
  const project = useSignal('');
  const environment = useSignal('');
  const hold = useSignal(budget?.enforcement === 'hold');
  const enabled = useSignal(budget?.enabled ?? true);
  const { currency } = known.summary;
  const set = async (): Promise<string> => {
    const monthlyLimit = Number(limit.value);
    if (limit.value.trim() === '' || !Number.isFinite(monthlyLimit) || monthlyLimit < 0)
      throw new Error('The limit is a number, 0 or more.');
    const made = await budgets.set(team.id, {
      ...(budget === undefined ? scopeOf(project.value, environment.value) : { id: budget.id }),
      monthlyLimit,
      enforcement: hold.value ? 'hold' : 'notify',
      enabled: enabled.value,
    });
    invalidate();
    return `The budget is ${amount(String(made.monthlyLimit), known.summary)} a month.`;
  };
  return (
    <Ask
      title={budget === undefined ? 'Set a budget' : `Change the budget: ${scopeName(budget, known.names)}`}
      verb="Set"
      act={set}
      onClose={closeDialog}
    >
      {budget === undefined && <ScopePickers team={team} project={project} environment={environment} />}
      <TextField
        id="budget-limit"
        label={`Limit of a month in ${currency.toUpperCase()}`}
        hint="Net, of the whole UTC month. 0: nothing beyond what the plan includes."
        value={limit}
        inputMode="decimal"
      />
      <Check of={hold}>Refuse new runs and builds when it is exceeded</Check>
      {budget !== undefined && <Check of={enabled}>Switched on</Check>}
    </Ask>
  );
}

function scopeOf(
  projectId: string,
  environmentId: string,
): Pick<BudgetsSetParams, 'projectId' | 'environmentId'> {
  if (environmentId !== '') return { environmentId };
  return projectId === '' ? {} : { projectId };
}

interface ScopeProps {
  readonly team: Team;
  readonly project: Signal<string>;
  readonly environment: Signal<string>;
}

function ScopePickers({ team, project, environment }: ScopeProps) {
  const list = useRead(`projects to budget ${team.id}`, async () =>
    (await projects.list()).filter(({ teamId }) => teamId === team.id),
  );
  return (
    <div class="pickers">
      <Picker
        label="Project"
        all="The whole team"
        of={list.data.value ?? []}
        value={project.value}
        onPick={(id) => {
          project.value = id;
          environment.value = '';
        }}
      />
      {project.value !== '' && (
        <EnvironmentPicker key={project.value} projectId={project.value} environment={environment} />
      )}
    </div>
  );
}

function EnvironmentPicker({
  projectId,
  environment,
}: Pick<ScopeProps, 'environment'> & { readonly projectId: string }) {
  const list = useRead(`environments ${projectId}`, async () => await environments.list(projectId));
  return (
    <Picker
      label="Environment"
      all="The whole project"
      of={list.data.value ?? []}
      value={environment.value}
      onPick={(id) => (environment.value = id)}
    />
  );
}

interface DeleteProps extends BudgetProps {
  readonly budget: Budget;
}

function DeleteDialog({ team, budget, known }: DeleteProps) {
  const remove = async (): Promise<string> => {
    await budgets.delete(team.id, budget.id);
    invalidate();
    return 'The budget is deleted.';
  };
  return (
    <Ask title="Delete the budget?" verb="Delete" danger act={remove} onClose={closeDialog}>
      <p>
        {scopeName(budget, known.names)}, {amount(String(budget.monthlyLimit), known.summary)} a month.
        {budget.enforcement === 'hold' && ' Work that it held is let in again.'}
      </p>
    </Ask>
  );
}

const here = (): string => window.location.href.split('#')[0] ?? '';

function CreditDialog({ team, known }: { readonly team: Team; readonly known: TeamCosts }) {
  const value = useSignal('50');
  const currency = known.money?.credit;
  if (currency === undefined) return null;
  const buy = async (): Promise<string> => {
    const amountCents = Math.round(Number(value.value) * 10 ** currency.decimals);
    if (!Number.isSafeInteger(amountCents)) throw new Error('The amount is a number.');
    const { url } = await costs.createCreditCheckout(team.id, {
      amountCents,
      successUrl: here(),
      cancelUrl: here(),
    });
    window.location.assign(url);
    return 'The provider of payments opens.';
  };
  return (
    <Ask title={`Buy credit for ${team.name}`} verb="Go to the payment" act={buy} onClose={closeDialog}>
      <TextField
        id="credit-amount"
        label={`Amount in ${currency.currency.toUpperCase()}`}
        hint={`${ofCents(500, currency)} to ${ofCents(1_000_000, currency)}. It pays statements of this team and never expires.`}
        value={value}
        inputMode="decimal"
      />
    </Ask>
  );
}

function PlanDialog({ plan }: { readonly plan: Plan }) {
  const go = async (): Promise<string> => {
    const { url } = await billing.checkout({ plan: plan.id, successUrl: here(), cancelUrl: here() });
    window.location.assign(url);
    return 'The provider of payments opens.';
  };
  return (
    <Ask title={`Change to ${plan.name}?`} verb="Go to the payment" act={go} onClose={closeDialog}>
      <p>It is for your account, and counts for all teams that you pay for.</p>
    </Ask>
  );
}
