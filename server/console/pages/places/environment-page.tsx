/** This page shows what runs in an environment, and the newest of what was built and run for it. */
import type { Build, Environment, HostedApp, RunningImage, TimelineEntry } from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import { Button } from '../../button.tsx';
import { useRead } from '../../cache.ts';
import { Fact, Standing } from '../../fact.tsx';
import { Table, type Column } from '../../generic/table.tsx';
import { Notice } from '../../notice.tsx';
import type { PageProps } from '../../page.ts';
import { ForRole } from '../../parts/role.tsx';
import { projectHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow } from '../../router.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { Address } from '../builds/address.tsx';
import { State } from '../builds/build-state.tsx';
import { useDialogs } from '../builds/dialogs.tsx';
import { shortCommit } from '../builds/words.ts';
import { HOW } from '../releases/words.ts';
import { sourceName, sourceOf, statusOf } from '../timeline/words.ts';
import { builds, hosting, POLL_MS, timeline } from './calls.ts';
import { App, LastBuild, Runs } from './facts.tsx';
import { readRunning } from './running.ts';

const NEWEST = 5;

export function EnvironmentPage({ place: { environment } }: PageProps) {
  return environment === undefined ? null : <Overview key={environment.id} environment={environment} />;
}

interface OverviewProps {
  readonly environment: Environment;
}

function Overview({ environment }: OverviewProps) {
  const { id, projectId, teamId, name, notice } = environment;
  const { ask, asked } = useDialogs();
  const read = useRead(
    `overview ${id}`,
    async () => {
      const [running, built, { entries }, hosted] = await Promise.all([
        readRunning(projectId),
        builds.listPage(id, { limit: NEWEST }),
        timeline.get(id, { limit: NEWEST }),
        // It may never have been deployed.
        ifMissing(undefined, async () => await hosting.get(id)),
      ]);
      return { running: running.get(id), builds: built.builds, entries, hosted };
    },
    POLL_MS,
  );
  const known = read.data.value;
  const shared = { environment, isDoubtful: read.unknown.value !== undefined };
  return (
    <>
      <div class="item-head">
        <h1>{name}</h1>
        <ForRole teamId={teamId} least="developer" acts="Build now">
          <Button text="Build now" look="primary" onClick={() => ask({ kind: 'build', environment })} />
        </ForRole>
      </div>
      {notice !== undefined && <Notice kind="warn">{notice}</Notice>}
      {known === undefined ? (
        <Unread of={read} what="the environment" />
      ) : (
        <>
          <StaleNotice of={read} />
          <Known
            environment={environment}
            running={known.running}
            build={known.builds[0]}
            hosted={known.hosted}
          />
          <NewestBuilds {...shared} of={known.builds} />
          <NewestEntries {...shared} of={known.entries} />
        </>
      )}
      {asked}
    </>
  );
}

const None = () => <span class="muted">–</span>;

interface KnownProps extends OverviewProps {
  readonly running: RunningImage | undefined;
  readonly build: Build | undefined;
  readonly hosted: HostedApp | undefined;
}

function Known({ environment, running, build, hosted }: KnownProps) {
  const { repository, branch, buildType, deploy, projectId, deployApproval } = environment;
  const since = running?.image.since;
  return (
    <dl class="fact-list place-facts">
      <Fact name="Runs">
        <Runs of={running} />
        {running !== undefined && <span class="muted"> {HOW[running.how]}</span>}
      </Fact>
      <Fact name="Since">{since === undefined ? <None /> : <Ago at={since} />}</Fact>
      <Fact name="Address">
        <Address address={running?.image.url ?? build?.address} />
      </Fact>
      {deploy !== undefined && (
        <Fact name="App">
          <App of={hosted} />
        </Fact>
      )}
      <Fact name="Last build">
        <LastBuild of={build} projectId={projectId} />
      </Fact>
      <Fact name="Repository">{repository ?? <None />}</Fact>
      <Fact name="Branch">{branch}</Fact>
      <Fact name="Build type">{buildType}</Fact>
      <Fact name="Deploys to">
        {deploy === undefined ? 'Nothing: builds are published alone' : [deploy.kind, deploy.app].join(' ')}
        {deploy !== undefined && deployApproval && <span class="muted"> after an approval</span>}
      </Fact>
    </dl>
  );
}

interface NewestProps<T> extends OverviewProps {
  readonly of: readonly T[];
  readonly isDoubtful: boolean;
}

const BUILD_COLUMNS: ReadonlyArray<Column<Build>> = [
  { name: 'number', label: 'Build', show: ({ number }) => `Build ${number}` },
  { name: 'state', label: 'State', show: (build) => <State build={build} /> },
  {
    name: 'commit',
    label: 'Commit',
    show: ({ commit }) =>
      commit === undefined ? <None /> : <code title={commit}>{shortCommit(commit)}</code>,
  },
  { name: 'createdAt', label: 'Submitted', show: ({ createdAt }) => <Ago at={createdAt} /> },
];

function NewestBuilds({ environment: { id, projectId }, of, isDoubtful }: NewestProps<Build>) {
  return (
    <section class="newest">
      <Heading text="Newest builds" href={projectHref(projectId, id, 'builds')} all="All builds" />
      {of.length === 0 ? (
        <p class="muted">Nothing was built yet. “Build now” takes the head of the branch.</p>
      ) : (
        <Table
          caption="Newest builds"
          columns={BUILD_COLUMNS}
          rows={of}
          keyOf={(build) => build.id}
          hrefOf={(build) => projectHref(projectId, id, 'builds', build.id)}
          isDoubtful={isDoubtful}
        />
      )}
    </section>
  );
}

const ENTRY_COLUMNS: ReadonlyArray<Column<TimelineEntry>> = [
  {
    name: 'name',
    label: 'Build or run',
    show: ({ name }) => (
      <span class="brief" title={name}>
        {name}
      </span>
    ),
  },
  { name: 'status', label: 'Status', show: (entry) => <Standing of={statusOf(entry)} /> },
  { name: 'source', label: 'By', show: (entry) => sourceName(sourceOf(entry)) },
  { name: 'at', label: 'Begun', show: ({ at }) => <Ago at={at} /> },
];

function NewestEntries({ environment: { id, projectId }, of, isDoubtful }: NewestProps<TimelineEntry>) {
  const href = projectHref(projectId, id, 'timeline');
  return (
    <section class="newest">
      <Heading text="Newest in the timeline" href={href} all="Timeline" />
      {of.length === 0 ? (
        <p class="muted">Neither a build nor a run of a connected CI is known yet.</p>
      ) : (
        <Table
          caption="Newest in the timeline"
          columns={ENTRY_COLUMNS}
          rows={of}
          keyOf={(entry) => entry.id}
          hrefOf={(entry) => (entry.kind === 'build' ? projectHref(projectId, id, 'builds', entry.id) : href)}
          isDoubtful={isDoubtful}
        />
      )}
    </section>
  );
}

interface HeadingProps {
  readonly text: string;
  readonly href: string;
  readonly all: string;
}

const Heading = ({ text, href, all }: HeadingProps) => (
  <div class="newest-head">
    <h2>{text}</h2>
    <a href={href} onClick={follow}>
      {all}
    </a>
  </div>
);
