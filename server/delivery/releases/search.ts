/** Says which releases people find by their version. */
// No TeamScope: fragments of statements that take a TeamScope.
import type { SearchSource } from '../../kit/search.ts';

/** It goes through the projects of the team, each of which has its versions in an index. */
export const foundByVersion: SearchSource = {
  scope: 'release:read',
  find: (sql, { teamId, text, take }) => sql`
    select 'release'::text as kind, r.id, r.version as name, r.project_id as "projectId", null::text as "environmentId"
    from projects p cross join lateral (
      select r.* from releases r where r.project_id = p.id and r.version_key = lower(${text}) limit 1
    ) r where p.team_id = ${teamId} and r.team_id = ${teamId} limit ${take}::int`,
};
