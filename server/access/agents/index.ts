/**
 * Agents are programs that act for a team by themselves: named, bounded by their kind, with keys that live
 * for an hour, and stopped by one act. It stands below the engine, which counts and stops their work.
 */
import { eq, lt } from 'drizzle-orm';
import { implementPart, type Handlers } from '@svc/proto/http/implement.ts';
import {
  AgentKeySchema,
  AgentSchema,
  AgentsService,
  type Agent as AgentMessage,
} from '@svc/proto/gen/svc/agents/v1/agents_pb.ts';
import { accountsFeature } from '../accounts/index.ts';
import { apiKeysFeature, keyPrefix } from '../apikeys/index.ts';
import { memberLeft, teamsFeature } from '../teams/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill, filledOnce, port } from '../../kit/feature.ts';
import { inboxSources } from '../../kit/inbox.ts';
import { shown } from '../../kit/resource/index.ts';
import { isScope } from '../../kit/scopes.ts';
import {
  createAgent,
  deleteAgent,
  issueKey,
  revokeKey,
  setEnabled,
  updateAgent,
  type AgentsDeps,
  type AgentWork,
} from './acts.ts';
import { denyApproval, getApproval, issueApprovalToken, listApprovals } from './decisions.ts';
import { waitingApprovals } from './inbox.ts';
import { agentRows, keyRows, liveKeys, openApprovals, type Agent, type AgentKey } from './rows.ts';
import { agentApprovals, agentKeys, agents } from './schema.ts';
import { createSponsors } from './sponsors.ts';

export type { AgentWork } from './acts.ts';
export { askInstead, doApproved, wantsApproval } from './approvals.ts';
export { proveAgent } from './prove.ts';
export { ableAgent, agentRows, refuseDisabled } from './rows.ts';

export const agentWork = port<AgentWork>('work of agents');

const KEYS_SHOWN_MAX = 200;
/** Keys and approvals that have ended stay in their lists for this long. */
const KEPT_MS = 90 * 86_400_000;

async function show(ctx: Ctx, rows: readonly Agent[]): Promise<AgentMessage[]> {
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return [];
  const [live, open] = await Promise.all([liveKeys(ctx, ids), openApprovals(ctx, ids)]);
  return rows.map((row) =>
    shown(AgentSchema, {
      ...row,
      // A newer server may have given one that this version does not know.
      permissions: row.permissions.filter(isScope),
      liveKeys: live.get(row.id) ?? 0,
      openApprovals: open.get(row.id) ?? 0,
    }),
  );
}

const showOne = async (ctx: Ctx, row: Agent): Promise<AgentMessage> => (await show(ctx, [row]))[0]!;

const showKey = (row: AgentKey) => shown(AgentKeySchema, { ...row, prefix: keyPrefix('agent', row.kid) });

function createAgents(deps: AgentsDeps): Handlers<Ctx> {
  return implementPart(AgentsService, {
    list: async (_request, ctx: Ctx) => ({
      agents: await show(ctx, await agentRows.list(ctx, { by: agents.id, descending: false })),
    }),
    get: async ({ agentId }, ctx: Ctx) => await showOne(ctx, await agentRows.find(ctx, agentId)),
    create: async (request, ctx: Ctx) => await showOne(ctx, await createAgent(ctx, request)),
    update: async (request, ctx: Ctx) => await showOne(ctx, await updateAgent(deps, ctx, request)),
    setEnabled: async (request, ctx: Ctx) => await showOne(ctx, await setEnabled(deps, ctx, request)),
    delete: async ({ agentId }, ctx: Ctx) => {
      await deleteAgent(deps, ctx, agentId);
      return {};
    },
    issueKey: async (request, ctx: Ctx) => {
      const { secret, ...row } = await issueKey(deps, ctx, request);
      const key = showKey(row);
      return { key, secret, ...(key.expiresAt && { expiresAt: key.expiresAt }) };
    },
    issueApprovalToken: async (request, ctx: Ctx) => {
      const { approval, token } = await issueApprovalToken(ctx, request);
      return { approval, token, ...(approval.expiresAt && { expiresAt: approval.expiresAt }) };
    },
    listApprovals: async (request, ctx: Ctx) => await listApprovals(ctx, request),
    getApproval: async ({ approvalId }, ctx: Ctx) => await getApproval(ctx, approvalId),
    denyApproval: async ({ approvalId }, ctx: Ctx) => await denyApproval(ctx, approvalId),
    listKeys: async ({ agentId }, ctx: Ctx) => {
      await agentRows.find(ctx, agentId);
      const where = eq(agentKeys.agentId, agentId);
      return { keys: (await keyRows.list(ctx, { where, max: KEYS_SHOWN_MAX })).map(showKey) };
    },
    revokeKey: async (request, ctx: Ctx) => {
      await revokeKey(deps, ctx, request);
      return {};
    },
  });
}

export const agentsFeature = declareFeature({
  name: 'agents',
  on: { accounts: accountsFeature, apiKeys: apiKeysFeature, teams: teamsFeature },
  events: {
    'agent.approval_requested': {
      when: 'An agent asks for the approval of an act.',
      scope: 'agent:read',
      notifies: true,
    },
    'agent.sponsor_left': {
      when: 'The person who answers for an agent has left the team.',
      scope: 'agent:read',
      notifies: true,
    },
  },
  reads: ['agents'],
  start: (system) => {
    const { db, changes } = system;
    const deps = { ...system, work: () => filledOnce(system, agentWork) };
    return {
      services: [createAgents(deps)],
      purges: [
        async (nowMs) =>
          await db.orm.delete(agentKeys).where(lt(agentKeys.expiresAt, new Date(nowMs - KEPT_MS))),
        async (nowMs) =>
          await db.orm.delete(agentApprovals).where(lt(agentApprovals.expiresAt, new Date(nowMs - KEPT_MS))),
      ],
      fills: [fill(memberLeft, createSponsors({ changes })), fill(inboxSources, waitingApprovals)],
    };
  },
});
