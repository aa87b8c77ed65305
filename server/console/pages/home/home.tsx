/** Shows the first page of a team: what is to be set up, what waits for the person, what goes on now. */
import type { ComponentChildren } from 'preact';
import type { Build, Runner, SandboxRun } from '@svc/sdk';
import { useRead } from '../../cache.ts';
import { Table } from '../../generic/table.tsx';
import { State } from '../../generic/value.tsx';
import type { PageProps } from '../../page.ts';
import { environmentHref, teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow } from '../../router.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { amount } from '../costs/words.ts';
import { InboxTable } from '../inbox/inbox-page.tsx';
import { readOverview, type Overview, type Step } from './overview.ts';

const EVERY_MS = 10_000;

export function Home({ place: { team } }: PageProps) {
  const teamId = team?.id ?? '';
  const read = useRead<Overview>(`overview ${teamId}`, async () => await readOverview(teamId), EVERY_MS);
  const known = read.data.value;
  return (
    <>
      <h1>{team?.name}</h1>
      {known === undefined ? (
        <Unread of={read} what="the overview" />
      ) : (
        <>
          <StaleNotice of={read} />
          <Known teamId={teamId} known={known} />
        </>
      )}
    </>
  );
}

function Known({
  teamId,
  known: { steps, inbox, runs, builds, runners, health, costs },
}: {
  readonly teamId: string;
  readonly known: Overview;
}) {
  return (
    <div class="overview">
      {steps.some(({ isDone }) => !isDone) && <Steps steps={steps} />}
      <Part
        title="Needs you"
        href={teamHref(teamId, 'inbox')}
        isEmpty={inbox.length === 0}
        none="Nothing waits for you."
      >
        <InboxTable teamId={teamId} items={inbox.slice(0, 5)} />
      </Part>
      <Part
        title="Runs"
        href={teamHref(teamId, 'sandbox-runs')}
        isEmpty={runs.length === 0}
        none="No run yet."
      >
        <Runs teamId={teamId} runs={runs} />
      </Part>
      <Part
        title="Builds"
        href={teamHref(teamId, 'builds')}
        isEmpty={builds.length === 0}
        none="No build yet."
      >
        <Builds builds={builds} />
      </Part>
      {runners !== undefined && (
        <Part
          title="Runners"
          href={teamHref(teamId, 'runners')}
          isEmpty={runners.length === 0}
          none="No runner yet."
        >
          <p>
            {onlineOf(runners)} of {runners.length} seen in the last two minutes.
            {health?.degraded === true && ' Work is stuck: no runner takes it.'}
          </p>
        </Part>
      )}
      {costs !== undefined && (
        <Part title="Month to date" href={teamHref(teamId, 'costs')} isEmpty={false} none="">
          <p>
            <strong>{amount(costs.net, costs)}</strong>
          </p>
        </Part>
      )}
    </div>
  );
}

const SEEN_MS = 120_000;

const onlineOf = (runners: readonly Runner[]): number =>
  runners.filter(
    ({ lastSeenAt }) => lastSeenAt !== undefined && Date.now() - Date.parse(lastSeenAt) < SEEN_MS,
  ).length;

function Steps({ steps }: { readonly steps: readonly Step[] }) {
  return (
    <section class="overview-part">
      <h2>Get started</h2>
      <ol class="setup-steps">
        {steps.map(({ title, isDone, href, command }) => (
          <li key={title}>
            <State of={isDone ? 'done' : 'open'} />
            <span>{title}</span>
            {!isDone && (
              <>
                <a class="button button-small" href={href} onClick={follow} aria-label={`Go on: ${title}`}>
                  Go on
                </a>
                <code>{command}</code>
              </>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

interface PartProps {
  readonly title: string;
  readonly href: string;
  readonly isEmpty: boolean;
  /** Said in place of what is not there. */
  readonly none: string;
  readonly children: ComponentChildren;
}

function Part({ title, href, isEmpty, none, children }: PartProps) {
  return (
    <section class="overview-part">
      <h2>
        <a href={href} onClick={follow}>
          {title}
        </a>
      </h2>
      {isEmpty ? <p class="muted">{none}</p> : children}
    </section>
  );
}

const Runs = ({ teamId, runs }: { readonly teamId: string; readonly runs: readonly SandboxRun[] }) => (
  <Table
    caption="Newest runs"
    rows={runs}
    keyOf={({ id }) => id}
    hrefOf={({ id }) => teamHref(teamId, 'sandbox-runs', id)}
    columns={[
      {
        name: 'command',
        label: 'Command',
        show: ({ command }) => <code class="brief">{command.join(' ')}</code>,
      },
      { name: 'state', label: 'State', show: ({ state }) => <State of={state} /> },
      {
        name: 'runner',
        label: 'Runner',
        show: ({ runnerName, waiting }) => runnerName ?? waiting?.reason.replaceAll('_', ' ') ?? '–',
      },
      { name: 'at', label: 'Since', show: ({ createdAt }) => <Ago at={createdAt} /> },
    ]}
  />
);

const Builds = ({ builds }: { readonly builds: readonly Build[] }) => (
  <Table
    caption="Newest builds"
    rows={builds}
    keyOf={({ id }) => id}
    hrefOf={({ id, environmentId }) => environmentHref(environmentId, 'builds', id)}
    columns={[
      { name: 'number', label: 'Build', show: ({ number, branch }) => `#${number} of ${branch}` },
      { name: 'state', label: 'State', show: ({ state }) => <State of={state} /> },
      { name: 'runner', label: 'Runner', show: ({ runnerName }) => runnerName ?? '–' },
      { name: 'at', label: 'Since', show: ({ createdAt }) => <Ago at={createdAt} /> },
    ]}
  />
);
