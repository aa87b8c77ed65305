/**
 * The heartbeat: tells the control plane every 15 s that this process lives and which leases it holds, and hears what became of each.
 *
 * Runs in its own thread, so that neither a busy main thread nor a slow disk can make a lease run out. It owns the lease book. Two independent
 * clocks: the beat (one call at a time, at once when an offer arrived) and the giving up of leases, which must happen on time
 * even while a call hangs. Everything it learns goes out by `tell`; it never touches a task itself.
 */
import type { Api } from './api.ts';
import { nextDelayMs, unservedDelayMs } from './backoff.ts';
import { monotonicMs, wallMs } from '../platform/clock.ts';
import type { FromHeartbeat, HeartbeatSetup, ToHeartbeat } from './heartbeat-protocol.ts';
import { DEFAULT_INTERVALS, steer, type Intervals } from './intervals.ts';
import { createLeaseBook, type LeaseBook } from './lease-book.ts';
import { CallError } from './retryable.ts';
import type { HeartbeatReply, HeartbeatRequest, WireDiagnostics, WireLease } from './wire.ts';
import { refKey } from './work-ref.ts';

/** A beat under way for longer than this is given up when an offer waits for its acceptance: an offer stands for 15 s only. */
const HANGING_MS = 2_000;
/** The last beat before the process ends is not worth more. */
const LAST_BEAT_MS = 3_000;

export interface HeartbeatLoopOptions {
  setup: Pick<HeartbeatSetup, 'bootId' | 'facts' | 'labels' | 'intervals'>;
  api: Pick<Api, 'call'>;
  tell: (message: FromHeartbeat) => void;
}

export interface HeartbeatLoop {
  receive(message: ToHeartbeat): void;
}

interface State {
  book: LeaseBook;
  intervals: Intervals;
  /** Facts and labels were told. */
  introduced: boolean;
  draining: boolean;
  stopping: boolean;
  /** Refused for good: no further beat is worth making. */
  dead: boolean;
  diagnostics: WireDiagnostics | undefined;
  failures: number;
  /** Beats in a row that found no such route, and when the first of them did. */
  unserved: { count: number; sinceMs: number } | undefined;
  /** The beat under way. */
  flight: { controller: AbortController; startedMs: number } | undefined;
  /** Beat again as soon as the one under way is over. */
  again: boolean;
}

export function startHeartbeatLoop(options: HeartbeatLoopOptions): HeartbeatLoop {
  const state: State = {
    book: createLeaseBook(),
    intervals: steer(DEFAULT_INTERVALS, options.setup.intervals),
    introduced: false,
    draining: false,
    stopping: false,
    dead: false,
    diagnostics: undefined,
    failures: 0,
    unserved: undefined,
    flight: undefined,
    again: false,
  };
  let beatTimer: NodeJS.Timeout | undefined;
  let lossTimer: NodeJS.Timeout | undefined;

  const armLoss = () => {
    clearTimeout(lossTimer);
    const atMs = state.book.nextGiveUpAtMs();
    if (atMs === Number.POSITIVE_INFINITY) return;
    lossTimer = setTimeout(giveUpLost, Math.max(0, Math.ceil(atMs - monotonicMs())));
  };
  const giveUpLost = () => {
    for (const ref of state.book.takeLost(monotonicMs())) options.tell({ type: 'word', ref, word: 'lost' });
    armLoss();
  };
  const beatSoon = (inMs: number) => {
    clearTimeout(beatTimer);
    beatTimer = setTimeout(() => void beat(), inMs);
  };
  const beatNow = () => {
    if (state.flight === undefined) return beatSoon(0);
    state.again = true;
    if (monotonicMs() - state.flight.startedMs > HANGING_MS) state.flight.controller.abort();
  };

  const beat = async (): Promise<void> => {
    if (state.flight !== undefined) return;
    const asked = state.book.refs();
    const controller = new AbortController();
    state.flight = { controller, startedMs: monotonicMs() };
    state.again = false;
    // An offer that arrives during a hanging beat cuts it short, see HANGING_MS.
    const next = await attempt(options, state, asked, controller.signal);
    state.flight = undefined;
    giveUpLost();
    state.dead = next === 'fatal';
    if (state.stopping && (state.dead || !state.again)) return options.tell({ type: 'stopped' });
    if (next !== 'fatal') beatSoon(state.again ? 0 : next);
  };

  beatSoon(0);
  return {
    receive(message) {
      const nowMs = monotonicMs();
      if (message.type === 'stop') {
        clearTimeout(lossTimer);
        state.stopping = true;
        if (state.dead) return options.tell({ type: 'stopped' });
        if (state.flight === undefined) return beatSoon(0);
        // What is under way lacks the latest words: the loop ends with one more beat.
        state.again = true;
        state.flight.controller.abort();
        return;
      }
      if (apply(state, message, nowMs)) beatNow();
      armLoss();
    },
  };
}

