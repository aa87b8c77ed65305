/** Names what policies are about: the whole team, a project or an environment. */
import type { Environment, Policy, Project } from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import { environmentHref, projectHref } from '../../place.ts';
import { follow } from '../../router.ts';
import { environments, projects } from './calls.ts';

/** Each environment is a request; those beyond are shown by their ids. */
const ENVIRONMENTS_MAX = 8;
export const PROJECTS_MAX = 200;

export interface Scopes {
  readonly projects: readonly Project[];
  readonly environments: readonly Environment[];
}

type Scoped = Pick<Policy, 'projectId' | 'environmentId'>;

/** Reads the names of what policies are about. */
export async function readScopes(teamId: string, of: readonly Scoped[]): Promise<Scopes> {
  const ids = [...new Set(of.flatMap(({ environmentId }) => environmentId ?? []))];
  const [{ projects: known }, ...found] = await Promise.all([
    ids.length > 0 || of.some(({ projectId }) => projectId !== undefined)
      ? projects.listPage({ teamId, limit: PROJECTS_MAX })
      : { projects: [] },
    ...ids
      .slice(0, ENVIRONMENTS_MAX)
      .map(async (id) => await ifMissing(undefined, async () => await environments.get(id))),
  ]);
  return { projects: known, environments: found.filter((each) => each !== undefined) };
}

interface ScopeProps {
  readonly of: Scoped;
  readonly among: Scopes;
  /** It leads there. */
  readonly isLink?: boolean;
}

export function Scope({ of: { projectId, environmentId }, among, isLink = false }: ScopeProps) {
  if (projectId === undefined && environmentId === undefined) return <>The whole team</>;
  const environment = among.environments.find(({ id }) => id === environmentId);
  const project = among.projects.find(({ id }) => id === (environment?.projectId ?? projectId));
  const projectName = project?.name ?? environment?.projectId ?? projectId;
  const text =
    environmentId === undefined
      ? String(projectName)
      : environment === undefined
        ? environmentId
        : `${projectName} / ${environment.name}`;
  if (!isLink)
    return (
      <span class="brief" title={text}>
        {text}
      </span>
    );
  const href = environmentId === undefined ? projectHref(String(projectId)) : environmentHref(environmentId);
  return (
    <a href={href} onClick={follow}>
      {text}
    </a>
  );
}
