/** Projects in the database: every read is limited to the teams of a TeamScope. */
import type { TeamScope } from '../../platform/context.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import { freeSlug } from './slug.ts';

export interface Project {
  readonly id: string;
  readonly teamId: string;
  readonly name: string;
  readonly slug: string;
  readonly createdAt: Date;
}

const columns = (sql: SqlTag) => sql`id, team_id as "teamId", name, slug, created_at as "createdAt"`;

export interface ProjectsQuery {
  readonly teamIds: readonly string[];
  /** Only these; absent: all. */
  readonly ids?: readonly string[] | undefined;
  readonly take: number;
  /** The last project of the page before. */
  readonly after: { readonly createdAt: Date; readonly id: string } | undefined;
}

/** Newest first. */
export async function listProjects({ sql }: Database, query: ProjectsQuery): Promise<readonly Project[]> {
  const after =
    query.after === undefined
      ? sql``
      : sql`and (created_at, id) < (${query.after.createdAt}, ${query.after.id})`;
  const only = query.ids === undefined ? sql`` : sql`and id = any(${[...query.ids]})`;
  return await sql<Project[]>`
    select ${columns(sql)} from projects where team_id = any(${[...query.teamIds]}) ${only} ${after}
    order by created_at desc, id desc limit ${query.take}`;
}

export async function findProject(
  { sql }: Database,
  scope: TeamScope,
  id: string,
): Promise<Project | undefined> {
  const [row] = await sql<Project[]>`
    select ${columns(sql)} from projects where id = ${id} and team_id = any(${[...scope.teamIds]})`;
  return row;
}

export async function findProjectBySlug(
  { sql }: Database,
  scope: TeamScope,
  slug: string,
): Promise<Project | undefined> {
  const [row] = await sql<Project[]>`
    select ${columns(sql)} from projects where slug = ${slug} and team_id = any(${[...scope.teamIds]})`;
  return row;
}

const SLUG_TRIES = 20;

/** Takes the first free slug; when another creation takes it at the same moment, the next one. */
export async function insertProject({ sql }: Database, project: Project): Promise<Project> {
  for (let tries = 0; tries < SLUG_TRIES; tries += 1) {
    const rows = await sql<Array<{ slug: string }>>`
      select slug from projects where slug = ${project.slug} or slug ~ ${`^${project.slug}-[0-9]+$`}`;
    const slug = freeSlug(project.slug, new Set(rows.map((row) => row.slug)));
    const { count } = await sql`
      insert into projects (id, team_id, name, slug, created_at)
      values (${project.id}, ${project.teamId}, ${project.name}, ${slug}, ${project.createdAt}) on conflict (slug) do nothing`;
    if (count === 1) return { ...project, slug };
  }
  throw new Error(`no free slug for "${project.slug}" in ${SLUG_TRIES} tries`);
}

/** Environments go with it. False when somebody else was faster. */
/** Ids; under a lock on the project, which creation of an environment takes too. */
export async function lockEnvironmentsOf({ sql }: Database, { id }: Project): Promise<readonly string[]> {
  await sql`select from projects where id = ${id} for update`;
  const rows = await sql<Array<{ id: string }>>`select id from environments where project_id = ${id}`;
  return rows.map((row) => row.id);
}

export async function deleteProject({ sql }: Database, project: Project): Promise<boolean> {
  const { count } = await sql`delete from projects where id = ${project.id} and team_id = ${project.teamId}`;
  return count === 1;
}
