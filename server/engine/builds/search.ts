/** Says which builds people find. */
// No TeamScope: fragments of statements that take a TeamScope.
import { findsById } from '../../kit/search.ts';

export const foundBuilds = findsById({
  kind: 'build',
  prefix: 'bld',
  scope: 'project:read',
  rows: (sql) => sql`
    select team_id as "teamId", id, number::text as name, null::text as "projectId", environment_id as "environmentId" from builds`,
});
