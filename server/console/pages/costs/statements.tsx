/** Closed months of a team. */
import type { TeamBilling } from '@svc/sdk';
import { month, ofCents, statementWords } from './words.ts';
import { Head, Wide } from './wide.tsx';

export function Statements({ billing }: { readonly billing: TeamBilling }) {
  return (
    <section class="panel" aria-labelledby="statements-title">
      <h2 id="statements-title">Statements</h2>
      {billing.statements.length === 0 ? (
        <p class="muted">No month with usage is closed yet. One is closed an hour after it has ended.</p>
      ) : (
        <Wide label="Statements by month">
          <table class="plain-table">
            <caption class="visually-hidden">Statements, newest first</caption>
            <Head texts={['Month']} numbers={['List', 'Included', 'Credit', 'Due']} last="State" />
            <tbody>
              {billing.statements.map((each) => (
                <tr key={each.id}>
                  <th scope="row">{month(each.period)}</th>
                  {[each.listCents, each.includedCents, each.creditCents, each.dueCents].map((cents, n) => (
                    <td key={n} class="number">
                      {ofCents(cents, billing)}
                    </td>
                  ))}
                  <td>
                    {each.invoiceUrl === undefined ? (
                      statementWords(each.state)
                    ) : (
                      <a
                        href={each.invoiceUrl}
                        target="_blank"
                        rel="noreferrer"
                        aria-label={`${statementWords(each.state)}: invoice of ${month(each.period)}`}
                      >
                        {statementWords(each.state)}
                      </a>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </section>
  );
}
