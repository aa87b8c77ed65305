/** Variables in the database. The environment was found in a TeamScope before: all statements carry its team. */
import type { Environment } from '../environments/index.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import { apiError } from '@svc/proto/http/errors.ts';

type Owner = Pick<Environment, 'id' | 'teamId'>;

export interface Variable {
  readonly id: string;
  readonly environmentId: string;
  readonly name: string;
  /** Null: it is secret. */
  readonly value: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What is stored of a value. */
export interface Stored {
  readonly id: string;
  readonly name: string;
  readonly value: string | null;
  readonly sealed: string | null;
  readonly bytes: number;
}

const LIST_MAX = 500;

const columns = (sql: SqlTag) => sql`
  id, environment_id as "environmentId", name, value, created_at as "createdAt", updated_at as "updatedAt"`;

export async function listVariables({ sql }: Database, { id, teamId }: Owner): Promise<readonly Variable[]> {
  return await sql<Variable[]>`
    select ${columns(sql)} from variables where team_id = ${teamId} and environment_id = ${id}
    order by name collate "C" limit ${LIST_MAX}`;
}

export async function findVariable(
  { sql }: Database,
  { id, teamId }: Owner,
  variableId: string,
): Promise<Variable | undefined> {
  const [row] = await sql<Variable[]>`
    select ${columns(sql)} from variables where id = ${variableId} and team_id = ${teamId} and environment_id = ${id}`;
  return row;
}

/** Those of these names, with their sizes, under the lock on their environment. */
export async function sizesOf(
  { sql }: Database,
  { id, teamId }: Owner,
): Promise<ReadonlyMap<string, Stored & Variable>> {
  const rows = await sql<Array<Stored & Variable>>`
    select ${columns(sql)}, sealed, bytes from variables where team_id = ${teamId} and environment_id = ${id}`;
  return new Map(rows.map((row) => [row.name, row]));
}

/** Makes it, or replaces what its id holds. */
export async function putVariable(
  { sql }: Database,
  { id: environmentId, teamId }: Owner,
  { id, name, value, sealed, bytes }: Stored,
  now: Date,
): Promise<Variable> {
  try {
    const [row] = await sql<Variable[]>`
      insert into variables (id, team_id, environment_id, name, value, sealed, bytes, created_at, updated_at)
      values (${id}, ${teamId}, ${environmentId}, ${name}, ${value}, ${sealed}, ${bytes}, ${now}, ${now})
      on conflict (id) do update set name = excluded.name, value = excluded.value, sealed = excluded.sealed, bytes = excluded.bytes,
        updated_at = excluded.updated_at
      where variables.team_id = excluded.team_id and variables.environment_id = excluded.environment_id
      returning ${columns(sql)}`;
    if (row === undefined) throw new Error(`variable ${id} was not stored`);
    return row;
  } catch (error) {
    if (!isUniqueViolation(error, 'variables_name')) throw error;
    throw apiError(
      'name_taken',
      `the environment has a variable named "${name}" already; choose another name`,
    );
  }
}

/** False when somebody else was faster. */
export async function deleteVariable(
  { sql }: Database,
  { id, teamId }: Owner,
  variableId: string,
): Promise<boolean> {
  const { count } = await sql`
    delete from variables where id = ${variableId} and team_id = ${teamId} and environment_id = ${id}`;
  return count === 1;
}
