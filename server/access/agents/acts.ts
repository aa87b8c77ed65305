/** Acts on agents, each one transaction with its entry in the ledger, under the lock of the agent's row. */
import { and, eq } from 'drizzle-orm';
import {
  CreateRequestSchema,
  UpdateRequestSchema,
  type CreateRequest,
  type IssueKeyRequest,
  type RevokeKeyRequest,
  type UpdateRequest,
} from '@svc/proto/gen/svc/agents/v1/agents_pb.ts';
import { digestSecret, newKey, parentOf, pepperOf } from '../apikeys/index.ts';
import type { Database } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Ctx } from '../../kit/context.ts';
import type { CredentialChanges } from '../../kit/credential-changes.ts';
import { assertHoldsAll } from '../../kit/grants.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, refuseMore, unlessTaken } from '../../kit/resource/index.ts';
import { refuseBeyond } from './kinds.ts';
import {
  agentRows,
  isLiveKey,
  keyRows,
  refuseDisabled,
  requireSponsor,
  revokeAgentKeys,
  revokeApprovals,
  type Agent,
  type AgentKey,
} from './rows.ts';
import { agentApprovals, agentKeys } from './schema.ts';

const AGENTS_MAX = 100;
const LIVE_KEYS_MAX = 10;
const HOUR_MS = 3_600_000;

/** The engine fills it. */
export interface AgentWork {
  /**
   * Queued work of the agent is cancelled, and running work is told to stop. Returns how many items that
   * were. In the transaction that switches it off.
   */
  stop(db: Database, agent: { readonly teamId: string; readonly id: string }): Promise<number>;
}

export interface AgentsDeps {
  readonly secrets: Pick<Secrets, 'mac'>;
  readonly changes: CredentialChanges;
  readonly work: () => AgentWork;
}

/** Throws unless the caller may give the permissions: a key gives an agent no more than it holds itself. */
function mayGive({ caller }: Ctx, permissions: readonly string[]): void {
  if (caller.kind !== 'session') assertHoldsAll(caller, permissions, 'give an agent these permissions');
}

const taken = (value: string) => ({ index: 'agents_name', resource: agentRows.kind, field: 'name', value });

export async function createAgent(ctx: Ctx, request: CreateRequest): Promise<Agent> {
  const { teamId, name } = request;
  const set = agentRows.changes(CreateRequestSchema, request) as Pick<Agent, 'kind' | 'permissions'>;
  const { kind, permissions } = set;
  refuseBeyond(kind, permissions);
  mayGive(ctx, permissions);
  const { userId } = ctx.caller;
  const row = { ...set, teamId, name, sponsorUserId: userId, createdBy: userId };
  const details = () => ({ name, kind, permissions });
  const made = change(ctx, { action: 'agent.created', details }, async (tx) => {
    await agentRows.atMost(tx, { teamId, max: AGENTS_MAX });
    return await agentRows.insert(tx, row);
  });
  return await unlessTaken(made, taken(name));
}

export async function updateAgent({ changes }: AgentsDeps, ctx: Ctx, request: UpdateRequest): Promise<Agent> {
  const { agentId: id, name = '' } = request;
  const set = agentRows.changes(UpdateRequestSchema, request) as Partial<Agent>;
  const details = () => ({ ...set });
  const made = change(ctx, { action: 'agent.updated', details }, async (tx) => {
    const before = await agentRows.lock(tx, id);
    const after = { ...before, ...set };
    refuseBeyond(after.kind, after.permissions);
    if (set.permissions !== undefined) mayGive(ctx, after.permissions);
    if (set.sponsorUserId !== undefined) await requireSponsor(tx, after);
    await changes.announce(tx.db, { userId: id });
    return await agentRows.update(tx, id, { set });
  });
  return (await unlessTaken(made, taken(name))) ?? (await agentRows.find(ctx, id));
}

