/** The tests of the contract send these requests, one for each RPC. */
import { ATTEMPT, once, team, type Requests } from '../../../test/contract/requests.ts';
import { PERMISSIONS } from './kinds.ts';

const KEY = 'agk_00000000000000000000000001';

/** Makes agents with a live key. One of them may do everything, and the other one may read runs. */
const made = once(async ({ sql, teamId, userId }) => {
  const agentIds = [1, 2].map((n) => `agt_0000000000000000000000000${n}`);
  const permissions = [PERMISSIONS.custom, ['run:read']];
  for (const [n, id] of agentIds.entries()) {
    await sql`
      insert into agents (id, team_id, name, kind, permissions, sponsor_user_id, created_by, created_at)
      values (${id}, ${teamId}, ${`of-requests-${n}`}, 'custom', ${[...(permissions[n] ?? [])]}, ${userId}, ${userId}, now())`;
    await sql`
      insert into agent_keys (id, team_id, agent_id, kid, digest, issued_by, expires_at, created_at)
      values (${`${KEY.slice(0, -1)}${n + 1}`}, ${teamId}, ${id}, ${`of-requests-${n}`}, '', ${userId}, now() + interval '1 hour', now())`;
  }
  return { teamId, all: agentIds[0] ?? '', reading: agentIds[1] ?? '' };
});
const agent = async (world: Parameters<typeof made>[0]) => {
  const { teamId, all } = await made(world);
  return { teamId, agentId: all };
};
/** Attempts know the ids, which are made for the first request. */
const ids = ['agt_00000000000000000000000001', 'agt_00000000000000000000000002'];
const PERMISSION_SETS = [...PERMISSIONS.custom.map((scope) => [scope]), [...PERMISSIONS.custom]];

const approval = once(async (world) => {
  const { teamId, all } = await made(world);
  const approvalId = 'apr_00000000000000000000000001';
  await world.sql`
    insert into agent_approvals (id, team_id, agent_id, action, resource_id, state, expires_at, created_at)
    values (${approvalId}, ${teamId}, ${all}, 'build.create', ${world.environmentId}, 'requested', now() + interval '1 day', now())`;
  return { teamId, approvalId };
});

export const requests: Requests = {
  'svc.agents.v1.AgentsService/List': { gives: 'nothing', fields: team },
  'svc.agents.v1.AgentsService/Get': { gives: 'nothing', fields: agent },
  'svc.agents.v1.AgentsService/Create': {
    gives: 'nothing',
    fields: ({ teamId }) => ({ teamId, name: ATTEMPT, kind: 'review', permissions: ['run:read'] }),
  },
  'svc.agents.v1.AgentsService/Update': {
    gives: {
      what: 'permissions of keys that an agent has',
      bound: 'no more than the key that changes them holds',
      attempts: ({ teamId }) =>
        ids.flatMap((agentId) => PERMISSION_SETS.map((permissions) => ({ teamId, agentId, permissions }))),
    },
    fields: async (world) => ({ ...(await agent(world)), runsAtOnce: 7 }),
  },
  'svc.agents.v1.AgentsService/SetEnabled': {
    gives: 'nothing',
    fields: async (world) => ({ ...(await agent(world)), enabled: true }),
  },
  'svc.agents.v1.AgentsService/Delete': { gives: 'nothing', fields: agent, last: 3 },
  'svc.agents.v1.AgentsService/IssueKey': {
    gives: {
      what: 'a key of an agent',
      bound: 'no more permissions or time than the key that issues it, with which it ends',
      attempts: ({ teamId }) => ids.map((agentId) => ({ teamId, agentId, expiresInMs: 86_400_000 })),
    },
    fields: agent,
  },
  'svc.agents.v1.AgentsService/ListKeys': { gives: 'nothing', fields: agent },
  'svc.agents.v1.AgentsService/RevokeKey': {
    gives: 'nothing',
    fields: async (world) => ({ ...(await agent(world)), keyId: KEY }),
    last: 2,
  },
  'svc.agents.v1.AgentsService/IssueApprovalToken': {
    gives: {
      what: 'one act of an agent',
      bound: 'an act that the approver may do, in a session alone; it is used once, within an hour',
      story: 'server/access/agents/approvals.api.test.ts',
    },
    fields: async (world) => ({
      ...(await agent(world)),
      action: 'build.create',
      resourceId: world.environmentId,
    }),
  },
  'svc.agents.v1.AgentsService/ListApprovals': { gives: 'nothing', fields: team },
  'svc.agents.v1.AgentsService/GetApproval': { gives: 'nothing', fields: approval },
  'svc.agents.v1.AgentsService/DenyApproval': { gives: 'nothing', fields: approval },
  'svc.agents.v1.AgentsService/Runs': { gives: 'nothing', fields: agent },
};
