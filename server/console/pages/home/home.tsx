/** Shows the first page of a team: what is to be set up, what waits for the person, how things are now. */
import type { ComponentChildren } from 'preact';
import {
  Teams,
  type CurrentEnvironment,
  type CurrentWork,
  type MonthToDate,
  type HealthCount,
  type TeamsOverviewResponse,
} from '@svc/sdk';
import { client } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { hrefOfKind } from '../../generic/hits.ts';
import { Table } from '../../generic/table.tsx';
import { spoken, State } from '../../generic/value.tsx';
import type { PageProps } from '../../page.ts';
import { environmentHref, teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow } from '../../router.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { amount } from '../costs/words.ts';
import { InboxTable } from '../inbox/inbox-page.tsx';
import { isBeginning, stepsOf } from './overview.ts';

const teams = new Teams(client);
const EVERY_MS = 10_000;

export function Home({ place: { team } }: PageProps) {
  const teamId = team?.id ?? '';
  const read = useRead<TeamsOverviewResponse>(
    `overview ${teamId}`,
    async () => await teams.overview(teamId),
    EVERY_MS,
  );
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

interface KnownProps {
  readonly teamId: string;
  readonly known: TeamsOverviewResponse;
}

function Known({ teamId, known }: KnownProps) {
  const { needsYou, now, environments, runners, monthToDate } = known;
  return (
    <div class="overview">
      {isBeginning(known) && <Steps teamId={teamId} known={known} />}
      <Part
        title="Needs you"
        href={teamHref(teamId, 'inbox')}
        isEmpty={needsYou.length === 0}
        none="Nothing waits for you."
      >
        <InboxTable teamId={teamId} items={needsYou} />
      </Part>
      <Part
        title="Now"
        href={teamHref(teamId, 'sandbox-runs')}
        isEmpty={now.length === 0}
        none="Nothing is at work and nothing waits."
      >
        <Work teamId={teamId} now={now} />
      </Part>
      <Part
        title="Environments"
        href={teamHref(teamId, 'projects')}
        isEmpty={environments.length === 0}
        none="Nothing is deployed yet."
      >
        <Environments environments={environments} />
      </Part>
      {runners.length > 0 && (
        <Part title="Runners" href={teamHref(teamId, 'runners')} isEmpty={false} none="">
          <Runners runners={runners} />
        </Part>
      )}
      {monthToDate !== undefined && (
        <Part title="Month to date" href={teamHref(teamId, 'costs')} isEmpty={false} none="">
          <Month of={monthToDate} />
        </Part>
      )}
    </div>
  );
}

function Steps({ teamId, known }: KnownProps) {
  return (
    <section class="overview-part">
      <h2>Get started</h2>
      <ol class="setup-steps">
        {stepsOf(teamId, known).map(({ title, isDone, href, command }) => (
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

const Work = ({ teamId, now }: { readonly teamId: string; readonly now: readonly CurrentWork[] }) => (
  <Table
    caption="Work that has not ended"
    rows={now}
    keyOf={({ id }) => id}
    hrefOf={(work) => hrefOfKind(teamId, work)}
    columns={[
      { name: 'text', label: 'Work', show: ({ text }) => <code class="brief">{text}</code> },
      { name: 'kind', label: 'Kind', show: ({ kind }) => spoken(kind) },
      { name: 'state', label: 'State', show: ({ state }) => <State of={state} /> },
      {
        name: 'runner',
        label: 'Runner, or why it waits',
        show: ({ runnerName, waitingDetail }) => waitingDetail ?? runnerName ?? '–',
      },
      { name: 'since', label: 'Since', show: ({ since }) => <Ago at={since} /> },
    ]}
  />
);

const Environments = ({ environments }: { readonly environments: readonly CurrentEnvironment[] }) => (
  <Table
    caption="What runs in environments"
    rows={environments}
    keyOf={({ id }) => id}
    hrefOf={({ id }) => environmentHref(id)}
    columns={[
      {
        name: 'name',
        label: 'Environment',
        show: ({ projectName, name }) => `${projectName} / ${name}`,
      },
      {
        name: 'runs',
        label: 'Runs',
        show: ({ version, digest }) => <code>{version ?? digest?.slice(0, DIGEST_SHOWN) ?? '–'}</code>,
      },
      {
        name: 'url',
        label: 'Address',
        show: ({ url }) => (url === undefined ? '–' : <span class="overview-url">{url}</span>),
      },
      { name: 'since', label: 'Since', show: ({ since }) => <Ago at={since} /> },
    ]}
  />
);

/** The algorithm and twelve digits of a digest. */
const DIGEST_SHOWN = 19;

const Runners = ({ runners }: { readonly runners: readonly HealthCount[] }) => (
  <ul class="runner-counts">
    {runners.map(({ health, count }) => (
      <li key={health}>
        <strong>{count}</strong> <State of={health} />
      </li>
    ))}
  </ul>
);

const Month = ({ of }: { readonly of: MonthToDate }) => (
  <p>
    <strong>{amount(of.net, of)}</strong>
    {of.forecastNet !== undefined && (
      <span class="muted"> of {amount(of.forecastNet, of)} that the month is foreseen to cost</span>
    )}
  </p>
);
