/** Incidents in the database: every read and every transition is limited to the teams of a TeamScope. */
import type { TeamScope } from '../../platform/context.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import { FROM } from './states.ts';
import type { IncidentState, Target } from './states.ts';

export type Severity = 'low' | 'medium' | 'high';

export interface Incident {
  readonly id: string;
  readonly teamId: string;
  readonly environmentId: string;
  readonly state: IncidentState;
  readonly severity: Severity;
  readonly title: string;
  readonly description: string;
  readonly openedAt: Date;
  readonly mitigatedAt: Date | null;
  readonly closedAt: Date | null;
}

const columns = (sql: SqlTag) => sql`
  id, team_id as "teamId", environment_id as "environmentId", state, severity, title, description, opened_at as "openedAt",
  mitigated_at as "mitigatedAt", closed_at as "closedAt"`;

export async function insertIncident({ sql }: Database, incident: Incident): Promise<void> {
  const { id, teamId, environmentId, state, severity, title, description, openedAt } = incident;
  await sql`
    insert into incidents (id, team_id, environment_id, state, severity, title, description, opened_at)
    values (${id}, ${teamId}, ${environmentId}, ${state}, ${severity}, ${title}, ${description}, ${openedAt})`;
}

export async function findIncident(
  { sql }: Database,
  scope: TeamScope,
  id: string,
): Promise<Incident | undefined> {
  const [row] = await sql<Incident[]>`
    select ${columns(sql)} from incidents where id = ${id} and team_id = any(${[...scope.teamIds]})`;
  return row;
}

export interface IncidentsQuery {
  readonly teamId: string;
  readonly environmentId: string;
  readonly take: number;
  /** The last incident of the page before. */
  readonly after: { readonly openedAt: Date; readonly id: string } | undefined;
}

/** Newest first. */
export async function listIncidents({ sql }: Database, query: IncidentsQuery): Promise<readonly Incident[]> {
  const { teamId, environmentId, take, after } = query;
  const behind = after === undefined ? sql`` : sql`and (opened_at, id) < (${after.openedAt}, ${after.id})`;
  return await sql<Incident[]>`
    select ${columns(sql)} from incidents where team_id = ${teamId} and environment_id = ${environmentId} ${behind}
    order by opened_at desc nulls last, id desc nulls last limit ${take}`;
}

/**
 * One statement that decides and acts: of two that race, the second one finds what the first one made of the row. Undefined when the incident
 * is not in a state that the target is reached from, or gone.
 */
export async function moveIncident(
  { sql }: Database,
  scope: TeamScope,
  id: string,
  target: Target,
  now: Date,
): Promise<Incident | undefined> {
  const stamp = target === 'mitigated' ? sql`mitigated_at` : sql`closed_at`;
  const [row] = await sql<Incident[]>`
    update incidents set state = ${target}, ${stamp} = ${now}
    where id = ${id} and team_id = any(${[...scope.teamIds]}) and state = any(${[...FROM[target]]})
    returning ${columns(sql)}`;
  return row;
}
