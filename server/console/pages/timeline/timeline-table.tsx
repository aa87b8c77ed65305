/**
 * Commits, newest first, each with what was built and run of it. On narrow screens the same rows are cards.
 */
import type { ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Environment, TimelineEntry } from '@svc/sdk';
import { CardTable, Cell } from '../../table.tsx';
import { projectHref, teamHref } from '../../place.ts';
import { follow } from '../../router.ts';
import { Standing } from '../../fact.tsx';
import { Ago } from '../../time.tsx';
import { linkOf, shortCommit } from '../builds/words.ts';
import { Bar } from './bar.tsx';
import { byCommit, type Commit } from './known.ts';
import {
  commitUrl,
  commitWords,
  reasonOf,
  scaleOf,
  sourceName,
  sourceOf,
  statusOf,
  timesOf,
} from './words.ts';

export interface TimelineTableProps {
  readonly environment: Environment;
  readonly entries: readonly TimelineEntry[];
  readonly fresh: ReadonlySignal<ReadonlySet<string>>;
  readonly now: number;
  /** The rows may no longer be true. */
  readonly doubtful: boolean;
}

const COLUMNS = ['Build or run', 'Status', 'Waited and ran', 'By', 'Begun'];

export function TimelineTable({ environment, entries, fresh, now, doubtful }: TimelineTableProps) {
  const scaleMs = scaleOf(entries.map((entry) => timesOf(entry, now)));
  const shared = { environment, now, scaleMs, fresh };
  return (
    <CardTable
      class="timeline-table"
      caption={`Builds and CI runs of ${environment.name} by commit, newest first`}
      columns={COLUMNS}
      doubtful={doubtful}
    >
      {byCommit(entries).map((commit) => (
        <tbody key={commit.key} role="rowgroup" class="commit">
          <CommitHead commit={commit} environment={environment} />
          {commit.entries.map((entry) => (
            <Row key={entry.id} entry={entry} {...shared} />
          ))}
        </tbody>
      ))}
    </CardTable>
  );
}

function CommitHead({
  commit: { sha, entries },
  environment,
}: {
  readonly commit: Commit;
  readonly environment: Environment;
}) {
  const url = sha === undefined ? undefined : commitUrl(environment.repository, sha);
  const branches = [...new Set(entries.flatMap(({ branch }) => branch ?? []))];
  return (
    <tr role="row" class="commit-head">
      <th scope="rowgroup" role="rowheader" colSpan={COLUMNS.length} aria-colspan={COLUMNS.length}>
        <div class="commit-line">
          {sha === undefined ? (
            <span class="muted">Commit not known</span>
          ) : url === undefined ? (
            <code title={sha}>{shortCommit(sha)}</code>
          ) : (
            <Away href={url} class="commit-sha">
              <code title={sha}>{shortCommit(sha)}</code>
            </Away>
          )}
          {branches.map((branch) => (
            <span key={branch} class="branch">
              {branch}
            </span>
          ))}
          <span class="commit-sum">{commitWords(entries)}</span>
        </div>
      </th>
    </tr>
  );
}

interface RowProps extends Pick<TimelineTableProps, 'environment' | 'now' | 'fresh'> {
  readonly entry: TimelineEntry;
  readonly scaleMs: number;
}

function Row({ environment, entry, now, scaleMs, fresh }: RowProps) {
  const [, tone] = statusOf(entry);
  return (
    <tr role="row" class={fresh.value.has(entry.id) ? 'row fresh' : 'row'}>
      <th scope="row" role="rowheader" class="cell-entry">
        <Name entry={entry} environment={environment} />
        <p class="entry-source">
          {sourceName(sourceOf(entry))}
          {entry.attempt > 1 && <span class="pill">attempt {entry.attempt}</span>}
          {entry.mergeQueue && <span class="pill">merge queue</span>}
        </p>
      </th>
      <Cell class="cell-status" of={<Status entry={entry} />} />
      <Cell class="cell-times" of={<Bar times={timesOf(entry, now)} tone={tone} scaleMs={scaleMs} />} />
      <Cell class="cell-by" of={<By entry={entry} environment={environment} />} />
      <Cell class="cell-at" of={<Ago at={entry.at} />} />
    </tr>
  );
}

/** A build has its page here, a run has one at its CI system. */
function Name({ entry, environment }: { readonly entry: TimelineEntry; readonly environment: Environment }) {
  if (entry.kind === 'build') {
    const href = projectHref(environment.projectId, environment.id, 'builds', entry.id);
    return (
      <a class="entry-name" href={href} onClick={follow}>
        {entry.name.charAt(0).toUpperCase() + entry.name.slice(1)}
      </a>
    );
  }
  const href = entry.url === undefined ? undefined : linkOf(entry.url);
  if (href === undefined) return <span class="entry-name">{entry.name}</span>;
  return (
    <Away href={href} class="entry-name">
      {entry.name}
    </Away>
  );
}

function Status({ entry }: { readonly entry: TimelineEntry }) {
  const reason = reasonOf(entry);
  return (
    <>
      <Standing of={statusOf(entry)} />
      {entry.blocked && entry.buildState !== 'awaiting_approval' && (
        <span class="mark-warn">waits for a person</span>
      )}
      {entry.soft && <span class="mark-soft">a failure that is allowed</span>}
      {reason !== '' && <p class="entry-reason">{reason}</p>}
    </>
  );
}

function By({ entry, environment }: { readonly entry: TimelineEntry; readonly environment: Environment }) {
  const { actor, trigger, chip, kind, url } = entry;
  const address = kind === 'build' && url !== undefined ? linkOf(url) : undefined;
  const words = [actor, trigger?.replaceAll('_', ' ')].filter(Boolean).join(' · ');
  return (
    <>
      {words !== '' && <span class="entry-by">{words}</span>}
      {chip !== undefined && (
        <a class="via" href={teamHref(environment.teamId, 'runners')} onClick={follow}>
          {chip}
        </a>
      )}
      {address !== undefined && (
        <Away href={address} class="entry-address">
          {new URL(address).host}
        </Away>
      )}
    </>
  );
}

function Away({
  href,
  class: name,
  children,
}: {
  readonly href: string;
  readonly class: string;
  readonly children: ComponentChildren;
}) {
  return (
    <a class={name} href={href} rel="noopener noreferrer" target="_blank">
      {children}
      <span class="away" aria-hidden="true">
        ↗
      </span>
      <span class="visually-hidden"> (opens in a new tab)</span>
    </a>
  );
}
