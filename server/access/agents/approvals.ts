/**
 * An agent does some acts with the approval of a person alone. A call without one is tried and undone, so
 * that nobody is asked about what could not be done, and leaves a request that is bound to its fingerprint.
 * The same call finds the same request. A person grants it with a token, which the call shows. It is used in
 * the transaction of the effect: both are there, or neither.
 *
 * requested ──granted──> granted ──the call──> used; what is open is denied, or revoked with its agent, or
 * expires.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import {
  getOption,
  toJson,
  type DescField,
  type DescMessage,
  type JsonValue,
  type Message,
} from '@bufbuild/protobuf';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Handler } from '@svc/proto/http/implement.ts';
import type { Approval, RpcInfo } from '@svc/proto/http/rpc.ts';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import { field as fieldOption } from '@svc/proto/gen/svc/options/v1/options_pb.ts';
import { hashToken } from '../accounts/index.ts';
import { newId } from '../../base/ids.ts';
import type { Ctx } from '../../kit/context.ts';
import { addEvent } from '../../kit/events/index.ts';
import { fingerprint } from '../../kit/idempotency.ts';
import { recordAct } from '../../kit/ledger/index.ts';
import { refuseMore } from '../../kit/resource/index.ts';
import { roleAtLeast, roleGrants, ROLES } from '../../kit/scopes.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { refuseDisabled } from './rows.ts';
import { agentApprovals } from './schema.ts';

/** Header of a call with the token of its approval. */
const HEADER = 'svc-approval';
const DAY_MS = 86_400_000;
/** Open requests of one agent. */
const OPEN_MAX = 50;
/** A person has to read it. */
const SUMMARY_BYTES_MAX = 16_384;

/** RPCs that agents call with an approval, by the action that is approved. */
export const ACTIONS: ReadonlyMap<string, RpcInfo> = new Map(
  rpcs.flatMap((rpc) => (rpc.approval === undefined ? [] : [[rpc.approval.action, rpc] as const])),
);

/** Roles that may approve the action: those that may do it, and manage agents. */
export const approvingRoles = ({ scope, role: least = 'viewer' }: RpcInfo): readonly string[] =>
  ROLES.filter(
    (role) =>
      roleAtLeast(role, least) &&
      roleGrants(role, 'agent:manage') &&
      (scope === undefined || roleGrants(role, scope)),
  );

/** The call could be made, and needs an approval. It never leaves this module. */
class ApprovalWanted extends Error {}

export const wantsApproval = ({ call, caller }: Pick<Ctx, 'call' | 'caller'>): boolean =>
  caller.kind === 'agent' && call.rpc.approval !== undefined;

/** Does the call within the transaction `tx`, and uses its approval there. */
export async function doApproved(tx: Ctx, run: Handler<Ctx>, request: Message): Promise<Message> {
  const token = tx.call.header(HEADER);
  if (token === undefined) {
    await run(request, tx);
    throw new ApprovalWanted('the call needs an approval');
  }
  const asked = askedOf(tx, request);
  const approval = await useApproval(tx, asked, token);
  const ctx = { ...tx, caller: { ...tx.caller, approval } };
  const response = await (run(request, ctx) as Promise<Message>);
  const { action, resourceId } = asked;
  const details = { action, resourceId, fingerprint: Buffer.from(asked.fingerprint).toString('hex') };
  const act = { chain: asked.teamId, action: 'agent_approval.used', target: approval.id, details };
  await recordAct(tx.db, ctx, act);
  return response;
}

/** Tells the caller what `doApproved` threw: a request is left where an approval is wanted. */
export async function askInstead(ctx: Ctx, request: Message, error: unknown): Promise<never> {
  if (!(error instanceof ApprovalWanted)) throw error;
  const asked = askedOf(ctx, request);
  const { action, resourceId } = asked;
  const id = await leaveRequest(ctx, asked, summaryOf(ctx.call.rpc, request));
  throw apiError(
    'approval_required',
    `an agent does ${action} on ${resourceId} with the approval of a person alone: when ${id} is approved, send the same call again with its token in Svc-Approval`,
    { details: { approvalId: id, action, resourceId } },
  );
}

interface ApprovedAct {
  readonly teamId: string;
  readonly agentId: string;
  readonly agentName: string;
  readonly action: string;
  readonly resourceId: string;
  readonly fingerprint: Uint8Array;
}

function askedOf({ call: { rpc }, caller }: Ctx, request: Message): ApprovedAct {
  const { action, resource } = rpc.approval as Approval;
  return {
    teamId: caller.onlyTeamId ?? '',
    agentId: caller.userId,
    agentName: caller.names.username,
    action,
    resourceId: String((request as Message & Readonly<Record<string, unknown>>)[resource]),
    fingerprint: fingerprint(rpc, request),
  };
}

/** Under the lock of the agent's row, as everything that changes what it may do. */
async function lockAgent(
  { db: { sql } }: Ctx,
  { teamId, agentId, agentName: name }: ApprovedAct,
): Promise<void> {
  const [agent] = await sql<Array<{ enabled: boolean }>>`
    select enabled from agents where id = ${agentId} and team_id = ${teamId} for no key update`;
  refuseDisabled({ name, enabled: agent?.enabled ?? false });
}

