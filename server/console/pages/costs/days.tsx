/** Bars by day, stacked by project, with the same figures as a table. */
import type { CostAnomaly, CostSummary } from '@svc/sdk';
import { barsOf, type Bar, type Bars } from './chart.ts';
import { amount, day, partName, type Currency } from './words.ts';
import { Head, Wide } from './wide.tsx';

const WIDTH = 600;
const HEIGHT = 180;
const NONE = 'No project';

interface Props {
  readonly summary: CostSummary;
  readonly anomalies: readonly CostAnomaly[];
}

export function Days({ summary, anomalies }: Props) {
  const bars = barsOf(summary);
  const marked = new Set(anomalies.map(({ day: at }) => at));
  return (
    <section class="panel" aria-labelledby="days-title">
      <h2 id="days-title">By day</h2>
      {bars.highest === 0 ? (
        <p class="muted">No work was metered this month.</p>
      ) : (
        <>
          <Drawing bars={bars} marked={marked} currency={summary} />
          <Table summary={summary} bars={bars} marked={marked} />
        </>
      )}
    </section>
  );
}

interface DrawingProps {
  readonly bars: Bars;
  readonly marked: ReadonlySet<string>;
  readonly currency: Currency;
}

function Drawing({ bars: { bars, series, highest }, marked, currency }: DrawingProps) {
  const width = WIDTH / bars.length;
  return (
    <figure class="days">
      <p class="days-highest muted" aria-hidden="true">
        {amount(String(highest), currency)}
      </p>
      <div class="days-drawing">
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`List price by day; the highest is ${amount(String(highest), currency)}. The table below has the figures.`}
        >
          {bars.map((bar, n) => (
            <Column key={bar.day} bar={bar} x={n * width} width={width} />
          ))}
        </svg>
        {bars.map(
          ({ day: at }, n) =>
            marked.has(at) && (
              <span
                key={at}
                class="days-mark"
                style={{ left: `${((n + 0.5) / bars.length) * 100}%` }}
                aria-hidden="true"
              >
                ▼
              </span>
            ),
        )}
      </div>
      <p class="days-axis muted" aria-hidden="true">
        {bars.map(({ day: at }, n) => (
          <span key={at}>{n % 7 === 0 ? n + 1 : ''}</span>
        ))}
      </p>
      <ul class="series-names">
        {series.map((part, n) => (
          <li key={part.id ?? n}>
            <span class={`series-swatch series-${colour(n, part.others)}`} aria-hidden="true" />
            {partName(part, NONE)}
          </li>
        ))}
        {marked.size > 0 && (
          <li>
            <span class="days-mark-key" aria-hidden="true">
              ▼
            </span>
            stands out, see below
          </li>
        )}
      </ul>
    </figure>
  );
}

/** The rest has the same colour, however many there are before it. */
const colour = (series: number, others: number | undefined): number => (others === undefined ? series : 5);

function Column({ bar, x, width }: { readonly bar: Bar; readonly x: number; readonly width: number }) {
  return (
    <>
      {bar.segments.map(({ series, from, size }) => (
        <rect
          key={series}
          class={`series-${series}`}
          x={x + width * 0.12}
          width={width * 0.76}
          y={HEIGHT - (from + size) * HEIGHT}
          height={size * HEIGHT}
        />
      ))}
    </>
  );
}

interface TableProps {
  readonly summary: CostSummary;
  readonly bars: Bars;
  readonly marked: ReadonlySet<string>;
}

function Table({ summary, bars: { series }, marked }: TableProps) {
  const known = new Set(series.flatMap(({ id, others }) => (others === undefined ? [id ?? ''] : [])));
  return (
    <details class="figures">
      <summary>The same as a table</summary>
      <Wide label="Costs by day and project">
        <table class="plain-table">
          <caption class="visually-hidden">List price by day and project</caption>
          <Head texts={['Day']} numbers={[...series.map((part) => partName(part, NONE)), 'All', 'Net']} />
          <tbody>
            {summary.byDay.map((each) => (
              <tr key={each.day}>
                <th scope="row">
                  {day(each.day)}
                  {marked.has(each.day) && ' (stands out)'}
                </th>
                {series.map((part, n) => (
                  <td key={part.id ?? n} class="number">
                    {amount(
                      String(
                        each.projects
                          .filter((own) =>
                            part.others === undefined
                              ? own.others === undefined && own.id === part.id
                              : own.others !== undefined || !known.has(own.id ?? ''),
                          )
                          .reduce((sum, { list }) => sum + Number(list), 0),
                      ),
                      summary,
                    )}
                  </td>
                ))}
                <td class="number">{amount(each.list, summary)}</td>
                <td class="number">{amount(each.net, summary)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </details>
  );
}
