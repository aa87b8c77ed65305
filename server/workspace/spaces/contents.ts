/**
 * This file reads what is in a space, of that what the caller may see: every statement begins at the projects
 * of the scope's teams.
 */
import type { SearchResult } from '@svc/proto/gen/svc/spaces/v1/spaces_pb.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import type { Row } from '../../kit/resource/index.ts';

const FOUND_MAX = 50;

/** `%`, `_` and `\` stand for themselves. */
function pattern(query: string): string {
  return query.toLowerCase().replace(/[\\%_]/g, '\\$&');
}

export interface Search {
  readonly spaceId: string;
  readonly query: string;
  readonly kinds: readonly string[];
}

/** A space holds a few hundred projects, so that reading all names of one needs no index of its own. */
export async function searchSpace(
  { sql }: Database,
  scope: TeamScope,
  { spaceId, query, kinds }: Search,
): Promise<ReadonlyArray<Row<SearchResult>>> {
  const text = pattern(query);
  return await sql<Array<Row<SearchResult>>>`
    with visible as (
      select p.id, p.team_id, p.name, p.slug from space_projects sp
      join projects p on p.team_id = sp.team_id and p.id = sp.project_id
      where sp.space_id = ${spaceId} and sp.team_id = any(${scope.teamIds})
    ), named as (
      select 'project' as kind, id, name, slug, id as project_id, team_id from visible
      union all
      select 'environment', e.id, e.name, e.name, v.id, v.team_id from visible v
      join environments e on e.team_id = v.team_id and e.project_id = v.id
    )
    select kind, id, name, project_id as "projectId", team_id as "teamId" from named
    where kind = any(${[...kinds]}) and (lower(name) like ${`%${text}%`} or slug like ${`%${text}%`})
    order by
      case when ${text} in (lower(name), slug) then 0 when lower(name) like ${`${text}%`} or slug like ${`${text}%`} then 1 else 2 end,
      lower(name), kind desc, id
    limit ${FOUND_MAX}`;
}

export interface Counts {
  readonly projects: number;
  readonly environments: number;
  readonly teams: number;
}

export async function countContents({ sql }: Database, scope: TeamScope, spaceId: string): Promise<Counts> {
  const [row] = await sql<Counts[]>`
    select count(distinct sp.project_id)::int as projects, count(e.id)::int as environments, count(distinct sp.team_id)::int as teams
    from space_projects sp left join environments e on e.team_id = sp.team_id and e.project_id = sp.project_id
    where sp.space_id = ${spaceId} and sp.team_id = any(${scope.teamIds})`;
  return row ?? { projects: 0, environments: 0, teams: 0 };
}
