/** Says which approvals of agents wait for people. */
// No TeamScope: fragments of statements that take a TeamScope.
import type { InboxSource } from '../../kit/inbox.ts';

export const waitingApprovals: InboxSource = {
  scope: 'agent:manage',
  find: (sql, { teamId, take, nowMs }) => sql`
    select 'agent_approval'::text as kind, p.id, 'the agent ' || a.name || ' asks for ' || p.action || ' on ' || p.resource_id as text,
      p.created_at as since, null::text as "projectId", null::text as "environmentId"
    from agent_approvals p join agents a on a.team_id = p.team_id and a.id = p.agent_id
    where p.team_id = ${teamId} and p.state = 'requested' and p.expires_at > ${new Date(nowMs)} order by p.id desc limit ${take}::int`,
};
