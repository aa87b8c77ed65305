/**
 * Knows which calls are at work, and what became of every request: the one place that counts, logs and
 * reports them.
 */
import { ActiveCall, type CallRecord, type OnSettled } from './active-call.ts';
import type { Protocol } from './call.ts';
import type { ApiError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { Places } from '../process/places.ts';
import { replyError } from './reply.ts';
import type { RpcInfo } from './rpc.ts';

/** Log that the door writes to; pino's loggers fit. */
export interface DoorLog {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** End of a request. */
interface Outcome {
  readonly protocol: Protocol;
  readonly status: number;
  readonly error?: ApiError | undefined;
  readonly rpc?: RpcInfo;
}

export interface CallLog {
  readonly calls: Places<ActiveCall>;
  startCall(exchange: Exchange, rpc: RpcInfo, protocol: Protocol): ActiveCall;
  /** Answers a request that is no call with an error: unknown path, wrong verb, unreadable head. */
  refuse(exchange: Exchange, error: ApiError): void;
  record(exchange: Exchange, outcome: Outcome): void;
}

export function createCallLog(log: DoorLog, onCall: ((record: CallRecord) => void) | undefined): CallLog {
  const calls = new Places<ActiveCall>();
  const record = (exchange: Exchange, { protocol, status, error, rpc }: Outcome): void => {
    if (error !== undefined && error.status >= 500 && error.cause !== undefined) {
      log.error(
        { requestId: exchange.requestId, rpc: rpc?.id, err: error.cause },
        `${rpc?.id ?? 'request'} failed: ${error.code}`,
      );
    }
    onCall?.({
      rpc,
      protocol,
      requestId: exchange.requestId,
      remoteAddress: exchange.remoteAddress,
      method: exchange.request.method ?? '',
      status,
      code: error?.code,
      ms: performance.now() - exchange.startedMs,
    });
  };
  const onSettled: OnSettled = (call, status, error) => {
    calls.remove(call.place, call);
    record(call.exchange, { protocol: call.protocol, status, error, rpc: call.rpc });
  };
  return {
    calls,
    record,
    startCall(exchange, rpc, protocol) {
      const call = new ActiveCall({ exchange, rpc, protocol, onSettled });
      call.place = calls.add(call);
      return call;
    },
    refuse(exchange, error) {
      replyError(exchange.response, error, exchange);
      record(exchange, { protocol: 'rest', status: error.status, error });
    },
  };
}
