/** Settings and tasks in the database. The team stands in the path of every call, so that authorisation has checked it before. */
import type { Database } from '../../platform/db/index.ts';

export interface Settings {
  readonly teamId: string;
  readonly repositoryId: string;
  readonly category: string;
  readonly enabled: boolean;
  readonly monthlyBudgetCents: number | null;
  readonly updatedAt: Date;
}

export interface Task {
  readonly id: string;
  readonly teamId: string;
  readonly repositoryId: string;
  readonly category: string;
  readonly proposal: string;
  readonly estimatedCostCents: number;
  readonly agentIdentityId: string | null;
  readonly createdBy: string;
  readonly createdAt: Date;
}

export interface SettingsChange {
  readonly teamId: string;
  readonly repositoryId: string;
  readonly category: string;
  readonly enabled?: boolean | undefined;
  readonly monthlyBudgetCents?: number | undefined;
}

/** What is not named keeps its value, or begins off and without a budget. One statement: of two changes none is lost. */
export async function changeSettings(
  { sql }: Database,
  change: SettingsChange,
  now: Date,
): Promise<Settings> {
  const { teamId, repositoryId, category } = change;
  const enabled = change.enabled ?? null;
  const budget = change.monthlyBudgetCents ?? null;
  const [row] = await sql<Settings[]>`
    insert into maintenance_settings as s (team_id, repository_id, category, enabled, monthly_budget_cents, updated_at)
    values (${teamId}, ${repositoryId}, ${category}, coalesce(${enabled}::boolean, false), ${budget}::int, ${now})
    on conflict (team_id, repository_id, category) do update set
      enabled = coalesce(${enabled}::boolean, s.enabled),
      monthly_budget_cents = coalesce(${budget}::int, s.monthly_budget_cents), updated_at = excluded.updated_at
    returning team_id as "teamId", repository_id as "repositoryId", category, enabled,
      monthly_budget_cents as "monthlyBudgetCents", updated_at as "updatedAt"`;
  if (row === undefined) throw new Error('an upsert returned no row');
  return row;
}

/** Of the repository, this category left out. Counts under a lock on the team, so that two changes take turns. */
export async function countOtherCategories(
  { sql }: Database,
  { teamId, repositoryId, category }: Pick<SettingsChange, 'teamId' | 'repositoryId' | 'category'>,
): Promise<number> {
  await sql`select 1 from teams where id = ${teamId} for no key update`;
  const [row] = await sql<Array<{ n: number }>>`
    select count(*)::int as n from maintenance_settings
    where team_id = ${teamId} and repository_id = ${repositoryId} and category <> ${category}`;
  return row?.n ?? 0;
}

export async function insertTask({ sql }: Database, task: Task): Promise<void> {
  await sql`
    insert into maintenance_tasks
      (id, team_id, repository_id, category, proposal, estimated_cost_cents, agent_identity_id, created_by, created_at)
    values (${task.id}, ${task.teamId}, ${task.repositoryId}, ${task.category}, ${task.proposal}, ${task.estimatedCostCents},
      ${task.agentIdentityId}, ${task.createdBy}, ${task.createdAt})`;
}

export interface TasksQuery {
  readonly teamId: string;
  readonly repositoryId: string;
  readonly take: number;
  /** The last task of the page before. */
  readonly after: { readonly createdAt: Date; readonly id: string } | undefined;
}

/** Newest first. */
export async function listTasks({ sql }: Database, query: TasksQuery): Promise<readonly Task[]> {
  const { teamId, repositoryId, take, after } = query;
  const behind = after === undefined ? sql`` : sql`and (created_at, id) < (${after.createdAt}, ${after.id})`;
  return await sql<Task[]>`
    select id, team_id as "teamId", repository_id as "repositoryId", category, proposal,
      estimated_cost_cents as "estimatedCostCents", agent_identity_id as "agentIdentityId", created_by as "createdBy",
      created_at as "createdAt"
    from maintenance_tasks where team_id = ${teamId} and repository_id = ${repositoryId} ${behind}
    order by created_at desc nulls last, id desc nulls last limit ${take}`;
}
