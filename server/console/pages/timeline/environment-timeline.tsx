/** Shows what was built and run of an environment's commits, as it happens. */
import type { ReadonlySignal } from '@preact/signals';
import type { Environment, TimelineEntry } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { LoadOlder } from '../../load-older.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { LiveMark } from '../../live-mark.tsx';
import type { LiveStatus } from '../../live.ts';
import { Unread } from '../../reading.tsx';
import { useTick } from '../../tick.ts';
import { useAnnouncedWork } from '../../use-work.ts';
import { counted, duration } from '../../words.ts';
import { FilterBar } from './filter-bar.tsx';
import { clearFilter, currentFilter, matches } from './filter.ts';
import { WATCHED, type KnownEntries } from './known.ts';
import { NoneYet } from './none-yet.tsx';
import { TimelineTable } from './timeline-table.tsx';
import { useTimeline } from './use-timeline.ts';
import { outcomeOf, scaleOf, timesOf } from './words.ts';

export function EnvironmentTimeline({ environment }: { readonly environment: Environment }) {
  const { kept, status, fresh, news, loadOlder } = useTimeline(environment.id);
  const known = kept.data.value;
  const unknown = kept.unknown.value;
  if (known === undefined) return <Unread of={kept} what="the timeline" rows={6} />;
  return (
    <>
      <Summary known={known} status={status} />
      <StaleNotice of={kept} />
      {known.entries.length === 0 ? (
        <NoneYet environment={environment} />
      ) : (
        <Entries environment={environment} known={known} fresh={fresh} doubtful={unknown !== undefined} />
      )}
      {known.hasOlder && <Older load={loadOlder} />}
      <p class="visually-hidden" role="status">
        {news.value}
      </p>
    </>
  );
}

function Summary({
  known: { entries, hasOlder },
  status,
}: {
  readonly known: KnownEntries;
  readonly status: LiveStatus;
}) {
  const open = entries.filter((entry) => outcomeOf(entry) === 'open').length;
  const commits = new Set(entries.map(({ commitSha, id }) => commitSha ?? id)).size;
  return (
    <p class="summary">
      {entries.length > 0 && (
        <span>
          {hasOlder ? 'the newest ' : ''}
          {counted(entries.length, 'entry', 'entries')} of {counted(commits, 'commit', 'commits')}
          {open > 0 && ` · ${open} under way`}
        </span>
      )}
      <LiveMark status={status} />
    </p>
  );
}

interface EntriesProps {
  readonly environment: Environment;
  readonly known: KnownEntries;
  readonly fresh: ReadonlySignal<ReadonlySet<string>>;
  readonly doubtful: boolean;
}

function Entries({ environment, known: { entries }, fresh, doubtful }: EntriesProps) {
  const filter = currentFilter();
  const shown = entries.filter((entry) => matches(entry, filter));
  const now = useTick(shown.some((entry) => timesOf(entry, 0).goesOn));
  return (
    <>
      <FilterBar entries={entries} shown={shown.length} />
      {shown.length === 0 ? (
        <div class="empty">
          <p>None of the {counted(entries.length, 'entry', 'entries')} that are loaded matches.</p>
          <Button onClick={clearFilter}>Show all</Button>
        </div>
      ) : (
        <>
          <Legend entries={shown} now={now} />
          <TimelineTable
            environment={environment}
            entries={shown}
            fresh={fresh}
            now={now}
            doubtful={doubtful}
          />
        </>
      )}
    </>
  );
}

/** Explains what the bars mean. */
function Legend({ entries, now }: { readonly entries: readonly TimelineEntry[]; readonly now: number }) {
  return (
    <p class="legend" aria-hidden="true">
      <span class="swatch swatch-waited">waited</span>
      <span class="swatch swatch-ran">ran</span>
      <span>a full bar is {duration(scaleOf(entries.map((entry) => timesOf(entry, now))))}</span>
    </p>
  );
}

function Older({ load }: { readonly load: () => Promise<void> }) {
  const { busy, run } = useAnnouncedWork();
  return (
    <div class="older">
      <LoadOlder busy={busy.value} load={() => run(load)} />
      <p class="hint">The newest {WATCHED} follow changes; what is loaded below them stays as it was then.</p>
    </div>
  );
}
