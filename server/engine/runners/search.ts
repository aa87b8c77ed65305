/** Says which runners people find. */
// No TeamScope: fragments of statements that take a TeamScope.
import { findsByName } from '../../kit/search.ts';

export const foundRunners = findsByName({
  kind: 'runner',
  scope: 'runner:read',
  feature: 'host.runners',
  rows: (sql) => sql`
    select team_id as "teamId", id, name, null::text as "projectId", null::text as "environmentId"
    from runners where revoked_at is null`,
});
