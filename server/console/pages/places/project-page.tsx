/** This page shows what runs in each environment of a project, since when and where, and what came last. */
import type { Build, CiRun, Environment, Project, RunningImage } from '@svc/sdk';
import { useRead } from '../../cache.ts';
import { CopyLine } from '../../copy.tsx';
import { Fact } from '../../fact.tsx';
import { entries } from '../../gen/index.ts';
import { collection } from '../../gen/project-environments.ts';
import { Acts } from '../../generic/acts.tsx';
import type { PageProps } from '../../page.ts';
import { projectHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow } from '../../router.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { Address } from '../builds/address.tsx';
import { POLL_MS } from './calls.ts';
import { LastBuild, LastCiRun, Runs } from './facts.tsx';
import { readLastBuilds, readLastCiRuns, readRunning } from './running.ts';

export function ProjectPage({ place: { project, environments } }: PageProps) {
  if (project === undefined) return null;
  return (
    <>
      <div class="item-head">
        <h1>{project.name}</h1>
        {environments.length > 0 && <Create project={project} />}
      </div>
      {environments.length === 0 ? (
        <div class="empty empty-place">
          <p>No environment yet: one says what is built, where it runs and with which variables.</p>
          <Create project={project} />
          <CopyLine
            name="the command"
            text={`svc environments create ${project.id} --name production --repository https://git.example.com/acme/web.git`}
          />
        </div>
      ) : (
        <Cards key={project.id} project={project} environments={environments} />
      )}
    </>
  );
}

function Create({ project: { id: projectId, teamId } }: { readonly project: Project }) {
  const entry = entries.find(({ key }) => key === 'project-environments');
  return <Acts calls={collection.acts} given={{ projectId, teamId }} {...(entry && { entry })} />;
}

interface CardsProps {
  readonly project: Project;
  readonly environments: readonly Environment[];
}

function Cards({ project: { id, teamId }, environments }: CardsProps) {
  const ids = environments.map((each) => each.id);
  const read = useRead(
    `cards ${ids.join(' ')}`,
    async () => {
      const [running, lastBuilds, lastCiRuns] = await Promise.all([
        readRunning(id),
        readLastBuilds(teamId, ids),
        readLastCiRuns(teamId),
      ]);
      return { running, lastBuilds, lastCiRuns };
    },
    POLL_MS,
  );
  const known = read.data.value;
  if (known === undefined) return <Unread of={read} what="what runs" />;
  return (
    <>
      <StaleNotice of={read} />
      <ul class="cards">
        {environments.map((environment) => (
          <Card
            key={environment.id}
            environment={environment}
            running={known.running.get(environment.id)}
            build={known.lastBuilds.get(environment.id)}
            {...(known.lastCiRuns && { ciRun: known.lastCiRuns.get(environment.id) })}
          />
        ))}
      </ul>
    </>
  );
}

interface CardProps {
  readonly environment: Environment;
  readonly running: RunningImage | undefined;
  readonly build: Build | null | undefined;
  /** Absent where the team has no run of CI. */
  readonly ciRun?: CiRun | undefined;
}

function Card(props: CardProps) {
  const { environment, running, build } = props;
  const { id, name, projectId, notice } = environment;
  const since = running?.image.since;
  return (
    <li class="card">
      <h2>
        <a href={projectHref(projectId, id)} onClick={follow}>
          {name}
        </a>
      </h2>
      <dl class="card-facts">
        <Fact name="Runs">
          <Runs of={running} />
        </Fact>
        <Fact name="Since">{since === undefined ? <span class="muted">–</span> : <Ago at={since} />}</Fact>
        <Fact name="Address">
          <Address address={running?.image.url ?? build?.address} />
        </Fact>
        <Fact name="Last build">
          <LastBuild of={build} projectId={projectId} />
        </Fact>
        {'ciRun' in props && (
          <Fact name="CI">
            <LastCiRun of={props.ciRun} />
          </Fact>
        )}
      </dl>
      {notice !== undefined && <p class="card-notice">{notice}</p>}
    </li>
  );
}
