/** A person decides about what an agent asks for, and everybody of the team sees it. */
import { and, eq, gt, inArray, lte, or, sql, type SQL } from 'drizzle-orm';
import { randomBytes } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';
import {
  AgentApprovalSchema,
  AgentApprovalStateSchema,
  type AgentApproval,
  type IssueApprovalTokenRequest,
  type ListApprovalsRequest,
} from '@svc/proto/gen/svc/agents/v1/agents_pb.ts';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import { hashToken } from '../accounts/index.ts';
import { requireRole } from '../../kit/authorise.ts';
import type { Ctx, Role } from '../../kit/context.ts';
import { change, enumWord, inTeams, shown, type RowOf } from '../../kit/resource/index.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { ACTIONS, approvingRoles } from './approvals.ts';
import { agentRows, approvalRows, refuseDisabled } from './rows.ts';
import { agentApprovals, agents } from './schema.ts';

type Row = RowOf<typeof agentApprovals>;

const TOKEN_MS = 15 * 60_000;
const OPEN = ['requested', 'granted'] as const;

const isOpen = (now: Date): SQL | undefined =>
  and(inArray(agentApprovals.state, [...OPEN]), gt(agentApprovals.expiresAt, now));

export async function issueApprovalToken(ctx: Ctx, request: IssueApprovalTokenRequest) {
  const { teamId, agentId, action, resourceId, approvalId, expiresInMs = TOKEN_MS } = request;
  requireApprover(ctx, teamId, rpcOf(action));
  const token = `apt_${randomBytes(32).toString('base64url')}`;
  const now = ctx.clock.now();
  const granted = {
    state: 'granted',
    tokenDigest: Buffer.from(hashToken(token)),
    decidedBy: ctx.caller.userId,
    expiresAt: new Date(now.getTime() + expiresInMs),
  } as const;
  const details = ({ expiresAt }: Row) => ({
    agentId,
    action,
    resourceId,
    expiresAt: expiresAt.toISOString(),
  });
  const row = await change(ctx, { action: 'agent_approval.granted', details }, async (tx) => {
    refuseDisabled(await agentRows.lock(tx, agentId));
    if (approvalId === undefined)
      return await approvalRows.insert(tx, { teamId, agentId, action, resourceId, ...granted });
    const same = [
      eq(agentApprovals.agentId, agentId),
      eq(agentApprovals.action, action),
      eq(agentApprovals.resourceId, resourceId),
    ];
    const where = and(...same, isOpen(now));
    return (
      (await approvalRows.update(tx, approvalId, { set: granted, where })) ?? (await notOpen(tx, request))
    );
  });
  return { approval: await showOne(ctx, row), token, row };
}

function rpcOf(action: string): RpcInfo {
  const rpc = ACTIONS.get(action);
  if (rpc !== undefined) return rpc;
  const message = `action is "${action}", expected one of ${[...ACTIONS.keys()].toSorted().join(', ')}`;
  throw wrongField(message, { resource: approvalRows.kind, field: 'action', rule: 'in' });
}

/** Who may not do it approves it for nobody. */
function requireApprover({ teams }: Ctx, teamId: string, rpc: RpcInfo): void {
  const [least] = approvingRoles(rpc);
  requireRole(teams.role(teamId), (least ?? 'owner') as Role, { act: 'approving it' });
}

/** Says why a request cannot be granted. */
async function notOpen(
  tx: Ctx,
  { agentId, action, resourceId, approvalId = '' }: IssueApprovalTokenRequest,
): Promise<never> {
  const row = await approvalRows.find(tx, approvalId);
  const asked = `${row.action} on ${row.resourceId} by ${row.agentId}`;
  if (row.agentId !== agentId || row.action !== action || row.resourceId !== resourceId) {
    const message = `approvalId is ${approvalId}, which is about ${asked}, not ${action} on ${resourceId} by ${agentId}`;
    throw wrongField(message, { resource: approvalRows.kind, field: 'approvalId', rule: 'same' });
  }
  throw conflict(tx, row);
}

function conflict({ clock }: Ctx, row: Row): Error {
  const state = stateOf(row, clock.now());
  return apiError('state_conflict', `the request is ${state}, and not open any more`, {
    details: { resource: approvalRows.kind, state },
  });
}

export async function denyApproval(ctx: Ctx, id: string): Promise<AgentApproval> {
  const now = ctx.clock.now();
  const act = {
    action: 'agent_approval.denied',
    details: ({ agentId, action, resourceId }: Row) => ({ agentId, action, resourceId }),
  };
  const denied = await change<Row | undefined>(ctx, act, async (tx) =>
    approvalRows.update(tx, id, {
      set: { state: 'denied', decidedBy: ctx.caller.userId, tokenDigest: null },
      where: isOpen(now),
    }),
  );
  const row = denied ?? (await approvalRows.find(ctx, id));
  if (row.state !== 'denied') throw conflict(ctx, row);
  return await showOne(ctx, row);
}

export async function getApproval(ctx: Ctx, id: string): Promise<AgentApproval> {
  return await showOne(ctx, await approvalRows.find(ctx, id));
}

export async function listApprovals(ctx: Ctx, request: ListApprovalsRequest) {
  const { teamId, agentId, state: number } = request;
  const state = number === undefined ? undefined : enumWord(AgentApprovalStateSchema, number);
  const now = ctx.clock.now();
  const where = and(
    agentId === undefined ? undefined : eq(agentApprovals.agentId, agentId),
    state === undefined ? undefined : inState(state, now),
  );
  const of = `${teamId}|${agentId ?? ''}|${state ?? ''}`;
  const { items, ...page } = await approvalRows.page(ctx, { ...request, of }, { where });
  return { ...page, approvals: await show(ctx, items) };
}

/** The row does not say that its time has run out. */
const stateOf = ({ state, expiresAt }: Row, now: Date): Row['state'] =>
  OPEN.some((open) => open === state) && expiresAt <= now ? 'expired' : state;

function inState(state: string, now: Date): SQL | undefined {
  const is = sql`${agentApprovals.state} = ${state}`;
  if (state !== 'expired')
    return OPEN.some((open) => open === state) ? and(is, gt(agentApprovals.expiresAt, now)) : is;
  return or(is, and(inArray(agentApprovals.state, [...OPEN]), lte(agentApprovals.expiresAt, now)));
}

async function show(ctx: Ctx, rows: readonly Row[]): Promise<AgentApproval[]> {
  if (rows.length === 0) return [];
  const named = await ctx.db.orm
    .select({ id: agents.id, name: agents.name })
    .from(agents)
    .where(and(inTeams(agents, ctx.teams), inArray(agents.id, [...new Set(rows.map((row) => row.agentId))])));
  const names = new Map(named.map(({ id, name }) => [id, name]));
  const now = ctx.clock.now();
  return rows.map((row) => {
    const { summary, fingerprint, agentId } = row;
    const agentName = names.get(agentId) ?? agentId;
    const state = stateOf(row, now);
    return shown(AgentApprovalSchema, {
      ...row,
      agentName,
      state,
      bound: fingerprint !== null,
      request: summary,
    });
  });
}

const showOne = async (ctx: Ctx, row: Row): Promise<AgentApproval> => (await show(ctx, [row]))[0]!;
