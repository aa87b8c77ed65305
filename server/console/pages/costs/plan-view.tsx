/** The plan that pays for a team, and the others there are. */
import type { Plan } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { Problem } from '../../notice.tsx';
import { Ago } from '../../time.tsx';
import { useWork } from '../../use-work.ts';
import { billing as calls } from './calls.ts';
import { ask } from './question.ts';
import type { Money } from './reads.ts';
import { ofCents, standingWords, time } from './words.ts';

export function PlanView({ money: { billing, plans } }: { readonly money: Money }) {
  const own = plans.find(({ id }) => id === billing.plan);
  const { includedSeconds, usedSeconds, payer } = billing;
  return (
    <section class="panel" aria-labelledby="plan-title" tabIndex={-1}>
      <h2 id="plan-title">Plan</h2>
      <p>
        <strong>{own?.name ?? billing.plan}</strong>
        {payer !== undefined && `, paid by ${payer.username ?? payer.userId}`}.{' '}
        {standingWords(billing.standing)}
        {billing.cancelAt !== undefined && (
          <>
            {' '}
            It was cancelled and ends <Ago at={billing.cancelAt} />.
          </>
        )}
      </p>
      {includedSeconds > 0 && (
        <p class="included">
          <meter
            min={0}
            max={1}
            value={Math.min(1, usedSeconds / includedSeconds)}
            aria-label="Used of the included time"
          />
          <span>
            {time(usedSeconds)} of {time(includedSeconds)} included this month, of all teams of the payer
          </span>
        </p>
      )}
      {billing.standing !== 'self_hosted' && <Change plans={plans} decimals={billing.decimals} />}
    </section>
  );
}

function Change({ plans, decimals }: { readonly plans: readonly Plan[]; readonly decimals: number }) {
  const { problem, run } = useWork();
  const portal = async (): Promise<void> =>
    await run(async () => {
      const { url } = await calls.portal(window.location.href.split(/[?#]/)[0]);
      window.location.assign(url);
    });
  return (
    <>
      <ul class="plans">
        {plans.map((plan) => (
          <li key={plan.id} aria-current={plan.current ? 'true' : undefined}>
            <h3>{plan.name}</h3>
            <p>
              {ofCents(plan.priceCents, { currency: plan.currency, decimals })} a month,{' '}
              {time(plan.includedSeconds)} included
              {plan.overage ? '' : '; new work is refused beyond'}
            </p>
            {plan.current ? (
              <p class="muted">Your account's plan</p>
            ) : !plan.available ? (
              <p class="muted">Not for sale here at the moment</p>
            ) : (
              plan.priceCents > 0 && (
                <Button
                  text="Change to it"
                  look="small"
                  label={`Change to ${plan.name}`}
                  onClick={() => ask({ kind: 'plan', plan })}
                />
              )
            )}
          </li>
        ))}
      </ul>
      <p>
        <Button text="Invoices, card and cancelling" look="small" onClick={() => void portal()} />
      </p>
      <Problem of={problem.value} />
    </>
  );
}
