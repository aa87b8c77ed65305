/** Shows staff a table of all platform features, and below it those of the companion service. */
import { useEffect } from 'preact/hooks';
import { platformFeatures } from '../../api.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import type { LastGood } from '../../last-good.ts';
import { LiveMark } from '../../live-mark.tsx';
import type { LiveStatus } from '../../live.ts';
import { Unread } from '../../reading.tsx';
import { Button } from '../../button.tsx';
import { nowMs } from '../../now.ts';
import { param } from '../../router.ts';
import { useLiveState } from '../../use-live-state.ts';
import { pending } from './change.ts';
import { Companion } from './companion.tsx';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { FeatureTable } from './feature-table.tsx';
import { useFeatures, type Features } from './features.ts';
import { FilterBar } from './filter-bar.tsx';
import { clearFilter, currentFilter, isFiltering, matches } from './filter.ts';
import { HistoryDrawer } from './history-drawer.tsx';
import { useNews } from './news.ts';
import { goToRow } from './rows.ts';
import { counted } from '../../words.ts';
import { isBlocked } from './words.ts';

export function FeaturesPage() {
  const list = useFeatures();
  // The stream says only that something changed, so each event has the list read again.
  const status = useLiveState({
    open: (ending) => platformFeatures.watch({}, { signal: ending, maxRetries: 0 }),
    onState: () => void list.load(),
    ask: list.load,
  });
  useNews(list);
  const isThere = list.data.value !== undefined;
  useEffect(() => {
    const key = decodeURIComponent(window.location.hash.slice(1));
    if (isThere && key !== '' && key !== 'main') goToRow(key);
  }, [isThere]);
  const historyOf = param('history');
  return (
    <div class="features">
      <header class="page-head">
        <h1>Platform features</h1>
        <Summary of={list.data.value} status={status} />
      </header>
      <Table of={list} />
      <Companion />
      {pending.value !== undefined && <ConfirmDialog key="confirm" />}
      {historyOf !== undefined && <HistoryDrawer key={historyOf} of={historyOf} />}
    </div>
  );
}

interface SummaryProps {
  readonly of: Features | undefined;
  readonly status: LiveStatus;
}

function Summary({ of: features, status }: SummaryProps) {
  if (features === undefined) return null;
  const on = features.filter(({ enabled }) => enabled).length;
  const blocked = features.filter(isBlocked).length;
  return (
    <p class="summary">
      <span>
        {on} of {features.length} on{blocked > 0 && ` · ${blocked} blocked`}
      </span>
      <LiveMark status={status} />
    </p>
  );
}

function Table({ of: list }: { readonly of: LastGood<Features> }) {
  const features = list.data.value;
  const unknown = list.unknown.value;
  if (features === undefined) return <Unread of={list} what="the features" rows={6} />;
  const filter = currentFilter();
  const shown = features.filter((feature) => matches(feature, filter, nowMs.value));
  return (
    <>
      <StaleNotice of={list} />
      <FilterBar shown={shown.length} all={features.length} />
      {shown.length > 0 && <FeatureTable features={shown} doubtful={unknown !== undefined} />}
      {shown.length === 0 && features.length > 0 && isFiltering(filter) && (
        <div class="empty">
          <p>None of the {counted(features.length, 'feature', 'features')} matches.</p>
          <Button onClick={clearFilter}>Show all</Button>
        </div>
      )}
      {features.length === 0 && <p class="empty">This installation has no platform features.</p>}
    </>
  );
}
