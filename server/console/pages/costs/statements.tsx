/** Lists closed months of a team; each leads to its days. */
import type { Statement } from '@svc/sdk';
import { Figures } from '../../parts/figures.tsx';
import { teamHref } from '../../place.ts';
import { follow } from '../../router.ts';
import { month, ofCents, statementWords } from './words.ts';

interface StatementsProps {
  readonly teamId: string;
  readonly of: readonly Statement[];
}

export const StatementTable = ({ teamId, of }: StatementsProps) =>
  of.length === 0 ? (
    <p class="muted">No month with usage is closed yet. One is closed an hour after it has ended.</p>
  ) : (
    <Figures
      label="Statements, newest first"
      texts={['Month']}
      numbers={['List', 'Included', 'Credit', 'Due']}
      last="State"
      rows={of.map((each) => ({
        key: each.id,
        cells: [
          <a href={teamHref(teamId, 'statements', each.id)} onClick={follow}>
            {month(each.period)}
          </a>,
          ...[each.listCents, each.includedCents, each.creditCents, each.dueCents].map((cents) =>
            ofCents(cents, each),
          ),
          <InvoiceLink of={each} />,
        ],
      }))}
    />
  );

/** Shows the state of what is due, which leads to the provider's invoice. */
export function InvoiceLink({ of: { state, invoiceUrl, period } }: { readonly of: Statement }) {
  const words = statementWords(state);
  return invoiceUrl === undefined ? (
    <>{words}</>
  ) : (
    <a
      href={invoiceUrl}
      target="_blank"
      rel="noreferrer"
      aria-label={`${words}: invoice of ${month(period)}`}
    >
      {words}
    </a>
  );
}

export const Statements = (props: StatementsProps) => (
  <section class="panel" aria-labelledby="statements-title">
    <div class="panel-head">
      <h2 id="statements-title">Statements</h2>
      <a href={teamHref(props.teamId, 'statements')} onClick={follow}>
        All statements
      </a>
    </div>
    <StatementTable {...props} />
  </section>
);
