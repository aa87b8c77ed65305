/** Says which runs people find. */
// No TeamScope: fragments of statements that take a TeamScope.
import { findsById } from '../../kit/search.ts';

export const foundRuns = findsById({
  kind: 'run',
  prefix: 'run',
  scope: 'run:read',
  rows: (sql) => sql`
    select team_id as "teamId", id, null::text as name, null::text as "projectId", null::text as "environmentId"
    from work_items where kind = 'run'`,
});
