/** Entries, checkpoints and findings as the contract shows them. */
import type { JsonObject } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AuditActorKind, AuditFinding } from '@svc/proto/gen/svc/audit/v1/audit_pb.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { AuditActor, AuditRow } from '../../platform/ledger/entry.ts';
import type { Finding, Report } from './verify.ts';

const KINDS: Readonly<Record<AuditActor['kind'], AuditActorKind>> = {
  user: AuditActorKind.USER,
  api_key: AuditActorKind.API_KEY,
  runner: AuditActorKind.RUNNER,
  ci_job: AuditActorKind.CI_JOB,
  system: AuditActorKind.SYSTEM,
};

const FINDINGS: Readonly<Record<Finding, AuditFinding>> = {
  intact: AuditFinding.INTACT,
  entry_changed: AuditFinding.ENTRY_CHANGED,
  entry_missing: AuditFinding.ENTRY_MISSING,
  order_broken: AuditFinding.ORDER_BROKEN,
  entry_duplicated: AuditFinding.ENTRY_DUPLICATED,
  tail_missing: AuditFinding.TAIL_MISSING,
  rewritten: AuditFinding.REWRITTEN,
  checkpoint_invalid: AuditFinding.CHECKPOINT_INVALID,
};

export function presentEntry({ at, actor, details, ...rest }: AuditRow) {
  return {
    ...rest,
    at: timestampFromMs(at),
    actor: { kind: KINDS[actor.kind], id: actor.id, display: actor.display },
    details: details as JsonObject,
  };
}

export function presentCheckpoint({ at, ...rest }: Checkpoint) {
  return { ...rest, at: timestampFromMs(at) };
}

export function presentReport({ finding, seq, ...rest }: Report) {
  return { ...rest, finding: FINDINGS[finding], ...(seq === undefined ? {} : { seq }) };
}
