/** This page shows what one day cost, and each run and build that was reported on it. */
import { Missing } from '../../missing.tsx';
import { Fact } from '../../fact.tsx';
import { Table } from '../../generic/table.tsx';
import { shortened } from '../../generic/value.tsx';
import type { PageProps } from '../../page.ts';
import { teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { useTitlePart } from '../../title.ts';
import { Parts } from './parts.tsx';
import { isDay, ITEMS_MAX, useDay, type CostItem, type DayOfCosts } from './statement-reads.ts';
import { Trail } from './trail.tsx';
import { amount, coveredWords, day, time, type Currency } from './words.ts';

export function DayPage({ place: { team, rest } }: PageProps) {
  const [, statement = '', at = ''] = rest;
  const isOther = /^\d/.test(statement) && !at.startsWith(`${statement}-`);
  if (!isDay(at) || isOther) return <Missing />;
  return <DayView key={at} teamId={team?.id ?? ''} statement={statement} at={at} />;
}

interface DayProps {
  readonly teamId: string;
  readonly statement: string;
  readonly at: string;
}

function DayView({ teamId, statement, at }: DayProps) {
  const read = useDay(teamId, at);
  const known = read.data.value;
  const title = `${day(at)} ${at.slice(0, 4)}`;
  useTitlePart(title);
  return (
    <div class="costs">
      <Trail teamId={teamId} above={[statement]} of={at} />
      <h1>{title}</h1>
      <StaleNotice of={read} />
      {known === undefined ? (
        <Unread of={read} what="the day" />
      ) : (
        <>
          <Sums of={known} />
          <Items {...{ teamId, statement, at }} of={known} />
          <Parts summary={known.summary} />
        </>
      )}
    </div>
  );
}

function Sums({ of: { summary } }: { readonly of: DayOfCosts }) {
  const { list, included, net, usage } = summary;
  return (
    <section class="panel" aria-label="Sums">
      <dl class="fact-list">
        <Fact name="Net" of={<strong>{amount(net, summary)}</strong>} />
        <Fact name="List" of={amount(list, summary)} />
        <Fact name="Included" of={amount(included, summary)} />
        <Fact
          name="Metered"
          of={`${time(usage.meteredSeconds)} in ${usage.events.toLocaleString('en')} reports`}
        />
      </dl>
    </section>
  );
}

function Items({ of: { items, isWhole, summary }, ...place }: DayProps & { readonly of: DayOfCosts }) {
  return (
    <section class="panel" aria-labelledby="items-title">
      <h2 id="items-title">Runs and builds</h2>
      {items === undefined ? (
        <p class="muted">They are shown to admins and owners of the team.</p>
      ) : items.length === 0 ? (
        <p class="muted">None was reported on this day.</p>
      ) : (
        <ItemTable {...place} items={items} currency={summary} />
      )}
      {!isWhole && (
        <p class="muted">
          These are the first {ITEMS_MAX}. All of them:{' '}
          <code>svc costs export --detail items --out items.csv</code>
        </p>
      )}
    </section>
  );
}

interface ItemTableProps extends DayProps {
  readonly items: readonly CostItem[];
  readonly currency: Currency;
}

const ItemTable = ({ teamId, statement, at, items, currency }: ItemTableProps) => (
  <Table
    caption="Runs and builds, by the time of their reports"
    rows={items}
    keyOf={({ id }) => id}
    hrefOf={({ id }) => teamHref(teamId, 'statements', statement, at, id)}
    columns={[
      { name: 'id', label: 'Receipt', show: ({ id }) => <code title={id}>{shortened(id)}</code> },
      { name: 'work', label: 'Work', show: ({ work }) => work },
      {
        name: 'of',
        label: 'Of',
        show: ({ project, environment }) =>
          [project, environment].filter(Boolean).join(' / ') || 'No project',
      },
      { name: 'time', label: 'Time', show: ({ seconds }) => time(seconds) },
      { name: 'list', label: 'List', show: ({ list }) => amount(list, currency) },
      {
        name: 'covered',
        label: 'Covered by',
        show: ({ covered }) => covered.map(coveredWords).join(', ') || '–',
      },
    ]}
  />
);
