/**
 * These are the contexts that the pipeline would hand to an implementation, for tests that call one directly.
 */
import { create, type DescMessage, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { createHash } from 'node:crypto';
import { createCursors } from '../../../server/kit/cursor.ts';
import { systemClock } from '../../../server/base/clock.ts';
import {
  NAMELESS,
  type Caller,
  type Ctx,
  type IdempotencyClaim,
  type TeamScope,
} from '../../../server/kit/context.ts';
import type { Database } from '../../../server/base/db/index.ts';
import { notFound } from '../../../server/kit/not-found.ts';

export interface TestCall {
  readonly db: Database;
  readonly userId: string;
  readonly teamIds: readonly string[];
  readonly idempotency?: Omit<IdempotencyClaim, 'rpc'>;
  readonly signal?: AbortSignal;
  readonly responseHeaders?: Map<string, string>;
  /** Caller's fields that differ from a session. */
  readonly caller?: Partial<Caller>;
}

export function testCtx(
  rpcId: string,
  { db, userId, teamIds, idempotency, signal, responseHeaders, caller }: TestCall,
): Ctx {
  const rpc = rpcs.find((each) => each.id === rpcId);
  if (rpc === undefined) throw new Error(`no RPC ${rpcId}`);
  const call = {
    rpc,
    requestId: 'req_test',
    protocol: 'rest',
    signal: signal ?? new AbortController().signal,
    remoteAddress: '127.0.0.1',
    header: () => undefined,
    responseHeaders: responseHeaders ?? new Map<string, string>(),
  } as unknown as CallContext; // Implementations never look at the raw request.
  return {
    call,
    caller: {
      kind: 'session',
      userId,
      credentialId: 'ses_test',
      names: NAMELESS,
      staff: false,
      scopes: new Set(),
      memberships: new Map(),
      ...caller,
    },
    teams: {
      teamIds,
      require: (teamId) => {
        if (!teamIds.includes(teamId)) throw notFound('team');
      },
      role: () => 'owner',
    } as Omit<TeamScope, symbol> as TeamScope,
    db,
    clock: systemClock,
    cursors: createCursors({
      mac: (purpose, text) => createHash('sha256').update(`${purpose} ${text}`).digest(),
    }),
    ...(idempotency === undefined ? {} : { idempotency: { ...idempotency, rpc: rpc.id } }),
  };
}

/** Calls one unary method of a service as the pipeline does. */
export async function callUnary<I extends DescMessage, O extends DescMessage>(
  handlers: Handlers<Ctx>,
  method: { readonly name: string; readonly input: I; readonly output: O },
  { request, options }: { readonly request: MessageInitShape<I>; readonly options: TestCall },
): Promise<MessageShape<O>> {
  const id = `${handlers.service.typeName}/${method.name}`;
  const handler = handlers.methods.get(id);
  if (handler === undefined) throw new Error(`${id} has no handler`);
  return (await handler(create(method.input, request), testCtx(id, options))) as MessageShape<O>;
}
