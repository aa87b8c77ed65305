import { rowsOf } from '../../kit/resource/index.ts';
import type { RowOf, Who } from '../../kit/resource/index.ts';
import { environments } from './schema.ts';
import { inArray } from 'drizzle-orm';
import { projectRows } from '../projects/index.ts';

export const environmentRows = rowsOf(environments);
export type Environment = RowOf<typeof environments>;

/** A field that is null or empty does not narrow the scope. */
export interface Scope {
  readonly projectId: string | null;
  readonly environmentId: string | null;
}

const isGiven = (id: string | null): id is string => id !== null && id !== '';

/** Projects of environments that are there, by environment. */
export async function projectsOf(
  who: Who,
  environmentIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = environmentIds.filter(isGiven);
  if (ids.length === 0) return new Map();
  const rows = await environmentRows.list(who, { where: inArray(environmentRows.table.id, ids) });
  return new Map(rows.map(({ id, projectId }) => [id, projectId]));
}

/** Tells of each of these scopes whether its project or environment is gone. */
export async function findDeleted(who: Who, scopes: readonly Scope[]): Promise<(scope: Scope) => boolean> {
  const projectIds = scopes.map(({ projectId }) => projectId).filter(isGiven);
  const environmentIds = scopes.map(({ environmentId }) => environmentId).filter(isGiven);
  const found = [
    ...(projectIds.length === 0
      ? []
      : await projectRows.list(who, { where: inArray(projectRows.table.id, projectIds) })),
    ...(environmentIds.length === 0
      ? []
      : await environmentRows.list(who, { where: inArray(environmentRows.table.id, environmentIds) })),
  ];
  const there = new Set(found.map(({ id }) => id));
  return ({ projectId, environmentId }) =>
    [projectId, environmentId].some((id) => isGiven(id) && !there.has(id));
}
