/** This view shows the credit of a team: what is left, what the month will take, and what came and went. */
import type { CostsListCreditLedgerResponse, CreditEntry, Team } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { useRead } from '../../cache.ts';
import { useOlder } from '../../load-older.tsx';
import { Figures } from '../../parts/figures.tsx';
import { Unread } from '../../reading.tsx';
import { Ago } from '../../time.tsx';
import { costs } from './calls.ts';
import { ask, maySpend } from './question.ts';
import type { Money } from './reads.ts';
import { creditWords, ofCents, type Currency } from './words.ts';

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

const partOf = ({ entries: items, nextCursor }: CostsListCreditLedgerResponse) => ({ items, nextCursor });

function Ledger({ team, currency }: { readonly team: Team; readonly currency: Currency }) {
  const read = async (cursor?: string) =>
    partOf(await costs.listCreditLedgerPage(team.id, { limit: 20, ...(cursor !== undefined && { cursor }) }));
  const first = useRead(`credit ledger ${team.id}`, read);
  const older = useOlder(read);
  const known = first.data.value;
  if (known === undefined) return <Unread of={first} what="the ledger" rows={2} />;
  const { items, button } = older(known);
  if (items.length === 0) return <p class="muted">No credit came or went yet.</p>;
  return (
    <>
      <Entries entries={items} currency={currency} />
      {button}
    </>
  );
}

interface EntriesProps {
  readonly entries: readonly CreditEntry[];
  readonly currency: Currency;
}

const Entries = ({ entries, currency }: EntriesProps) => (
  <Figures
    label="Changes of credit, newest first"
    texts={['Change', 'When']}
    numbers={['Amount', 'Credit then']}
    rows={entries.map((entry) => ({
      key: entry.id,
      cells: [
        <>
          {creditWords(entry.kind)}
          {entry.reason !== undefined && <span class="muted"> {entry.reason}</span>}
        </>,
        <Ago at={entry.createdAt} />,
        ofCents(entry.amountCents, currency),
        ofCents(entry.balanceCents, currency),
      ],
    }))}
  />
);
