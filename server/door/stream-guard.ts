/**
 * Ends streams that would be refused if they were opened now: their feature was switched off, their
 * credential was revoked or has run out, their caller lost the team, the role or the scope. What a stream may
 * show is decided when it is opened, so one whose caller lost anything at all ends too, with an error that
 * may be retried: whoever still may see it opens another.
 *
 * Gates are looked at in memory every second; credentials when something about them is announced, and every
 * half a minute for what only time brings about.
 */
import type { Message } from '@bufbuild/protobuf';
import type { StreamCall } from '@svc/proto/http/call.ts';
import { apiError, toApiError } from '@svc/proto/http/errors.ts';
import { gateRefusal } from '@svc/proto/http/feature-disabled.ts';
import { concerns, type Authenticator } from '../access/auth/index.ts';
import { authorise } from '../kit/authorise.ts';
import type { Caller } from '../kit/context.ts';
import type { CredentialChanges } from '../kit/credential-changes.ts';
import type { FeatureGate } from '../kit/feature-gate.ts';
import { roleAtLeast } from '../kit/scopes.ts';

const GATES_EVERY_MS = 1_000;
const CREDENTIALS_EVERY_MS = 30_000;

interface Open {
  readonly call: StreamCall;
  readonly caller: Caller;
  readonly request: Message;
}

/** Watches over a stream until the returned function is called. */
type WatchStream = (open: Open) => () => void;

export function createStreamGuard(deps: {
  readonly gate: FeatureGate;
  readonly authenticator: Authenticator;
  readonly changes: CredentialChanges;
}): WatchStream {
  const { gate, authenticator, changes } = deps;
  const streams = new Set<Open>();
  let timer: NodeJS.Timeout | undefined;
  let ticks = 0;

  const checkGate = ({ call }: Open): void => {
    const { feature } = call.rpc;
    const state = feature === undefined ? 'open' : gate.state(feature);
    const refusal = gateRefusal(state, feature);
    if (refusal !== undefined) call.abort(refusal);
  };
  const checkCaller = async ({ call, caller, request }: Open): Promise<void> => {
    if (caller.kind === 'anonymous') return;
    try {
      const now = await authenticator.authenticate(call);
      if (now === undefined || holdsAll(now, caller)) return;
      // Says what is missing now, where the call itself names it.
      authorise(call.rpc, now, request);
      call.abort(apiError('unavailable', 'you may do less than before; open the stream again'));
    } catch (error) {
      const refusal = toApiError(error);
      // A database that cannot be asked has taken nothing away from anybody.
      if (refusal.status < 500) call.abort(refusal);
    }
  };

  changes.onChange((change) => {
    for (const open of streams)
      if (change === undefined || concerns(change, open.caller)) void checkCaller(open);
  });
  const tick = (): void => {
    ticks += 1;
    for (const open of streams) {
      checkGate(open);
      if (ticks % (CREDENTIALS_EVERY_MS / GATES_EVERY_MS) === 0) void checkCaller(open);
    }
  };

  return (open) => {
    streams.add(open);
    timer ??= setInterval(tick, GATES_EVERY_MS).unref();
    return () => {
      streams.delete(open);
      if (streams.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  };
}

function holdsAll(now: Caller, before: Caller): boolean {
  return (
    (now.staff || !before.staff) &&
    [...before.scopes].every((scope) => now.scopes.has(scope)) &&
    [...before.memberships].every(([teamId, role]) => {
      const kept = now.memberships.get(teamId);
      return kept !== undefined && roleAtLeast(kept, role);
    })
  );
}
