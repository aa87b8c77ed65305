/**
 * What happens to credit is told beside the ledger too: each act has an entry of the audit, and there is an
 * event when little is left.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database } from '../../base/db/index.ts';
import { addEvent } from '../../kit/events/index.ts';
import { appendAudit, type AuditActor } from '../../kit/ledger/index.ts';
import { balanceOf } from './blocks.ts';

/** Whose word it is that a month is closed, and that credit was used or has ended. */
export const BILLING_ACTOR: AuditActor = { kind: 'system', id: 'billing', display: 'billing' };
/** The provider says by this name that something was paid. */
export const PROVIDER_ACTOR: AuditActor = { kind: 'system', id: 'stripe', display: 'Stripe' };

/** An act that the provider told of has these. */
export interface FromProvider {
  readonly at: Date;
  /** Id of the provider's event; the audit names it. */
  readonly eventId?: string | undefined;
}

export interface CreditAct {
  readonly teamId: string;
  readonly action:
    | 'credit.purchased'
    | 'credit.used'
    | 'credit.refunded'
    | 'credit.expired'
    | 'credit.disputed'
    | 'credit.returned'
    | 'statement.refunded'
    | 'statement.dispute_lost';
  /** Id of the block, or of the statement that used it. */
  readonly target: string;
  readonly details: Readonly<Record<string, string | number | undefined>>;
  readonly at: Date;
}

const BY_PROVIDER: ReadonlySet<CreditAct['action']> = new Set([
  'credit.purchased',
  'credit.refunded',
  'credit.disputed',
  'credit.returned',
  'statement.refunded',
  'statement.dispute_lost',
]);

/** Nobody calls: the provider told of it, or the clock. */
export async function record(tx: Database, { teamId, details, at, ...act }: CreditAct): Promise<void> {
  const actor = BY_PROVIDER.has(act.action) ? PROVIDER_ACTOR : BILLING_ACTOR;
  const given = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
  await appendAudit(tx, { ...act, chain: teamId, details: given, actor, requestId: '' }, at);
}

/**
 * This tells when less than a tenth is left of what there was after the newest purchase, once for each
 * purchase. Granted credit alone has no such mark.
 */
export async function tellIfLow(
  tx: Database,
  { teamId, at }: { readonly teamId: string; readonly at: Date },
): Promise<void> {
  const { sql } = tx;
  const [bought] = await sql<Array<{ id: string; balance: number; team: string }>>`
    select t.id, e.balance, coalesce((select name from teams where id = ${teamId}), ${teamId}) as team
    from credit_transfers t join credit_entries e on e.transfer_id = t.id and e.account = 'available'
    where t.team_id = ${teamId} and t.kind = 'purchase' order by e.seq desc limit 1`;
  if (bought === undefined) return;
  const balanceCents = await balanceOf(sql, teamId);
  if (balanceCents * 10 >= bought.balance) return;
  const title = `The credit of ${bought.team} is low`;
  const body = `Less than a tenth is left of what there was after the last purchase; svc costs credits balance --team ${teamId} shows it.`;
  const payload = { title, body, balanceCents, ofCents: bought.balance };
  await addEvent(tx, { teamId, kind: 'credit.low', key: bought.id, payload, at });
}
