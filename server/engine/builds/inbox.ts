/** Says which builds wait for people. */
// No TeamScope: fragments of statements that take a TeamScope.
import { newId } from '../../base/ids.ts';
import type { InboxSource } from '../../kit/inbox.ts';

export const deployApprovals: InboxSource = {
  scope: 'release:approve',
  find: (sql, { teamId, take }) => sql`
    select 'deploy_approval'::text as kind, b.id, 'build ' || b.number || ' of ' || e.name || ' waits for approval of its deploy' as text,
      b.created_at as since, e.project_id as "projectId", e.id as "environmentId"
    from builds b join environments e on e.team_id = b.team_id and e.id = b.environment_id
    where b.team_id = ${teamId} and b.state = 'awaiting_approval' order by b.id desc limit ${take}::int`,
};

const FAILED_SHOWN_MS = 7 * 86_400_000;

/** The builds that the person submitted lately: ids sort by time. */
export const failedBuilds: InboxSource = {
  scope: 'project:read',
  find: (sql, { teamId, caller, take, nowMs }) => sql`
    select 'build_failed'::text as kind, b.id, 'build ' || b.number || ' of ' || e.name || ' failed' as text,
      b.finished_at as since, e.project_id as "projectId", e.id as "environmentId"
    from builds b join environments e on e.team_id = b.team_id and e.id = b.environment_id
    where b.team_id = ${teamId} and b.state = 'failed' and b.created_by = ${caller.userId} and b.id > ${newId('bld', nowMs - FAILED_SHOWN_MS)}
    order by b.id desc limit ${take}::int`,
};
