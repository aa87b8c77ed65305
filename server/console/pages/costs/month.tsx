/** The month so far, what of it the plan includes, and where it goes. */
import type { CostSummary } from '@svc/sdk';
import { Chart } from '../../parts/chart.tsx';
import { Ago } from '../../time.tsx';
import { courseChart } from './chart.ts';
import { amount, month, netWords, time } from './words.ts';

export function Month({ summary }: { readonly summary: CostSummary }) {
  const { list, included, usage, asOf, since, forecast } = summary;
  const ahead =
    forecast === undefined
      ? 'There is no forecast before the third day of the month.'
      : `Forecast for the month: ${amount(forecast.net, summary)}, ${forecast.method === 'weekdays' ? 'by the weekdays of four weeks' : 'at the pace up to now'}.`;
  return (
    <section class="panel month" aria-labelledby="month-title" tabIndex={-1}>
      <h2 id="month-title">{month(since)} so far</h2>
      <p class="month-net">{netWords(summary)}</p>
      <p class="muted">
        {time(usage.meteredSeconds)} of metered time
        {Number(included) > 0 &&
          `, ${amount(list, summary)} at list price, of which the plan includes ${amount(included, summary)}`}
        , as of <Ago at={asOf} />. {ahead}
      </p>
      {Number(list) > 0 && <Share list={list} included={included} />}
      {Number(list) > 0 && (
        <Chart
          label="Net costs of the month, added up"
          unit={`${summary.currency.toUpperCase()}, net, added up`}
          of="Up to"
          data={courseChart(summary)}
          write={(value) => amount(String(value), summary)}
        />
      )}
    </section>
  );
}

function Share({ list, included }: Pick<CostSummary, 'list' | 'included'>) {
  const part = Number(included) / Number(list);
  if (part === 0) return null;
  return (
    <p class="included">
      <meter min={0} max={1} value={part} aria-label="Included by the plan" />
      <span>{Math.floor(part * 100)} % included by the plan</span>
    </p>
  );
}
