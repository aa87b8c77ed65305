/** Shows what each day of a month costs by project. */
import type { CostAnomaly, CostSummary } from '@svc/sdk';
import { Chart } from '../../parts/chart.tsx';
import { teamHref } from '../../place.ts';
import { daysChart, daysOfMonth, MARK } from './chart.ts';
import { amount } from './words.ts';

interface Props {
  readonly teamId: string;
  /** Names the month in addresses: its statement, or the month itself. */
  readonly statement: string;
  readonly summary: CostSummary;
  readonly anomalies?: readonly CostAnomaly[];
}

export function Days({ teamId, statement, summary, anomalies = [] }: Props) {
  const { currency, since, byDay, list } = summary;
  const hrefOf = (each: string): string => teamHref(teamId, 'statements', statement, each);
  const net = new Map(byDay.map((each) => [each.day, each.net]));
  return (
    <section class="panel" aria-labelledby="days-title">
      <h2 id="days-title">By day</h2>
      {Number(list) === 0 ? (
        <p class="muted">No work was metered this month.</p>
      ) : (
        <Chart
          label="List price by day and project"
          unit={`${currency.toUpperCase()} a day, list price`}
          of="Day"
          data={daysChart(summary, { anomalies, hrefOf })}
          write={(value) => amount(String(value), summary)}
          also={[
            { name: 'Net', texts: daysOfMonth(since).map((each) => amount(net.get(each) ?? '0', summary)) },
          ]}
          marks={`${MARK}, see below`}
        />
      )}
    </section>
  );
}
