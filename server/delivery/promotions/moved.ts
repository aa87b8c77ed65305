/**
 * A move of a promotion leaves behind its event and its entry in the ledger, both in the transaction of the
 * move.
 */
import { systemScope } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { addEvent } from '../../kit/events/index.ts';
import { appendAudit, auditActor, type AuditActor } from '../../kit/ledger/index.ts';
import type { Who } from '../../kit/resource/index.ts';
import type { Count } from './approvals.ts';
import type { Promotion } from './store.ts';

/** A mover moves promotions, within a transaction. */
export interface Mover extends Who {
  readonly actor: AuditActor;
  readonly requestId: string;
  readonly at: Date;
}

export const callerOf = (tx: Ctx): Mover => ({
  db: tx.db,
  teams: tx.teams,
  actor: auditActor(tx),
  requestId: tx.call.requestId,
  at: tx.clock.now(),
});

export const serviceOf = (db: Database, teamId: string, at: Date): Mover => ({
  db,
  teams: systemScope(teamId),
  actor: { kind: 'system', id: 'promotions', display: 'promotions' },
  requestId: '',
  at,
});

export interface Moved {
  readonly promotion: Promotion;
  readonly word: 'created' | 'approved' | 'rejected' | 'deployed' | 'failed';
}

/** The entries come last, because they make others of the team wait. */
export async function noteMoves({ db, actor, requestId, at }: Mover, moves: readonly Moved[]): Promise<void> {
  for (const { promotion, word } of moves) {
    const { id: key, teamId, environmentName, url } = promotion;
    const payload = { promotionId: key, environmentName, ...detailsOf(promotion), ...given({ url }) };
    await addEvent(db, { teamId, kind: `promotion.${word}`, key, payload, at });
  }
  for (const { promotion, word } of moves) {
    const { id: target, teamId: chain } = promotion;
    const details = detailsOf(promotion);
    await appendAudit(db, { chain, actor, action: `promotion.${word}`, target, details, requestId }, at);
  }
}

/** Approvals that have ceased to count. Last as well. */
export async function noteVoid(
  { db, actor, requestId, at }: Mover,
  { promotion, subject, voided }: Count,
): Promise<void> {
  if (voided.length === 0) return;
  const { id: target, teamId: chain, environmentId } = promotion;
  const approvals = voided.map(({ userId, fingerprint, voidReason: reason }) => ({
    userId,
    ...given({ fingerprint, reason }),
  }));
  const details = { environmentId, fingerprint: subject.fingerprint, approvals };
  await appendAudit(db, { chain, actor, action: 'promotion.approvals_void', target, details, requestId }, at);
}

function detailsOf({ environmentId, releaseId, version, ...more }: Promotion) {
  const { rejection, reason, overrideReason, buildId, digest, fingerprint } = more;
  const maybe = given({ rejection, reason, overrideReason, buildId, digest, fingerprint });
  return { environmentId, releaseId, version, ...maybe };
}

const given = (values: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null));
