/** Shows staff a table of all platform features, and below it those of the companion service. */
import { useEffect } from 'preact/hooks';
import { Notice } from '../../notice.tsx';
import { nowMs } from '../../now.ts';
import { param } from '../../router.ts';
import { At } from '../../time.tsx';
import { pending } from './change.ts';
import { Companion } from './companion.tsx';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { FeatureTable } from './feature-table.tsx';
import { list } from './feature-store.ts';
import { FilterBar } from './filter-bar.tsx';
import { clearFilter, currentFilter, isFiltering, matches } from './filter.ts';
import { HistoryDrawer } from './history-drawer.tsx';
import { followChanges, live } from './live.ts';
import { goToRow } from './rows.ts';
import { counted, isBlocked } from './words.ts';

export function FeaturesPage() {
  useEffect(() => {
    void list.load().then(() => {
      const key = decodeURIComponent(window.location.hash.slice(1));
      if (key !== '' && key !== 'main') goToRow(key);
    });
    return followChanges();
  }, []);
  const historyOf = param('history');
  return (
    <div class="features">
      <header class="page-head">
        <h1>Platform features</h1>
        <Summary />
      </header>
      <Table />
      <Companion />
      {pending.value !== undefined && <ConfirmDialog key="confirm" />}
      {historyOf !== undefined && <HistoryDrawer key={historyOf} of={historyOf} />}
    </div>
  );
}

function Summary() {
  const features = list.data.value;
  if (features === undefined) return null;
  const on = features.filter(({ enabled }) => enabled).length;
  const blocked = features.filter(isBlocked).length;
  return (
    <p class="summary">
      <span>
        {on} of {features.length} on{blocked > 0 && ` · ${blocked} blocked`}
      </span>
      <span class={live.value ? 'live live-on' : 'live'}>{live.value ? 'live' : 'not live'}</span>
    </p>
  );
}

function Table() {
  const features = list.data.value;
  const unknown = list.unknown.value;
  if (features === undefined) {
    return unknown === undefined ? <Skeleton /> : <NeverLoaded why={unknown.why} />;
  }
  const filter = currentFilter();
  const shown = features.filter((feature) => matches(feature, filter, nowMs.value));
  return (
    <>
      {unknown !== undefined && (
        <Notice kind="warn" role="status" action={<Again />}>
          <strong>
            Unknown since <At ms={unknown.sinceMs} />.
          </strong>{' '}
          {unknown.why} Below is what was known then.
        </Notice>
      )}
      <FilterBar shown={shown.length} all={features.length} />
      {shown.length > 0 && <FeatureTable features={shown} doubtful={unknown !== undefined} />}
      {shown.length === 0 && features.length > 0 && isFiltering(filter) && (
        <div class="empty">
          <p>None of the {counted(features.length, 'feature', 'features')} matches.</p>
          <button class="button" type="button" onClick={clearFilter}>
            Show all
          </button>
        </div>
      )}
      {features.length === 0 && <p class="empty">This installation has no platform features.</p>}
    </>
  );
}

/** Without numbers or switches: nothing is known yet. */
function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-busy="true">
      <span class="visually-hidden">Reading the features…</span>
      {[1, 2, 3, 4, 5, 6].map((row) => (
        <div key={row} class="skeleton-row" />
      ))}
    </div>
  );
}

function NeverLoaded({ why }: { readonly why: string }) {
  return (
    <Notice kind="bad" role="alert" action={<Again />}>
      <strong>The features could not be read.</strong> {why}
    </Notice>
  );
}

function Again() {
  return (
    <button class="button button-small" type="button" onClick={() => void list.load()}>
      Try again
    </button>
  );
}
