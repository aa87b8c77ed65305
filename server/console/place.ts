/**
 * Finds the environment that is looked at: the address names an environment or a project, or else the first
 * of each is taken.
 */
import { Environments, Projects } from '@svc/sdk';
import type { Environment, Project } from '@svc/sdk';
import { client, isMissing } from './api.ts';
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

export async function readPlace(): Promise<Place> {
  const [environmentId, projectId] = [param('env'), param('project')];
  const all = await projects.list();
  if (environmentId !== undefined) {
    const environment = await found(async () => await environments.get(environmentId));
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

async function found<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
