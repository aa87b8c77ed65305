/** Which environment is looked at, and what is asked at the moment. */
import { signal } from '@preact/signals';
import type { Build, Environment, Project } from '@svc/sdk';
import { isMissing } from '../../api.ts';
import { param } from '../../router.ts';
import { onForget } from '../../session.ts';
import { environments, projects } from './calls.ts';

/** For what no stream tells: builds that others begin, a state while a build's own stream is down. */
export const POLL_MS = 5_000;

export interface Place {
  readonly projects: readonly Project[];
  readonly environments: readonly Environment[];
  readonly project: Project | undefined;
  readonly environment: Environment | undefined;
  /** The address names what is not there, or not for this person. */
  readonly missing: boolean;
}

/** By the address: an environment, a project, or else the first of each. */
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

export type Dialog =
  | { readonly kind: 'build' | 'unlock'; readonly environment: Environment }
  | { readonly kind: 'cancel' | 'rollback' | 'approve' | 'reject' | 'again'; readonly build: Build };

export const dialog = signal<Dialog | undefined>(undefined);

export function ask(next: Dialog): void {
  dialog.value = next;
}

export function closeDialog(): void {
  dialog.value = undefined;
}

onForget(closeDialog);
