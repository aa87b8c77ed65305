/**
 * Writes an entry in the transaction of the act, so that there is never one without the other. The chain's
 * head row is locked until that transaction ends: append last, so that others wait for as little as possible,
 * and a team's chain before `platform`, so that two transactions that write both cannot wait for each other.
 */
import type { Ctx } from '../context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import {
  entryHash,
  NO_HASH,
  storableDetails,
  storableText,
  type AuditActor,
  type AuditContent,
} from './entry.ts';

/** Chain of acts that belong to no team. */
export const PLATFORM_CHAIN = 'platform';

export interface AuditAct {
  /** A team id, or PLATFORM_CHAIN. */
  readonly chain: string;
  readonly actor: AuditActor;
  /** `<thing>.<past participle>`: `runner.revoked`. */
  readonly action: string;
  /** Id or key of what was acted upon. */
  readonly target: string;
  /** JSON values: texts, integers, booleans, null, and lists and objects of them. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Empty when no request made it. */
  readonly requestId: string;
}

interface Head {
  readonly seq: number;
  readonly hash: string;
}

/** `db` must be the handle of the act's transaction. Returns the entry's place in the chain. */
export async function appendAudit(db: Database, act: AuditAct, at: Date): Promise<number> {
  if (!db.inTransaction) throw new Error(`audit entry ${act.action} needs the transaction of its act`);
  const { sql } = db;
  const { chain } = act;
  const content = contentOf(act, at);
  const head = await lockHead(sql, chain);
  const seq = head.seq + 1;
  const hash = entryHash({ chain, seq, previousHash: head.hash }, content);
  const { actor, action, target, details, requestId } = content;
  const { count } = await sql`
    with head as (
      update audit_heads set seq = ${seq}, hash = ${hash} where chain = ${chain} and seq = ${head.seq} returning chain
    )
    insert into audit_entries
      (chain, seq, at, actor_kind, actor_id, actor_display, action, target, details, request_id, previous_hash, hash)
    select chain, ${seq}::int, ${content.at}::bigint, ${actor.kind}, ${actor.id}, ${actor.display}, ${action}, ${target},
      ${sql.json(details)}::jsonb, ${requestId}, ${head.hash}, ${hash} from head`;
  if (count !== 1) throw new Error(`audit entry ${seq} of ${chain} found another head than it had locked`);
  return seq;
}

function contentOf(act: AuditAct, at: Date): AuditContent {
  const { actor, action, target, details = {}, requestId } = act;
  return {
    action: storableText(action),
    actor: {
      kind: actor.kind,
      id: storableText(actor.id),
      display: storableText(actor.display),
    },
    at: at.getTime(),
    details: storableDetails(details),
    requestId: storableText(requestId),
    target: storableText(target),
  };
}

async function lockHead(sql: SqlTag, chain: string): Promise<Head> {
  const locked = async (): Promise<Head | undefined> =>
    (await sql<Head[]>`select seq, hash from audit_heads where chain = ${chain} for update`)[0];
  const known = await locked();
  if (known !== undefined) return known;
  // One of two first entries makes the row; the other one waits here until that one's transaction has ended.
  await sql`insert into audit_heads (chain, seq, hash) values (${chain}, 0, ${NO_HASH}) on conflict do nothing`;
  const made = await locked();
  if (made === undefined) throw new Error(`the head of the audit chain ${chain} cannot be made`);
  return made;
}

/** The call that acts. */
export type ActCtx = Pick<Ctx, 'call' | 'caller' | 'clock'>;

/** Returns who calls, as the ledger names them. A key is shown with its own name and its account's. */
export function auditActor({ caller }: Pick<Ctx, 'caller'>): AuditActor {
  const { kind, credentialId, userId, ciJob, names } = caller;
  if (ciJob !== undefined) return { kind: 'ci_job', id: credentialId, display: ciJob.repositoryPath };
  if (kind === 'agent') return { kind, id: userId, display: names.username };
  if (kind !== 'api_key') return { kind: 'user', id: userId, display: names.username };
  return { kind: 'api_key', id: credentialId, display: `${names.username} (${names.key ?? 'key'})` };
}

/**
 * This records an act of the caller of `ctx`, at this moment. `db` must be the handle of the act's
 * transaction.
 */
export async function recordAct(
  db: Database,
  ctx: ActCtx,
  act: Pick<AuditAct, 'chain' | 'action' | 'target' | 'details'>,
): Promise<number> {
  const actor = auditActor(ctx);
  const { kind, credentialId, approval } = ctx.caller;
  const approved = approval && { approvalId: approval.id, approvedBy: approval.by };
  const details = kind === 'agent' ? { ...act.details, keyId: credentialId, ...approved } : act.details;
  const entry = { ...act, ...(details && { details }), actor, requestId: ctx.call.requestId };
  return await appendAudit(db, entry, ctx.clock.now());
}
