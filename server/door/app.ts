/**
 * This file is the pipeline of the server's public RPCs: feature gate, authentication and rate limit
 * (admission.ts), scope and role, then idempotency, then the implementation. The door does the protocol
 * around it: parsing, validation, deadline, error bodies.
 */
import type { Message } from '@bufbuild/protobuf';
import type { App, CallContext, RpcGate } from '@svc/proto/http/call.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { joinMethods, type Handler, type Handlers } from '@svc/proto/http/implement.ts';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import { rpcs as everyRpc } from '@svc/proto/gen/rpcs.ts';
import { createAdmission } from './admission.ts';
import { askInstead, doApproved, wantsApproval } from '../access/agents/index.ts';
import type { Authenticator } from '../access/auth/index.ts';
import { createBodyBudget } from './body-budget.ts';
import { bindCiJob, isCiJob, type CiJobCaller } from '../connect/identity/index.ts';
import type { Limits } from '../base/settings.ts';
import { authorise, authorisePath } from '../kit/authorise.ts';
import type { Clock } from '../base/clock.ts';
import type { Caller, Ctx } from '../kit/context.ts';
import type { Cursors } from '../kit/cursor.ts';
import type { CredentialChanges } from '../kit/credential-changes.ts';
import { mapDatabaseError, type Database } from '../base/db/index.ts';
import type { FeatureGate } from '../kit/feature-gate.ts';
import { claimFor, idempotencyKey, runKeyed } from '../kit/idempotency.ts';
import { STAFF_SCOPE } from '../kit/scopes.ts';
import { openStream } from './open-stream.ts';
import { createStreamGuard } from './stream-guard.ts';
import { createStreamSlots } from './stream-slots.ts';

export interface AppDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly authenticator: Authenticator;
  readonly changes: CredentialChanges;
  readonly gate: FeatureGate;
  readonly limits: Limits;
  /** Handlers of services and of parts of them; together they must implement every public RPC, each once. */
  readonly handlers: ReadonlyArray<Handlers<Ctx>>;
  /** Default: the public RPCs of the contract. */
  readonly rpcs?: readonly RpcInfo[];
}

interface Calling {
  readonly call: CallContext;
  readonly caller: Caller;
  readonly db?: Database;
}

export function createApp(deps: AppDeps): App<Caller> {
  const rpcs = deps.rpcs ?? everyRpc.filter((rpc) => rpc.audience === 'public');
  const methods = collectMethods(rpcs, deps.handlers);
  const { admit, countIdToken } = createAdmission(deps);
  const watch = createStreamGuard(deps);
  const takeSlots = createStreamSlots(deps.limits.streams);

  const contextOf = ({ call, caller, db = deps.db }: Calling, request: Message): Ctx => ({
    call,
    caller,
    teams: authorise(call.rpc, caller, request),
    db,
    clock: deps.clock,
    cursors: deps.cursors,
  });
  /**
   * What a job may do shows with the request, and its id_token is used up by it: one transaction with the
   * call's own effect.
   */
  const invokeForJob = async (call: CallContext, caller: CiJobCaller, request: Message): Promise<Message> => {
    const { clock } = deps;
    const work = async (db: Database): Promise<Message> => {
      const bound = await bindCiJob(db, { call, caller, clock }, request);
      return await (method(methods, call.rpc)(
        request,
        contextOf({ call, caller: bound, db }, request),
      ) as Promise<Message>);
    };
    const key = keyOf(call, caller);
    if (key === undefined) return await deps.db.transact(work);
    return await runKeyed(
      { call, db: deps.db, clock, claim: claimFor({ rpc: call.rpc, caller, key, request }) },
      work,
    );
  };

  return {
    rpcs,
    gate: (rpc) => gateOf(rpc, deps.gate),
    admit: (call) => mapped(() => admit(call)),
    admitTeam: (call, caller, teamId) => {
      if (!isCiJob(caller)) authorisePath(call.rpc, caller, teamId);
    },
    admitBytes: createBodyBudget(deps.clock, deps.limits),
    invoke: async (call, caller, request) => {
      try {
        if (call.rpc.inertWhenOff) tellOff(call, caller, deps.gate);
        if (isCiJob(caller)) return await invokeForJob(call, caller, request);
        const ctx = contextOf({ call, caller }, request);
        const run = method(methods, call.rpc);
        if (wantsApproval(ctx)) return await invokeApproved(deps, ctx, { run, request });
        // Most calls are reads, and one asynchronous step less is felt in the smallest of them.
        const key = keyOf(call, caller);
        if (key === undefined) return await (run(request, ctx) as Promise<Message>);
        return await invokeKeyed(deps, ctx, { run, request, key });
      } catch (error) {
        countIdToken(call, error);
        return rethrowMapped(error);
      }
    },
    stream: async (call, caller, request) => {
      const leave = takeSlots(call, caller);
      const unwatch = watch({ call, caller, request });
      const onEnd = (): void => {
        unwatch();
        leave();
      };
      const run = method(methods, call.rpc);
      return await openStream(async () => await run(request, contextOf({ call, caller }, request)), onEnd);
    },
  };
}

