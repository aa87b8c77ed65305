/** Builds of an environment, and one of them with its phases and its output. */
import { useEffect } from 'preact/hooks';
import { Missing } from '../../missing.tsx';
import { param, setParams } from '../../router.ts';
import type { SignedIn } from '../../session.ts';
import { useLastGood } from '../../use-last-good.ts';
import { Doubt } from '../../doubt.tsx';
import { BuildList } from './build-list.tsx';
import { BuildView } from './build-view.tsx';
import { Dialogs } from './dialogs.tsx';
import { Failed, Reading } from './reading.tsx';
import { ask, dialog, readPlace } from './store.ts';
import type { Place } from './store.ts';

export function BuildsPage({ session }: { readonly session: SignedIn }) {
  const place = useLastGood(readPlace);
  const [env, project, build] = [param('env'), param('project'), param('build')];
  useEffect(() => {
    if (place.data.peek() !== undefined) void place.load();
  }, [env, project]);
  const known = place.data.value;
  const unknown = place.unknown.value;
  if (known === undefined) {
    return (
      <>
        <h1>Builds</h1>
        {unknown === undefined ? (
          <Reading />
        ) : (
          <Failed what="Your projects" why={unknown.why} again={() => void place.load()} />
        )}
      </>
    );
  }
  if (known.missing) return <Missing />;
  const { environment } = known;
  if (build !== undefined && environment !== undefined && environment.id === (env ?? environment.id))
    return <BuildView key={build} environment={environment} buildId={build} session={session} />;
  return (
    <div class="builds">
      <h1>Builds</h1>
      <div class="bar">
        <Pickers place={known} />
        {environment !== undefined && (
          <div class="bar-buttons">
            <button class="button" type="button" onClick={() => ask({ kind: 'unlock', environment })}>
              Unlock
            </button>
            <button
              class="button button-primary"
              type="button"
              onClick={() => ask({ kind: 'build', environment })}
            >
              Build now
            </button>
          </div>
        )}
      </div>
      <Doubt of={place} />
      {environment === undefined ? (
        <NoEnvironment place={known} />
      ) : (
        <BuildList key={environment.id} environment={environment} />
      )}
      {dialog.value !== undefined && <Dialogs dialog={dialog.value} />}
    </div>
  );
}

function Pickers({ place }: { readonly place: Place }) {
  const { projects, project, environments, environment } = place;
  return (
    <div class="pickers">
      <label class="picker">
        <span>Project</span>
        <select
          value={project?.id ?? ''}
          onChange={(event) =>
            setParams({ project: event.currentTarget.value, env: undefined, build: undefined })
          }
        >
          {projects.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="picker">
        <span>Environment</span>
        <select
          value={environment?.id ?? ''}
          onChange={(event) =>
            setParams({ env: event.currentTarget.value, project: undefined, build: undefined })
          }
        >
          {environments.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function NoEnvironment({ place: { project } }: { readonly place: Place }) {
  return (
    <div class="empty">
      <p>{project === undefined ? 'You have no project yet.' : `${project.name} has no environment yet.`}</p>
      <p>
        {project === undefined ? (
          <code>svc projects create</code>
        ) : (
          <code>svc environments create {project.id} production</code>
        )}{' '}
        makes one.
      </p>
    </div>
  );
}