/** Ends what the agent can do and does. Returns what the entry says of it. */
async function stopAgent({ changes, work }: AgentsDeps, tx: Ctx, { id, teamId }: Agent) {
  const keysRevoked = await revokeAgentKeys(tx, eq(agentKeys.agentId, id));
  const approvalsRevoked = await revokeApprovals(tx, eq(agentApprovals.agentId, id));
  const workStopped = await work().stop(tx.db, { id, teamId });
  await changes.announce(tx.db, { userId: id });
  return { keysRevoked, approvalsRevoked, workStopped };
}

export async function setEnabled(
  deps: AgentsDeps,
  ctx: Ctx,
  { agentId: id, enabled }: { readonly agentId: string; readonly enabled: boolean },
): Promise<Agent> {
  let ended = {};
  const act = {
    action: enabled ? 'agent.enabled' : 'agent.disabled',
    details: ({ name }: Agent) => ({ name, ...ended }),
  };
  const changed = await change<Agent | undefined>(ctx, act, async (tx) => {
    const before = await agentRows.lock(tx, id);
    if (before.enabled === enabled) return undefined;
    const row = await agentRows.update(tx, id, { set: { enabled } });
    if (!enabled) ended = await stopAgent(deps, tx, before);
    return row;
  });
  return changed ?? (await agentRows.find(ctx, id));
}

export async function deleteAgent(deps: AgentsDeps, ctx: Ctx, id: string): Promise<void> {
  let ended = {};
  const details = ({ name }: Agent) => ({ name, ...ended });
  await change<Agent | undefined>(ctx, { action: 'agent.deleted', details }, async (tx) => {
    ended = await stopAgent(deps, tx, await agentRows.lock(tx, id));
    return await agentRows.remove(tx, id);
  });
}

export async function issueKey(
  { secrets }: AgentsDeps,
  ctx: Ctx,
  { agentId, expiresInMs = HOUR_MS }: IssueKeyRequest,
): Promise<AgentKey & { readonly secret: string }> {
  const { kid, secret, text } = newKey('agent');
  const digest = digestSecret(pepperOf(secrets), secret);
  const details = ({ id: keyId, expiresAt }: AgentKey) => ({ keyId, expiresAt: expiresAt.toISOString() });
  const act = { action: 'agent_key.issued', details };
  const key = await change(ctx, act, async (tx) => {
    const agent = await agentRows.lock(tx, agentId);
    refuseDisabled(agent);
    mayGive(ctx, agent.permissions);
    await requireSponsor(tx, agent);
    const now = ctx.clock.now();
    const current = await tx.db.orm.$count(agentKeys, and(eq(agentKeys.agentId, agentId), isLiveKey(now)));
    refuseMore(agentKeys, { teamId: agent.teamId, of: 'agent', max: LIVE_KEYS_MAX, current });
    const parent = await parentOf(tx);
    const endMs = Math.min(now.getTime() + expiresInMs, parent?.endMs ?? Infinity);
    return await keyRows.insert(tx, {
      teamId: agent.teamId,
      agentId,
      kid,
      digest,
      issuedBy: ctx.caller.userId,
      createdAt: now,
      issuedWith: parent?.id,
      expiresAt: new Date(endMs),
    });
  });
  return { ...key, secret: text };
}

export async function revokeKey(
  { changes }: AgentsDeps,
  ctx: Ctx,
  { agentId, keyId }: Pick<RevokeKeyRequest, 'agentId' | 'keyId'>,
): Promise<void> {
  const ofAgent = eq(agentKeys.agentId, agentId);
  const details = () => ({ agentId });
  await change<AgentKey | undefined>(ctx, { action: 'agent_key.revoked', details }, async (tx) => {
    await agentRows.find(tx, agentId);
    const key = await keyRows.lock(tx, keyId);
    if (key.agentId !== agentId) throw notFound(keyRows.kind);
    await changes.announce(tx.db, { credentialId: keyId });
    const set = { revokedAt: ctx.clock.now() };
    return await keyRows.update(tx, keyId, { set, where: and(ofAgent, isLiveKey(set.revokedAt)) });
  });
}
