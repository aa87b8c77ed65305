/** This view shows the credit of a team: what is left, what the month will take, and what came and went. */
import { useSignal } from '@preact/signals';
import type { CreditEntry, Team } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { LoadOlder } from '../../load-older.tsx';
import { Failed, Unread } from '../../reading.tsx';
import { Ago } from '../../time.tsx';
import { useLastGood } from '../../use-last-good.ts';
import { useWork } from '../../use-work.ts';
import { costs } from './calls.ts';
import { ask, maySpend, type Money } from './store.ts';
import { creditWords, ofCents, type Currency } from './words.ts';
import { Head, Wide } from './wide.tsx';

interface Props {
  readonly team: Team;
  readonly money: Money;
}

export function Credit({ team, money: { credit, billing } }: Props) {
  const { balanceCents, pendingCents, availableCents } = credit;
  return (
    <section class="panel" aria-labelledby="credit-title" tabIndex={-1}>
      <div class="panel-head">
        <h2 id="credit-title">Credit</h2>
        {maySpend(team) && billing.standing !== 'self_hosted' && (
          <Button text="Buy credit" look="small" onClick={() => ask({ kind: 'credit' })} />
        )}
      </div>
      <p>
        <strong>{ofCents(balanceCents, credit)}</strong>
        {balanceCents > 0 &&
          pendingCents > 0 &&
          `; this month will take ${ofCents(Math.min(pendingCents, balanceCents), credit)}, which leaves ${ofCents(availableCents, credit)}`}
      </p>
      <Ledger key={balanceCents} team={team} currency={credit} />
    </section>
  );
}

function Ledger({ team, currency }: { readonly team: Team; readonly currency: Currency }) {
  const first = useLastGood(async () => await costs.listCreditLedgerPage(team.id, { limit: 20 }));
  const more = useSignal<
    { readonly entries: readonly CreditEntry[]; readonly cursor: string | undefined } | undefined
  >(undefined);
  const { busy, problem, run } = useWork();
  const known = first.data.value;
  if (known === undefined) return <Unread of={first} what="the ledger" rows={2} />;
  const cursor = more.value === undefined ? known.nextCursor : more.value.cursor;
  const load = async (): Promise<void> =>
    await run(async () => {
      if (cursor === undefined) return;
      const page = await costs.listCreditLedgerPage(team.id, { limit: 20, cursor });
      more.value = { entries: [...(more.value?.entries ?? []), ...page.entries], cursor: page.nextCursor };
    });
  const entries = [...known.entries, ...(more.value?.entries ?? [])];
  if (entries.length === 0) return <p class="muted">No credit came or went yet.</p>;
  return (
    <>
      <Entries entries={entries} currency={currency} />
      {problem.value !== undefined && (
        <Failed what="Older entries" why={problem.value} again={() => void load()} />
      )}
      {cursor !== undefined && <LoadOlder busy={busy.value} load={load} apart />}
    </>
  );
}

interface EntriesProps {
  readonly entries: readonly CreditEntry[];
  readonly currency: Currency;
}

function Entries({ entries, currency }: EntriesProps) {
  return (
    <Wide label="Ledger of credit">
      <table class="plain-table">
        <caption class="visually-hidden">Changes of credit, newest first</caption>
        <Head texts={['Change', 'When']} numbers={['Amount', 'Credit then']} />
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.id}>
              <th scope="row">
                {creditWords(entry.kind)}
                {entry.reason !== undefined && <span class="muted"> {entry.reason}</span>}
              </th>
              <td>
                <Ago at={entry.createdAt} />
              </td>
              <td class="number">{ofCents(entry.amountCents, currency)}</td>
              <td class="number">{ofCents(entry.balanceCents, currency)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
