/** Says which promotions wait for people. */
// No TeamScope: fragments of statements that take a TeamScope.
import type { InboxSource } from '../../kit/inbox.ts';

export const pendingPromotions: InboxSource = {
  scope: 'release:approve',
  find: (sql, { teamId, take }) => sql`
    select 'promotion_approval'::text as kind, id, version || ' waits for approval, to be promoted to ' || environment_name as text,
      created_at as since, project_id as "projectId", environment_id as "environmentId"
    from promotions where team_id = ${teamId} and state = 'pending' order by id desc limit ${take}::int`,
};
