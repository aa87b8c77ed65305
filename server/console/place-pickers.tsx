/**
 * Chooses the environment that a page is about. Another one is another address, with nothing in it of what
 * was chosen on the page before.
 */
import type { Place } from './place.ts';
import { navigate, path } from './router.ts';

export function PlacePickers({ place }: { readonly place: Place }) {
  const { environments, environment } = place;
  return (
    <div class="pickers">
      <ProjectPicker place={place} />
      <label class="picker">
        <span>Environment</span>
        <select value={environment?.id ?? ''} onChange={(event) => go('env', event.currentTarget.value)}>
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

export function ProjectPicker({ place: { projects, project } }: { readonly place: Place }) {
  return (
    <label class="picker">
      <span>Project</span>
      <select value={project?.id ?? ''} onChange={(event) => go('project', event.currentTarget.value)}>
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function go(name: 'project' | 'env', id: string): void {
  navigate(`${path.peek()}?${name}=${encodeURIComponent(id)}`);
}

export function NoEnvironment({ place: { project } }: { readonly place: Place }) {
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
