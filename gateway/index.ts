/**
 * This file makes the gateway as a part of a process: the app for the door, and its end. It keeps no truth.
 * The process brings the way to the server (in process or gRPC), the queue (in process or RabbitMQ), the door
 * and the log.
 */
import { randomUUID } from 'node:crypto';
import type { DescMethod, Message } from '@bufbuild/protobuf';
import type { Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import { RunnerService } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { addressList } from '@svc/proto/http/address.ts';
import { rpcsOf } from '@svc/proto/http/contract.ts';
import type { App, RpcGate } from '@svc/proto/http/call.ts';
import { ApiError } from '@svc/proto/http/errors.ts';
import { gateRefusal } from '@svc/proto/http/feature-disabled.ts';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import type { ControlEvent, WorkQueue } from '@svc/proto/queue/queue.ts';
import { authoritySet } from '@svc/proto/signature/facts.ts';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { systemClock, type Clock } from '@svc/proto/process/clock.ts';
import { KeyCache } from './key-cache.ts';
import { createMetrics } from './metrics.ts';
import { POOL_TIMES, type PoolDeps, type PoolTimes } from './pool.ts';
import { Polls } from './polls.ts';
import { createRunnerService } from './service.ts';
import {
  revokedError,
  Verification,
  VERIFICATION_LIMITS,
  type GatewayCaller,
  type VerificationLimits,
} from './verification.ts';
import type { PollKind } from './waiter.ts';

export type { GatewayCaller } from './verification.ts';

export interface GatewayOptions {
  readonly dispatch: Dispatch;
  readonly queue: WorkQueue;
  /**
   * Signatures are made for these; see `authoritySet`. A function is asked at the first signed request, when
   * the port is known.
   */
  readonly publicUrls: readonly string[] | (() => readonly string[]);
  readonly log: Logger;
  readonly clock?: Clock;
  readonly after?: PoolDeps['after'];
  readonly random?: () => number;
  /** The door asks it for every call. The default is open. */
  readonly gate?: (rpc: RpcInfo) => RpcGate;
  /**
   * Runs its listener after `gate` has changed, so that held polls end at once. Default: it never changes.
   */
  readonly onGateChange?: (listener: () => void) => () => void;
  /** Addresses and ranges of peers whose X-Forwarded-Host counts. Default: none. */
  readonly trustedProxies?: readonly string[];
  readonly limits?: Partial<VerificationLimits>;
  readonly times?: Partial<PoolTimes>;
  /** The gateway's figures go there. The default is a registry of its own. */
  readonly registry?: Registry;
}

export function startGateway(options: GatewayOptions) {
  const { dispatch, queue, log } = options;
  const clock = options.clock ?? systemClock;
  const metrics = createMetrics(options.registry);
  const keys = new KeyCache(dispatch, clock);
  const polls = new Polls({
    dispatch,
    queue,
    clock,
    log,
    metrics,
    after: options.after ?? after,
    random: options.random ?? Math.random,
    times: { ...POOL_TIMES, ...options.times },
  });
  const verification = new Verification({
    keys,
    clock,
    log,
    metrics,
    authorities: once(() =>
      authoritySet(typeof options.publicUrls === 'function' ? options.publicUrls() : options.publicUrls),
    ),
    isTrustedProxy: addressList(options.trustedProxies ?? []),
    limits: { ...VERIFICATION_LIMITS, ...options.limits },
  });
  const gate = options.gate ?? (() => 'open');
  const closed = (kind: PollKind): ApiError | undefined => refusalOf(POLL_RPCS[kind], gate);
  const stopListening = listen(queue, keys, polls);
  const stopFollowing = options.onGateChange?.(() => {
    for (const kind of ['run', 'build'] as const) {
      const error = closed(kind);
      if (error !== undefined) polls.endKind(kind, error);
    }
  });
  const service = createRunnerService({ dispatch, polls, clock, newPollId: () => randomUUID(), closed });
  return {
    app: createApp(verification, service.methods, gate),
    registry: metrics.registry,
    /** Polls held now. */
    parked: () => polls.size,
    /**
     * Answers held polls empty, waits up to `graceMs` for claims under way, stops consuming. Close the door
     * after it.
     */
    stop: (graceMs: number) => {
      stopListening();
      stopFollowing?.();
      return polls.stop(graceMs);
    },
  };
}

export type Gateway = ReturnType<typeof startGateway>;

/** These are its own alone, because the contracts of the servers take many times as long to load. */
const RPCS = rpcsOf([RunnerService]);

function rpcOf(desc: DescMethod): RpcInfo {
  const found = RPCS.find((rpc) => rpc.desc === desc);
  if (found === undefined) throw new Error(`${desc.name} is not in the contract`);
  return found;
}

const POLL_RPCS: Readonly<Record<PollKind, RpcInfo>> = {
  run: rpcOf(RunnerService.method.poll),
  build: rpcOf(RunnerService.method.buildPoll),
};

/**
 * Makes the error that a held poll is told when its gate closes: its next call will hear the same from the
 * gate itself, so that a runner has one case to know.
 */
function refusalOf(rpc: RpcInfo, gate: (rpc: RpcInfo) => RpcGate): ApiError | undefined {
  return gateRefusal(gate(rpc), rpc.feature);
}

function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function listen(queue: WorkQueue, keys: KeyCache, polls: Polls): () => void {
  const onControl = (event: ControlEvent): void => {
    if (event.type === 'runner_revoked') {
      keys.revoke(event.keyId);
      polls.endRunner(event.runnerId, revokedError());
    } else if (event.type === 'runner_changed') {
      polls.reconsider(event.runnerId);
    }
    // `work_cancelled` is told with the next heartbeat; nothing held here depends on it.
  };
  const onUp = (up: boolean): void => {
    polls.rearmPools();
    if (!up) return;
    // Notices sent while this process was away are lost.
    keys.expireAll();
    polls.reconsiderAll();
  };
  const stops = [queue.onControl(onControl), queue.onUp(onUp)];
  return () => stops.forEach((stop) => stop());
}

function createApp(
  verification: Verification,
  methods: ReturnType<typeof createRunnerService>['methods'],
  gate: (rpc: RpcInfo) => RpcGate,
): App<GatewayCaller> {
  return {
    rpcs: RPCS,
    gate,
    admit: (call) => verification.admit(call),
    admitBody: async (call, caller, body) => await verification.admitBody(call, caller, body),
    invoke: async (call, caller, request) => {
      const method = methods.get(call.rpc.id);
      const answer = method?.(request, { call, caller }) as Promise<Message> | undefined;
      if (answer === undefined) throw new Error(`${call.rpc.id} is not a unary RPC of the gateway`);
      try {
        return await answer;
      } catch (error) {
        throw verification.judge(call, error);
      }
    },
    stream: async (call) => {
      throw new ApiError('internal', `${call.rpc.id} is not a stream`);
    },
  };
}
