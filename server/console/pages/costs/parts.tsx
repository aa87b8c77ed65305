/** This is the month by environment, runner and meter. */
import type { CostPart, CostSummary } from '@svc/sdk';
import { Figures } from '../../parts/figures.tsx';
import { amount, meterWords, partName, time, type Currency } from './words.ts';

const SHOWN_MAX = 8;

export function Parts({ summary }: { readonly summary: CostSummary }) {
  if (summary.usage.events === 0) return null;
  return (
    <section class="parts" aria-label="Where it goes">
      <PartTable what="Project" parts={summary.byProject} none="No project" currency={summary} />
      <PartTable what="Environment" parts={summary.byEnvironment} none="No environment" currency={summary} />
      <PartTable what="Runner" parts={summary.byRunner} none="Of the service" currency={summary} />
      <PartTable what="Kind of work" parts={summary.byMeter.map(inWords)} none="" currency={summary} />
    </section>
  );
}

const inWords = (part: CostPart): CostPart =>
  part.id === undefined ? part : { ...part, name: meterWords(part.id) };

interface PartTableProps {
  readonly what: string;
  readonly parts: readonly CostPart[];
  readonly none: string;
  readonly currency: Currency;
}

function PartTable({ what, parts, none, currency }: PartTableProps) {
  const hidden = parts.length - SHOWN_MAX;
  return (
    <div class="panel">
      <Figures
        label={`By ${what.toLowerCase()}`}
        titled
        texts={[what]}
        numbers={['Time', 'Net']}
        rows={parts.slice(0, SHOWN_MAX).map((part, n) => ({
          key: part.id ?? n,
          cells: [partName(part, none), time(part.meteredSeconds), amount(part.net, currency)],
        }))}
      />
      {hidden > 0 && (
        <p class="muted">
          {hidden} more: <code>svc costs summary --json</code>
        </p>
      )}
    </div>
  );
}
