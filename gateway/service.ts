/**
 * This file has the machine endpoints: each call is checked against its signer and passed on to the server.
 */
import type { Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import type { Offer } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import {
  RunnerService,
  type LogsRequest,
  type PollRequest,
  type ReportRequest,
} from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { deadlineMs } from '@svc/proto/http/active-call.ts';
import type { UnaryCall } from '@svc/proto/http/call.ts';
import type { ApiError } from '@svc/proto/http/errors.ts';
import { problem } from '@svc/proto/http/json-text.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { Clock } from '@svc/proto/process/clock.ts';
import { isError, oneByOne, refusalOf } from './many.ts';
import { workKind, type Polls } from './polls.ts';
import { keyUnknownError, type GatewayCaller, type Nonce, type VerifiedRunner } from './verification.ts';
import type { PollCaller, PollKind } from './waiter.ts';

const POLL_WAIT_MS = 30_000;
const POLL_WAIT_MS_MAX = 50_000;
/** An answer leaves this long before the caller gives up. */
const ANSWER_EARLY_MS = 1_000;

export interface RunnerCtx {
  readonly call: UnaryCall;
  readonly caller: GatewayCaller;
}

export interface RunnerServiceDeps {
  readonly dispatch: Dispatch;
  readonly polls: Polls;
  readonly clock: Clock;
  /** A poll id for a poll that brought none. */
  readonly newPollId: () => string;
  /** Why polls of a kind are not held now: its platform feature is off. */
  readonly closed: (kind: PollKind) => ApiError | undefined;
}

export function createRunnerService(deps: RunnerServiceDeps): Handlers<RunnerCtx> {
  const { dispatch } = deps;
  const appendLogs = (kind: PollKind) => async (logs: LogsRequest, ctx: RunnerCtx) =>
    dispatch.appendLogs({ caller: callerOf(ctx, logs.runnerId), kind: workKind(kind), logs });
  const report = (kind: PollKind) => async (ended: ReportRequest, ctx: RunnerCtx) =>
    dispatch.report({ caller: callerOf(ctx, ended.runnerId), kind: workKind(kind), report: ended });
  return implement<typeof RunnerService, RunnerCtx>(RunnerService, {
    enroll: (request) => dispatch.enroll(request),
    heartbeat: async (heartbeat, ctx) =>
      dispatch.heartbeat({ caller: callerOf(ctx, heartbeat.runnerId, heartbeat.bootId), heartbeat }),
    poll: async (request, ctx) => {
      const offers = await waitForWork({ ...deps, kind: 'run' }, request, ctx);
      const [run, ...more] = offers.flatMap(({ work }) => (work.case === 'run' ? [work.value] : []));
      if (run === undefined) return {};
      return more.length === 0 ? { run } : { run, more: { runs: more } };
    },
    buildPoll: async (request, ctx) => {
      const [offer] = await waitForWork({ ...deps, kind: 'build' }, request, ctx);
      return offer?.work.case === 'build' ? { build: offer.work.value } : {};
    },
    logs: appendLogs('run'),
    logsOfMany: async ({ runnerId, logs }, ctx) => {
      const outcomes = await each(ctx, { runnerId, items: logs, field: 'logs' }, async (one, caller) =>
        dispatch.appendLogs({ caller, kind: workKind('run'), logs: one }),
      );
      return {
        answers: outcomes.map((one) => (isError(one) ? { refused: refusalOf(one) } : { stored: one })),
      };
    },
    buildLogs: appendLogs('build'),
    report: report('run'),
    reportsOfMany: async ({ runnerId, reports }, ctx) => {
      const outcomes = await each(ctx, { runnerId, items: reports, field: 'reports' }, async (one, caller) =>
        dispatch.report({ caller, kind: workKind('run'), report: one }),
      );
      return {
        answers: outcomes.map((one) => (isError(one) ? { refused: refusalOf(one) } : { reported: one })),
      };
    },
    buildReport: report('build'),
    syncHost: async (host, ctx) =>
      dispatch.syncHost({ caller: callerOf(ctx, host.runnerId, host.bootId), host }),
    hostLogs: async (logged, ctx) =>
      dispatch.hostLogs({ caller: callerOf(ctx, logged.runnerId, logged.bootId), logged }),
  });
}

interface Many<Item> {
  /** The runner of all of them. */
  readonly runnerId: string;
  readonly items: readonly Item[];
  /** Name of the items in the request. */
  readonly field: string;
}

/** Makes the calls of one request. */
async function each<Item extends { readonly runnerId: string }, Answer>(
  ctx: RunnerCtx,
  { runnerId, items, field }: Many<Item>,
  call: (item: Item, caller: PollCaller & { readonly nonce?: Nonce }) => Promise<Answer>,
): Promise<Array<Answer | ApiError>> {
  const { nonce, ...caller } = callerOf(ctx, runnerId);
  const at = items.findIndex((item) => item.runnerId !== '' && item.runnerId !== runnerId);
  if (at >= 0) throw problem(`${field}[${at}].runnerId`, 'other_runner', 'is not the runner of the request');
  return await oneByOne(items, nonce, async (item, fresh) =>
    call({ ...item, runnerId }, fresh === undefined ? caller : { ...caller, nonce: fresh }),
  );
}

/** May throw, too. */
function waitForWork(
  { kind, ...deps }: RunnerServiceDeps & { readonly kind: PollKind },
  request: PollRequest,
  ctx: RunnerCtx,
): Promise<readonly Offer[]> {
  // Switched off while the signature was being verified: nobody would end this poll before its time.
  const closed = deps.closed(kind);
  if (closed !== undefined) throw closed;
  if (!isRunner(ctx.caller, request.runnerId)) return Promise.resolve([]);
  const { nonce, ...caller } = callerOf(ctx, request.runnerId, request.bootId);
  const ask = {
    caller,
    kind,
    pollId: request.pollId ?? deps.newPollId(),
    slots: request.slots ?? 1,
    offersMax: kind === 'run' ? (request.offersMax ?? 1) : 1,
    notReady: request.notReady,
    untilMs: answerDueMs(deps.clock, request.waitMs, ctx),
    call: ctx.call,
  };
  ctx.call.forgetHead();
  return deps.polls.poll(ask, nonce);
}

/**
 * Counted from when the head of the request was there, because the caller's own limit runs since before that.
 */
function answerDueMs(clock: Clock, waitMs: number | undefined, { call, caller }: RunnerCtx): number {
  const startedMs = caller.kind === 'runner' ? caller.receivedMs : clock.monotonicMs();
  const holdMs = Math.min(waitMs ?? POLL_WAIT_MS, POLL_WAIT_MS_MAX);
  return startedMs + Math.min(holdMs, deadlineMs(call.rpc, call) - ANSWER_EARLY_MS);
}

/**
 * The key decides who calls. Another runner's id is answered like one that does not exist, and is not even
 * looked up.
 */
function isRunner(caller: GatewayCaller, runnerId: string): caller is VerifiedRunner {
  return caller.kind === 'runner' && caller.key.runnerId === runnerId;
}

/** The nonce is handed over. */
function callerOf(
  { caller }: RunnerCtx,
  runnerId: string,
  bootId = '',
): PollCaller & { readonly nonce: Nonce } {
  if (caller.kind !== 'runner' || caller.signature !== undefined || caller.nonce === undefined) {
    throw new Error('a runner call reached its implementation without a verified signature');
  }
  if (!isRunner(caller, runnerId)) throw keyUnknownError();
  const { nonce } = caller;
  caller.nonce = undefined;
  return { runnerId, teamId: caller.key.teamId, bootId, nonce };
}