/** The engine behind what answers while its feature is off is shut, and not the route. */
function gateOf({ feature, inertWhenOff }: RpcInfo, gate: FeatureGate): RpcGate {
  if (feature === undefined) return 'open';
  const state = gate.state(feature);
  if (inertWhenOff !== true) return state;
  return state === 'hidden' ? 'unlisted' : 'open';
}

const asStaff = ({ staff, scopes }: Caller): boolean => staff && scopes.has(STAFF_SCOPE);

/** Why nothing comes of the call. What an internal feature is called, staff alone may know. */
function tellOff({ rpc, responseHeaders }: CallContext, caller: Caller, gate: FeatureGate): void {
  const { feature } = rpc;
  const state = feature === undefined ? 'open' : gate.state(feature);
  if (feature === undefined || state === 'open' || (state === 'hidden' && !asStaff(caller))) return;
  responseHeaders.set('svc-feature-off', feature);
}

function mapped<T>(work: () => Promise<T> | T): Promise<T> | T {
  try {
    const result = work();
    return result instanceof Promise ? result.catch(rethrowMapped) : result;
  } catch (error) {
    return rethrowMapped(error);
  }
}

function rethrowMapped(error: unknown): never {
  throw mapDatabaseError(error);
}

function keyOf(call: CallContext, caller: Caller): string | undefined {
  const { idempotency } = call.rpc;
  const key = idempotency === undefined || idempotency === 'none' ? undefined : idempotencyKey(call);
  // Nobody has no name to keep a key under.
  return caller.kind === 'anonymous' ? undefined : key;
}

interface Keyed {
  readonly run: Handler<Ctx>;
  readonly request: Message;
  readonly key: string;
}

async function invokeKeyed(deps: AppDeps, ctx: Ctx, { run, request, key }: Keyed): Promise<Message> {
  const { call, caller } = ctx;
  const claim = claimFor({ rpc: call.rpc, caller, key, request });
  if (call.rpc.idempotency === 'statement')
    return await (run(request, { ...ctx, idempotency: claim }) as Promise<Message>);
  return await runKeyed(
    { call, db: deps.db, clock: deps.clock, claim },
    async (db) => await (run(request, { ...ctx, db }) as Promise<Message>),
  );
}

/** The approval is used in the transaction of the effect; a repeated call is answered without one. */
async function invokeApproved(
  { db, clock }: AppDeps,
  ctx: Ctx,
  { run, request }: Pick<Keyed, 'run' | 'request'>,
): Promise<Message> {
  const { call, caller } = ctx;
  const work = async (tx: Database): Promise<Message> => await doApproved({ ...ctx, db: tx }, run, request);
  const key = keyOf(call, caller);
  try {
    if (key === undefined) return await db.transact(work);
    return await runKeyed(
      { call, db, clock, claim: claimFor({ rpc: call.rpc, caller, key, request }) },
      work,
    );
  } catch (error) {
    return await askInstead(ctx, request, error);
  }
}

function method(methods: ReadonlyMap<string, Handler<Ctx>>, rpc: RpcInfo): Handler<Ctx> {
  const found = methods.get(rpc.id);
  if (found === undefined) throw apiError('not_found', 'no such route'); // the door asks for this app's RPCs alone
  return found;
}

/** Fails at the start, not at the first call, when the contract and the implementations do not meet. */
function collectMethods(rpcs: readonly RpcInfo[], handlers: ReadonlyArray<Handlers<Ctx>>) {
  const methods = joinMethods(handlers);
  const missing = rpcs.filter((rpc) => !methods.has(rpc.id)).map((rpc) => rpc.id);
  if (missing.length > 0) throw new Error(`no implementation for ${missing.join(', ')}`);
  return methods;
}