async function useApproval(tx: Ctx, asked: ApprovedAct, token: string): Promise<{ id: string; by: string }> {
  await lockAgent(tx, asked);
  const { teamId, agentId, action, resourceId } = asked;
  const { db, call, clock } = tx;
  const now = clock.now();
  const [used] = await db.sql<Array<{ id: string; by: string }>>`
    update agent_approvals a set state = 'used', used_at = ${now}, used_request_id = ${call.requestId}
    where a.token_digest = ${hashToken(token)} and a.state = 'granted' and a.expires_at > ${now}
      and a.team_id = ${teamId} and a.agent_id = ${agentId} and a.action = ${action} and a.resource_id = ${resourceId}
      and (a.fingerprint is null or a.fingerprint = ${asked.fingerprint})
      and exists (select from team_members m where m.team_id = a.team_id and m.user_id = a.decided_by
        and m.role = any(${[...approvingRoles(call.rpc)]}::text[]))
    returning a.id, a.decided_by as by`;
  if (used !== undefined) return used;
  throw apiError(
    'approval_invalid',
    `the token in Svc-Approval approves no such call: it was used, denied or revoked, has expired, is of another agent, of another action than ${action}, of another resource than ${resourceId} or of another request, or whoever granted it may not do that any more`,
    { details: { action, resourceId } },
  );
}

/** Leaves a request, or finds the open one of the same call. People are told of each once. */
async function leaveRequest(ctx: Ctx, asked: ApprovedAct, summary: JsonValue): Promise<string> {
  const { teamId, agentId, agentName, action, resourceId } = asked;
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    await lockAgent(tx, asked);
    const now = ctx.clock.now();
    const [known] = await db.sql<Array<{ id: string }>>`
      select id from agent_approvals where agent_id = ${agentId} and fingerprint = ${asked.fingerprint}
        and state in ('requested', 'granted') and expires_at > ${now}`;
    if (known !== undefined) return known.id;
    const [{ open } = { open: 0 }] = await db.sql<Array<{ open: number }>>`
      select count(*)::int as open from agent_approvals
      where agent_id = ${agentId} and state = 'requested' and expires_at > ${now}`;
    refuseMore(agentApprovals, {
      teamId,
      of: 'agent',
      max: OPEN_MAX,
      current: open,
      hint: 'have some approved or denied',
    });
    const id = newId('apr', now.getTime());
    await db.sql`
      insert into agent_approvals (id, team_id, agent_id, action, resource_id, fingerprint, summary, state, expires_at, created_at)
      values (${id}, ${teamId}, ${agentId}, ${action}, ${resourceId}, ${asked.fingerprint}, ${db.sql.json(summary as object)}, 'requested',
        ${new Date(now.getTime() + DAY_MS)}, ${now})`;
    const payload = {
      approvalId: id,
      agentId,
      title: `The agent ${agentName} asks for ${action} on ${resourceId}`,
      body: `svc agents approvals approve ${id} --team ${teamId}`,
    };
    await addEvent(db, { teamId, kind: 'agent.approval_requested', key: id, payload, at: now });
    const act = { action: 'agent_approval.requested', target: id, details: { action, resourceId } };
    await recordAct(db, ctx, { ...act, chain: teamId });
    return id;
  });
}

/** The request as people read it, without its secrets. */
function summaryOf({ desc }: RpcInfo, request: Message): JsonValue {
  const summary = withoutSecrets(desc.input, toJson(desc.input, request));
  const bytes = Buffer.byteLength(JSON.stringify(summary));
  if (bytes <= SUMMARY_BYTES_MAX) return summary;
  throw wrongField(
    `the request has ${bytes} bytes, at most ${SUMMARY_BYTES_MAX} can be shown to whoever approves it; make it smaller`,
    { field: '', rule: 'max_bytes' },
  );
}

function withoutSecrets(desc: DescMessage, json: JsonValue): JsonValue {
  if (json === null || typeof json !== 'object' || Array.isArray(json)) return json;
  const shownFields = desc.fields.flatMap((one): Array<[string, JsonValue]> => {
    const value = json[one.jsonName];
    if (value === undefined) return [];
    return [[one.jsonName, getOption(one, fieldOption).sensitive ? '[secret]' : shownValue(one, value)]];
  });
  return Object.fromEntries(shownFields);
}

function shownValue(field: DescField, value: JsonValue): JsonValue {
  const { message } = field;
  if (message === undefined || message.typeName.startsWith('google.protobuf.')) return value;
  if (field.fieldKind === 'list' && Array.isArray(value))
    return value.map((item) => withoutSecrets(message, item));
  if (field.fieldKind !== 'map') return withoutSecrets(message, value);
  return Object.fromEntries(
    Object.entries(value as Record<string, JsonValue>).map(([key, item]) => [
      key,
      withoutSecrets(message, item),
    ]),
  );
}