/** True when the control plane should hear of it at once. */
function apply(state: State, message: Exclude<ToHeartbeat, { type: 'stop' }>, nowMs: number): boolean {
  switch (message.type) {
    case 'hold':
      state.book.hold(message.ref, message.leaseMs, nowMs);
      return true;
    case 'renewed':
      state.book.renew(message.ref, message.sentMonotonicMs, state.intervals.leaseMs);
      return false;
    case 'phase':
      state.book.enter(message.ref, message.entered);
      return true;
    case 'finished':
      state.book.finish(message.ref);
      return false;
    case 'release':
      state.book.release(message.ref);
      return false;
    case 'diagnostics':
      state.diagnostics = message.diagnostics;
      return true;
    case 'draining':
      state.draining = true;
      return true;
    case 'back':
      return state.unserved !== undefined;
    case 'tick':
      return false;
  }
}

/** One call; returns when the next one is due, in ms. */
async function attempt(
  options: HeartbeatLoopOptions,
  state: State,
  asked: WireLease[],
  signal: AbortSignal,
): Promise<number | 'fatal'> {
  const { diagnostics } = state;
  const request: HeartbeatRequest = {
    bootId: options.setup.bootId,
    leases: asked,
    ...(state.draining ? { draining: true } : {}),
    ...(diagnostics === undefined ? {} : { diagnostics }),
    ...(state.introduced ? {} : { facts: options.setup.facts, labels: options.setup.labels }),
  };
  try {
    const timeout = state.stopping ? { timeoutMs: LAST_BEAT_MS } : {};
    const { value, sentMonotonicMs } = await options.api.call('heartbeat', request, { signal, ...timeout });
    state.introduced = true;
    if (state.diagnostics === diagnostics) state.diagnostics = undefined;
    if (state.failures > 0)
      say(options, 'info', { failures: state.failures }, 'the control plane answers again');
    state.failures = 0;
    state.unserved = undefined;
    hear(options, state, value, { asked, sentMonotonicMs });
    return state.intervals.heartbeatMs;
  } catch (error) {
    return afterFailure(options, state, error);
  }
}

function hear(
  options: HeartbeatLoopOptions,
  state: State,
  reply: HeartbeatReply,
  { asked, sentMonotonicMs }: { asked: readonly WireLease[]; sentMonotonicMs: number },
): void {
  const phases = new Map(asked.map((lease) => [refKey(lease), lease.phase]));
  state.intervals = steer(state.intervals, reply.intervals);
  for (const status of reply.leases ?? []) {
    const ref = { id: status.id, epoch: status.epoch };
    // Released or lost while the call was under way: nobody asks any more.
    if (status.state === undefined || !state.book.holds(ref)) continue;
    if (status.state === 'ok')
      state.book.renew(ref, sentMonotonicMs, status.leaseMs ?? state.intervals.leaseMs);
    if (status.state === 'superseded') state.book.release(ref);
    // The phase of the request: the answer is about what was said then, not about what has been entered meanwhile.
    const phase = phases.get(refKey(ref));
    options.tell({ type: 'word', ref, word: status.state, ...(phase === undefined ? {} : { phase }) });
  }
  options.tell({
    type: 'contact',
    atMs: wallMs(),
    sentMonotonicMs,
    directives: reply.directives ?? {},
    intervals: state.intervals,
  });
}

function afterFailure(options: HeartbeatLoopOptions, state: State, error: unknown): number | 'fatal' {
  const failure =
    error instanceof CallError
      ? error.failure
      : { verdict: 'retry' as const, message: String(error), retryAfterMs: undefined };
  if (failure.verdict === 'revoked' || failure.verdict === 'boot_superseded') {
    options.tell({ type: 'fatal', verdict: failure.verdict, message: failure.message });
    return 'fatal';
  }
  // Cut short by ourselves: the next one is due at once.
  if (failure.verdict === 'aborted') return 0;
  if ('unserved' in failure && failure.unserved === true) return afterUnserved(options, state);
  state.unserved = undefined;
  state.failures += 1;
  if (state.failures === 1)
    say(options, 'warn', { problem: failure.message }, 'heartbeat failed, trying again');
  // Never slower than the beat itself: the leases hang on it.
  return Math.min(nextDelayMs(state.failures, failure.retryAfterMs), state.intervals.heartbeatMs);
}

/** A lease that may still be saved is worth a beat at its time; when none is, or the last one has run out over there, patience costs nothing. */
function afterUnserved(options: HeartbeatLoopOptions, state: State): number {
  const { count, sinceMs } = (state.unserved ??= { count: 0, sinceMs: monotonicMs() });
  state.unserved.count = count + 1;
  const atStake = state.book.refs().length > 0 && monotonicMs() - sinceMs < state.intervals.leaseMs;
  const delayMs = unservedDelayMs(count + 1);
  const nextInMs = atStake ? Math.min(delayMs, state.intervals.heartbeatMs) : delayMs;
  options.tell({ type: 'unserved', nextInMs });
  return nextInMs;
}

function say(
  options: HeartbeatLoopOptions,
  level: 'info' | 'warn',
  fields: Record<string, unknown>,
  message: string,
): void {
  options.tell({ type: 'log', level, fields, message });
}
