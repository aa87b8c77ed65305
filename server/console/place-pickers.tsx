/**
 * Chooses the environment that a page is about. Another one is another address, with nothing in it of what
 * was chosen on the page before.
 */
import { Picker } from './picker.tsx';
import type { Place } from './place.ts';
import { navigate, path } from './router.ts';

export function PlacePickers({ place }: { readonly place: Place }) {
  const { environments, environment } = place;
  return (
    <div class="pickers">
      <ProjectPicker place={place} />
      <Picker
        label="Environment"
        of={environments}
        value={environment?.id ?? ''}
        onPick={(id) => go('env', id)}
      />
    </div>
  );
}

export function ProjectPicker({ place: { projects, project } }: { readonly place: Place }) {
  return (
    <Picker label="Project" of={projects} value={project?.id ?? ''} onPick={(id) => go('project', id)} />
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
