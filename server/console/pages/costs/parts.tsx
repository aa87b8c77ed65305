/** This is the month by environment, runner and meter. */
import type { CostPart, CostSummary } from '@svc/sdk';
import { Head } from './wide.tsx';
import { amount, partName, time, type Currency } from './words.ts';

const SHOWN_MAX = 8;

export function Parts({ summary }: { readonly summary: CostSummary }) {
  if (summary.usage.events === 0) return null;
  return (
    <section class="parts" aria-label="Where it goes">
      <PartTable title="By project" parts={summary.byProject} none="No project" currency={summary} />
      <PartTable
        title="By environment"
        parts={summary.byEnvironment}
        none="No environment"
        currency={summary}
      />
      <PartTable title="By runner" parts={summary.byRunner} none="Of the service" currency={summary} />
      <PartTable title="By kind of work" parts={summary.byMeter} none="" currency={summary} />
    </section>
  );
}

interface PartTableProps {
  readonly title: string;
  readonly parts: readonly CostPart[];
  readonly none: string;
  readonly currency: Currency;
}

function PartTable({ title, parts, none, currency }: PartTableProps) {
  const hidden = parts.length - SHOWN_MAX;
  return (
    <div class="panel">
      <table class="plain-table">
        <caption>{title}</caption>
        <Head texts={[title.replace('By ', '')]} numbers={['Time', 'Net']} />
        <tbody>
          {parts.slice(0, SHOWN_MAX).map((part, n) => (
            <tr key={part.id ?? n}>
              <th scope="row">{partName(part, none)}</th>
              <td class="number">{time(part.meteredSeconds)}</td>
              <td class="number">{amount(part.net, currency)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {hidden > 0 && (
        <p class="muted">
          {hidden} more: <code>svc costs summary --json</code>
        </p>
      )}
    </div>
  );
}
