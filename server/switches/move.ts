/**
 * One move of one switch, inside of the transaction that holds the lock: state, history, audit, revision and
 * the word to others.
 */
import type { FeatureDefinition, SwitchState } from '@svc/proto/features/definition.ts';
import { appendAudit, PLATFORM_CHAIN, type AuditActor } from '../kit/ledger/index.ts';
import type { Database } from '../base/db/index.ts';
import { newId } from '../base/ids.ts';
import type { ActorKind, Affected, Change, ChangeSource } from './change.ts';
import type { Effective, Rules } from './effective.ts';
import { affectedBy, resolveFeatures } from './resolve.ts';
import { writeChange, type StoredStates } from './store.ts';

export interface Move {
  readonly definition: FeatureDefinition;
  readonly to: SwitchState;
  readonly reason: string;
  /** As the audit ledger names them; a `system` is a variable of the environment here. */
  readonly actor: AuditActor;
  /** As the history shows them to staff. */
  readonly display: string;
  readonly source: ChangeSource;
  readonly requestId: string;
  readonly at: Date;
}

const KINDS: Readonly<Record<AuditActor['kind'], ActorKind>> = {
  user: 'user',
  api_key: 'api_key',
  system: 'environment',
  runner: 'environment', // never: machines do not reach these routes
  ci_job: 'environment', // nor do the jobs of CI systems
  agent: 'environment', // nor do agents
};

/**
 * This computes what all features would be if this switch stood there. Its revision and its last change are
 * still the present ones.
 */
export function foresee(
  rules: Rules,
  before: Effective,
  { definition: { key }, to }: Pick<Move, 'definition' | 'to'>,
): { readonly after: Effective; readonly affected: readonly Affected[] } {
  const states = new Map(before.states).set(key, to);
  const after = { stored: before.stored, states, snapshot: resolveFeatures(rules.manifest, states) };
  return { after, affected: affectedBy(before.snapshot, after.snapshot) };
}

/** Call it with the states read under the lock, and only when the switch is not there already. */
export async function writeMove(
  db: Database,
  { rules, before }: { readonly rules: Rules; readonly before: Effective },
  move: Move,
): Promise<StoredStates> {
  const { definition, to, at, actor, display, reason, source, requestId } = move;
  const { key } = definition;
  const { affected } = foresee(rules, before, move);
  const revisionFrom = before.stored.switches.get(key)?.revision ?? 0;
  const change: Change = {
    id: newId('fch', at.getTime()),
    at,
    key,
    from: to === 'enabled' ? 'disabled' : 'enabled',
    to,
    revisionFrom,
    revisionTo: revisionFrom + 1,
    reason,
    actor: { kind: KINDS[actor.kind], id: actor.id, display },
    source,
    requestId,
    affected,
  };
  const states = await writeChange(db.sql, before.stored, change);
  await appendAudit(
    db,
    {
      chain: PLATFORM_CHAIN,
      actor,
      action: 'platform_feature.set_state',
      target: key,
      details: {
        changeId: change.id,
        from: change.from,
        to,
        revision: change.revisionTo,
        reason,
        source,
        affected: affected.map((one) => one.key),
      },
      requestId,
    },
    at,
  );
  return states;
}
