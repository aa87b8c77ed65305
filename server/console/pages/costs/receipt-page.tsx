/** This page shows how the cost of one run or build comes together: its time, times the price of a second. */
import type { Receipt, ReceiptLine } from '@svc/sdk';
import { Fact, Standing } from '../../fact.tsx';
import { Id, shortened } from '../../generic/value.tsx';
import { Missing } from '../../missing.tsx';
import type { PageProps } from '../../page.ts';
import { environmentHref, teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow } from '../../router.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { useTitlePart } from '../../title.ts';
import { isDay, useReceipt } from './statement-reads.ts';
import { Trail } from './trail.tsx';
import { costOf, meterWords, sumOf } from './words.ts';

export function ReceiptPage({ place: { team, rest } }: PageProps) {
  const [, statement = '', at = '', itemId = ''] = rest;
  const teamId = team?.id ?? '';
  if (!isDay(at)) return <Missing />;
  return (
    <div class="costs">
      <Trail teamId={teamId} above={[statement, at]} of={at} />
      <ReceiptView key={itemId} teamId={teamId} itemId={itemId} />
    </div>
  );
}

interface ViewProps {
  readonly teamId: string;
  readonly itemId: string;
}

function ReceiptView({ teamId, itemId }: ViewProps) {
  const read = useReceipt(teamId, itemId);
  const known = read.data.value;
  useTitlePart('Receipt');
  if (known === undefined) return <Unread of={read} what="the receipt" />;
  if (known === 'absent') return <Missing />;
  const { currency, cost, lines } = known;
  return (
    <>
      <h1>
        Receipt of{' '}
        <a href={itemHref(teamId, known)} onClick={follow} title={itemId}>
          {shortened(itemId)}
        </a>
      </h1>
      <StaleNotice of={read} />
      <section class="panel" aria-label="Cost">
        <p class="month-net receipt-cost">
          {cost} {currency.toUpperCase()}
        </p>
        <Check of={known} />
      </section>
      {lines.map((line, n) => (
        <Line key={`${line.workId} ${line.epoch}`} teamId={teamId} of={line} currency={currency} n={n + 1} />
      ))}
    </>
  );
}

function itemHref(teamId: string, { itemId, lines: [first] }: Receipt): string {
  return first?.meter.startsWith('build.') === true && first.environmentId !== undefined
    ? environmentHref(first.environmentId, 'builds', itemId)
    : teamHref(teamId, 'sandbox-runs', itemId);
}

/** The page computes again what it was told. */
function Check({ of: { cost, lines } }: { readonly of: Receipt }) {
  const isRight =
    lines.every((line) => costOf(line) === line.cost) && sumOf(lines.map((line) => line.cost)) === cost;
  return (
    <p class="receipt-check">
      <Standing of={isRight ? ['Adds up', 'good'] : ['Does not add up', 'bad']} />
      <span class="muted">
        Computed again here: milliseconds times price, to the last place, is{isRight ? '' : ' not'} the cost.
      </span>
    </p>
  );
}

interface LineProps {
  readonly teamId: string;
  readonly of: ReceiptLine;
  readonly currency: string;
  readonly n: number;
}

function Line({ teamId, of, currency, n }: LineProps) {
  const { meter, runnerId, epoch, claimedAt, reportedAt, meteredMs, selfReportedMs, environmentId } = of;
  const { workId, priceId, nanosPerSecond, cost } = of;
  return (
    <section class="panel" aria-labelledby={`line-${n}`}>
      <h2 id={`line-${n}`}>{meterWords(meter)}</h2>
      <p class="receipt-sum">
        {meteredMs.toLocaleString('en')} ms × {nanosPerSecond.toLocaleString('en')} billionths of{' '}
        {currency.toUpperCase()} a second = <strong>{cost}</strong> {currency.toUpperCase()}
      </p>
      <dl class="fact-list">
        <Fact name="Claimed" of={<time dateTime={claimedAt}>{claimedAt}</time>} />
        <Fact name="Reported" of={<time dateTime={reportedAt}>{reportedAt}</time>} />
        <Fact name="Metered" of={`${meteredMs.toLocaleString('en')} ms, from the claim to the report`} />
        {selfReportedMs !== undefined && (
          <Fact
            name="Runner's own time"
            of={`${selfReportedMs.toLocaleString('en')} ms, which changes no cost`}
          />
        )}
        <Fact name="Grant" of={`Number ${epoch}`} />
        <Fact name="Runner">
          {meter.endsWith('.runner') ? (
            <a href={teamHref(teamId, 'runners', runnerId)} title={runnerId} onClick={follow}>
              {shortened(runnerId)}
            </a>
          ) : (
            'Of the service'
          )}
        </Fact>
        <Fact name="Environment">
          {environmentId === undefined ? (
            'None'
          ) : (
            <a href={environmentHref(environmentId)} title={environmentId} onClick={follow}>
              {shortened(environmentId)}
            </a>
          )}
        </Fact>
        <Fact name="Price" of={<Id of={priceId} />} />
        <Fact name="Work" of={<Id of={workId} />} />
      </dl>
    </section>
  );
}
