/**
 * Finds the environment that is looked at: the address names an environment or a project, or else the first
 * of each is taken.
 */
import { useEffect } from 'preact/hooks';
import { Environments, Projects, type Environment, type Project } from '@svc/sdk';
import { useLastGood } from './use-last-good.ts';
import { client, ifMissing } from './api.ts';
import type { LastGood } from './last-good.ts';
import { param } from './router.ts';

const environments = new Environments(client);
const projects = new Projects(client);

export interface Place {
  readonly projects: readonly Project[];
  readonly environments: readonly Environment[];
  readonly project: Project | undefined;
  readonly environment: Environment | undefined;
  /** The address names what is not there, or not for this person. */
  readonly missing: boolean;
}

async function readPlace(): Promise<Place> {
  const [environmentId, projectId] = [param('env'), param('project')];
  const all = await projects.list();
  if (environmentId !== undefined) {
    const environment = await ifMissing(undefined, async () => await environments.get(environmentId));
    const project = all.find(({ id }) => id === environment?.projectId);
    if (environment === undefined || project === undefined)
      return { projects: all, environments: [], project: undefined, environment: undefined, missing: true };
    const siblings = await environments.list(project.id);
    return { projects: all, environments: siblings, project, environment, missing: false };
  }
  const project = projectId === undefined ? all[0] : all.find(({ id }) => id === projectId);
  const list = project === undefined ? [] : await environments.list(project.id);
  return {
    projects: all,
    environments: list,
    project,
    environment: list[0],
    missing: projectId !== undefined && project === undefined,
  };
}

/** Reads the place that the address names, and again when it names another one. */
export function usePlace(): LastGood<Place> {
  const place = useLastGood(readPlace);
  useEffect(() => {
    if (place.data.peek() !== undefined) void place.load();
  }, [param('env'), param('project')]);
  return place;
}
