/** The hash-chained ledger of what people and programs changed. */
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { AdminAuditService, AuditService } from '@svc/proto/gen/svc/audit/v1/audit_pb.ts';
import type { Ctx } from '../platform/context.ts';
import type { Database } from '../platform/db/index.ts';

/** Chain of acts that belong to no team. */
export const PLATFORM_CHAIN = 'platform';

export interface AuditActor {
  readonly kind: 'user' | 'api_key' | 'runner' | 'system';
  readonly id: string;
  readonly display: string;
}

export interface AuditAct {
  /** A team id, or PLATFORM_CHAIN. */
  readonly chain: string;
  readonly actor: AuditActor;
  /** `<thing>.<past participle>`: `runner.revoked`. */
  readonly action: string;
  /** Id or key of what was acted upon. */
  readonly target: string;
  /** JSON values: texts, integers, booleans, and lists and objects of them. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Empty when no request made it. */
  readonly requestId: string;
}

/** Writes the entry in the transaction of the act: `db` must be the handle of that transaction. */
export async function appendAudit(_db: Database, _act: AuditAct, _at: Date): Promise<void> {
  // Built next.
}

/** Who calls, as the ledger names them. */
export async function auditActor(ctx: Ctx): Promise<AuditActor> {
  const { kind, credentialId, userId } = ctx.caller;
  return {
    kind: kind === 'api_key' ? 'api_key' : 'user',
    id: kind === 'api_key' ? credentialId : userId,
    display: '',
  };
}

export function createAudit(): ReadonlyArray<Handlers<Ctx>> {
  const missing = (): never => {
    throw apiError('unavailable', 'not built yet');
  };
  return [
    implement(AuditService, { list: missing, verify: missing, export: missing }),
    implement(AdminAuditService, { list: missing, verify: missing, export: missing }),
  ];
}
