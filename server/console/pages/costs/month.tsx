/** The month so far, what of it the plan includes, and where it goes. */
import type { CostSummary } from '@svc/sdk';
import { Ago } from '../../time.tsx';
import { courseOf } from './chart.ts';
import { amount, month, netWords, time } from './words.ts';

const WIDTH = 600;
const HEIGHT = 120;

const points = (of: ReadonlyArray<readonly [x: number, y: number]>): string =>
  of.map(([x, y]) => `${(x * WIDTH).toFixed(1)},${(HEIGHT - 2 - y * (HEIGHT - 4)).toFixed(1)}`).join(' ');

export function Month({ summary }: { readonly summary: CostSummary }) {
  const { list, included, usage, asOf, since, forecast } = summary;
  const course = courseOf(summary);
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
      <svg
        class="course"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Net costs of the month, added up: ${netWords(summary)} so far. ${ahead}`}
      >
        <polyline class="course-known" points={points(course.known)} />
        {course.ahead.length > 0 && <polyline class="course-ahead" points={points(course.ahead)} />}
      </svg>
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
