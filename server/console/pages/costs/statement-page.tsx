/** This page shows one month: its statement with what that was rounded from, and its days. */
import type { Statement } from '@svc/sdk';
import { Fact } from '../../fact.tsx';
import { Missing } from '../../missing.tsx';
import type { PageProps } from '../../page.ts';
import { Figures } from '../../parts/figures.tsx';
import { Unread } from '../../reading.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { useTitlePart } from '../../title.ts';
import { Days } from './days.tsx';
import { Parts } from './parts.tsx';
import { useMonth, type MonthOfCosts } from './statement-reads.ts';
import { InvoiceLink } from './statements.tsx';
import { Trail } from './trail.tsx';
import { amount, meterWords, month, netWords, ofCents, time } from './words.ts';

export function StatementPage({ place: { team, rest } }: PageProps) {
  const [, name = ''] = rest;
  return <MonthView key={name} teamId={team?.id ?? ''} name={name} />;
}

function MonthView({ teamId, name }: { readonly teamId: string; readonly name: string }) {
  const read = useMonth(teamId, name);
  const known = read.data.value;
  useTitlePart(known === undefined || known === 'absent' ? undefined : month(known.month));
  if (known === undefined) return <Unread of={read} what="the statement" />;
  if (known === 'absent') return <Missing />;
  const { statement, summary } = known;
  return (
    <div class="costs">
      <Trail teamId={teamId} above={[]} />
      <h1>{month(known.month)}</h1>
      <StaleNotice of={read} />
      {statement === undefined ? <Open of={known} /> : <Closed of={statement} />}
      <Days teamId={teamId} statement={name} summary={summary} />
      <Parts summary={summary} />
    </div>
  );
}

function Open({ of: { month: at, isForbidden, summary } }: { readonly of: MonthOfCosts }) {
  const isOver = summary.asOf.slice(0, 7) > at;
  return (
    <section class="panel" aria-label="Month">
      <p class="month-net">{netWords(summary)}</p>
      <p class="muted">
        {isForbidden
          ? 'Its statement is shown to admins and owners of the team.'
          : isOver
            ? 'It has no statement: nothing was used, or it is not closed yet.'
            : 'It is open: its statement is made an hour after it has ended.'}
      </p>
    </section>
  );
}

function Closed({ of }: { readonly of: Statement }) {
  const { plan, closedAt, listCents, includedCents, netCents, creditCents, dueCents, refundedCents } = of;
  return (
    <section class="panel" aria-labelledby="statement-title">
      <h2 id="statement-title">Statement</h2>
      <p class="month-net">{ofCents(dueCents, of)} due</p>
      <dl class="fact-list">
        <Fact name="State" of={<InvoiceLink of={of} />} />
        <Fact name="List" of={ofCents(listCents, of)} />
        <Fact name="Included" of={ofCents(includedCents, of)} />
        <Fact name="Net" of={ofCents(netCents, of)} />
        <Fact name="Credit" of={ofCents(creditCents, of)} />
        {refundedCents > 0 && <Fact name="Refunded since" of={ofCents(refundedCents, of)} />}
        <Fact name="Plan" of={plan} />
        <Fact name="Closed" of={<Ago at={closedAt} />} />
      </dl>
      <Lines of={of} />
    </section>
  );
}

/** Each line is rounded once; the figures of the statement are their sums. */
const Lines = ({ of }: { readonly of: Statement }) => (
  <Figures
    label="Lines of the statement"
    texts={['Meter']}
    numbers={['Time', 'Included', 'List, exact', 'List', 'Net']}
    rows={of.lines.map((line) => ({
      key: `${line.meter} ${line.priceId}`,
      cells: [
        meterWords(line.meter),
        time(line.meteredMs / 1_000),
        time(line.includedMs / 1_000),
        amount(line.list, { ...of, decimals: 12 }),
        ofCents(line.listCents, of),
        ofCents(line.netCents, of),
      ],
    }))}
  />
);
