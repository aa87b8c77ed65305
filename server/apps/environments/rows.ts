import { inArray } from 'drizzle-orm';
import { rowsOf, type RowOf, type Rows, type TeamTable, type Who } from '../../kit/resource/index.ts';
import { environments } from './schema.ts';
import { projectRows } from '../projects/index.ts';

export const environmentRows = rowsOf(environments);
export type Environment = RowOf<typeof environments>;

/** A field that is null or empty does not narrow the scope. */
export interface Scope {
  readonly projectId: string | null;
  readonly environmentId: string | null;
}

const isGiven = (id: string | null): id is string => id !== null && id !== '';

export interface Place {
  /** The project or environment is gone. */
  readonly isDeleted: boolean;
  /** The project itself, or that of the environment; undefined where that is gone, and of no scope. */
  readonly projectId: string | undefined;
}

/** Looks up each of these scopes. */
export async function findPlaces(who: Who, scopes: readonly Scope[]): Promise<(scope: Scope) => Place> {
  const projectIds = scopes.map(({ projectId }) => projectId);
  const environmentIds = scopes.map(({ environmentId }) => environmentId);
  const [projects, environments] = await Promise.all([
    rowsById(projectRows, who, projectIds),
    rowsById(environmentRows, who, environmentIds),
  ]);
  return ({ projectId, environmentId }) => ({
    isDeleted:
      (isGiven(projectId) && !projects.has(projectId)) ||
      (isGiven(environmentId) && !environments.has(environmentId)),
    projectId: isGiven(projectId) ? projectId : environments.get(environmentId ?? '')?.projectId,
  });
}

async function rowsById<T extends TeamTable>(
  rows: Rows<T>,
  who: Who,
  ids: ReadonlyArray<string | null>,
): Promise<ReadonlyMap<string, RowOf<T>>> {
  const given = ids.filter(isGiven);
  const found = given.length === 0 ? [] : await rows.list(who, { where: inArray(rows.table.id, given) });
  return new Map(found.map((row) => [row.id, row]));
}
