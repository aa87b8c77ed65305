/**
 * A caller, an account and a connection may hold a limited number of streams at once. A stream costs memory
 * and looks at the database for as long as it is open, which no rate of calls bounds.
 */
import { networkOf, readAddress } from '@svc/proto/http/address.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import type { StreamLimits } from '../base/settings.ts';
import { countedAs, type Caller } from '../kit/context.ts';
import { Slots } from '../base/slots.ts';

/** Throws `too_many_streams`. The returned function gives the places back; only its first call does. */
type TakeSlots = (call: CallContext, caller: Caller) => () => void;

export function createStreamSlots(limits: StreamLimits): TakeSlots {
  const credentials = new Slots('this credential', 'streams', limits.perCredentialMax);
  const accounts = new Slots('this account', 'streams', limits.perAccountMax);
  const connections = new Slots('this connection', 'streams', limits.perConnectionMax);

  return (call, caller) => {
    const isAnonymous = caller.kind === 'anonymous';
    const held: Array<readonly [Slots, unknown]> = [
      [credentials, isAnonymous ? networkOf(call.remoteAddress) : countedAs(caller)],
    ];
    if (caller.userId !== '') held.push([accounts, caller.userId]);
    const connection = connectionOf(call);
    if (connection !== undefined) held.push([connections, connection]);
    for (const [holders, holder] of held) holders.assertRoom(holder);
    for (const [holders, holder] of held) holders.add(holder, 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      for (const [holders, holder] of held) holders.add(holder, -1);
    };
  };
}

/** Returns undefined for the connection of a trusted proxy, which many callers share. */
function connectionOf({ request, remoteAddress }: CallContext): object | undefined {
  const peer = request.socket.remoteAddress ?? '';
  if ((readAddress(peer) ?? peer) !== remoteAddress) return undefined;
  return 'stream' in request ? request.stream.session : request.socket;
}
