/** Build steps in the database. The environment was found in a TeamScope before: all statements carry its team. */
import type { Environment } from '../environments/index.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';

type Owner = Pick<Environment, 'id' | 'teamId'>;

export interface BuildStep {
  readonly id: string;
  readonly environmentId: string;
  /** From 1, without gaps. */
  readonly position: number;
  readonly command: string;
  readonly createdAt: Date;
}

const columns = (sql: SqlTag) =>
  sql`id, environment_id as "environmentId", position, command, created_at as "createdAt"`;

/** In the order in which they run. */
export async function listBuildSteps(
  { sql }: Pick<Database, 'sql'>,
  { id, teamId }: Owner,
): Promise<readonly BuildStep[]> {
  return await sql<BuildStep[]>`
    select ${columns(sql)} from build_steps where team_id = ${teamId} and environment_id = ${id} order by position`;
}

export async function insertBuildStep({ sql }: Database, { teamId }: Owner, step: BuildStep): Promise<void> {
  await sql`
    insert into build_steps (id, team_id, environment_id, position, command, created_at)
    values (${step.id}, ${teamId}, ${step.environmentId}, ${step.position}, ${step.command}, ${step.createdAt})`;
}

/** Closes the gap behind it. */
export async function deleteBuildStep(
  { sql }: Database,
  { id, teamId }: Owner,
  step: BuildStep,
): Promise<void> {
  await sql`delete from build_steps where id = ${step.id} and team_id = ${teamId} and environment_id = ${id}`;
  await sql`
    update build_steps set position = position - 1
    where team_id = ${teamId} and environment_id = ${id} and position > ${step.position}`;
}

export async function swapBuildSteps(
  { sql }: Database,
  { id, teamId }: Owner,
  a: number,
  b: number,
): Promise<void> {
  await sql`
    update build_steps set position = case position when ${a} then ${b}::int else ${a}::int end
    where team_id = ${teamId} and environment_id = ${id} and position in (${a}, ${b})`;
}
