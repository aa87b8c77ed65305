/** Says which notifications wait for people. */
// No TeamScope: fragments of statements that take a TeamScope.
import { eventsSeenBy } from '../../kit/events/index.ts';
import type { InboxSource } from '../../kit/inbox.ts';

export const unread: InboxSource = {
  scope: 'team:read',
  find: (sql, { teamId, caller, take }) => sql`
    select 'notification'::text as kind, id, title as text, created_at as since, null::text as "projectId", null::text as "environmentId"
    from notifications where user_id = ${caller.userId} and read_at is null and team_id = ${teamId}
      and kind = any(${[...eventsSeenBy(caller)]}::text[]) order by id desc limit ${take}::int`,
};
