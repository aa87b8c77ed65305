/**
 * The heartbeat reports to the control plane every 15 s that this process lives and which leases it holds,
 * and takes the state of each lease from the reply.
 *
 * Runs in its own thread, so that neither a busy main thread nor a slow disk can make a lease run out. It
 * owns the lease book. Two independent clocks: the beat (one call at a time, at once when an offer arrived)
 * and the giving up of leases, which must happen on time even while a call hangs. Every result is posted to
 * the main thread; the loop never touches a task itself.
 *
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

/**
 * A beat under way for longer than this is given up when an offer waits for its acceptance: an offer stands
 * for 15 s only.
 */
const HANGING_MS = 2_000;
/** Time limit of the last beat, which delays the end of the process. */
const LAST_BEAT_MS = 3_000;

export interface HeartbeatLoopOptions {
  setup: Pick<HeartbeatSetup, 'bootId' | 'facts' | 'labels' | 'intervals'>;
  api: Pick<Api, 'call'>;
  /** Sends a message to the main thread. */
  post: (message: FromHeartbeat) => void;
}

interface State {
  book: LeaseBook;
  intervals: Intervals;
  /** Facts and labels have reached the control plane. */
  introduced: boolean;
  draining: boolean;
  stopping: boolean;
  /** Refused for good: no further beat is worth making. */
  dead: boolean;
  diagnostics: WireDiagnostics | undefined;
  failures: number;
  /** The number of beats in a row that found no such route, and the time of the first. */
  unserved: { count: number; sinceMs: number } | undefined;
  /** The beat under way. */
  flight: { controller: AbortController; startedMs: number } | undefined;
  /** Beat again as soon as the one under way is over. */
  again: boolean;
}

export function startHeartbeatLoop(options: HeartbeatLoopOptions) {
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
    for (const ref of state.book.takeLost(monotonicMs())) options.post({ type: 'lease', ref, state: 'lost' });
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
    const controller = new AbortController();
    state.flight = { controller, startedMs: monotonicMs() };
    state.again = false;
    // An offer that arrives during a hanging beat cuts it short, see HANGING_MS.
    const next = await attempt(options, state, controller.signal);
    state.flight = undefined;
    giveUpLost();
    state.dead = next === 'fatal';
    if (state.stopping && (state.dead || !state.again)) return options.post({ type: 'stopped' });
    if (next !== 'fatal') beatSoon(state.again ? 0 : next);
  };

  beatSoon(0);
  return {
    receive(message: ToHeartbeat) {
      const nowMs = monotonicMs();
      if (message.type === 'stop') {
        clearTimeout(lossTimer);
        state.stopping = true;
        if (state.dead) return options.post({ type: 'stopped' });
        if (state.flight === undefined) return beatSoon(0);
        // The call under way lacks the latest state: the loop ends with one more beat.
        state.again = true;
        state.flight.controller.abort();
        return;
      }
      if (apply(state, message, nowMs)) beatNow();
      armLoss();
    },
  };
}

export type HeartbeatLoop = ReturnType<typeof startHeartbeatLoop>;

/** True when the next beat must not wait for its time. */
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

/** Makes one call; returns when the next one is due, in ms. */
async function attempt(
  options: HeartbeatLoopOptions,
  state: State,
  signal: AbortSignal,
): Promise<number | 'fatal'> {
  const { diagnostics } = state;
  const leases = state.book.refs();
  const request: HeartbeatRequest = {
    bootId: options.setup.bootId,
    leases,
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
      options.post({
        type: 'log',
        level: 'info',
        fields: { failures: state.failures },
        message: 'the control plane answers again',
      });
    state.failures = 0;
    state.unserved = undefined;
    const messages = applyReply(state, { leases, reply: value, sentMonotonicMs });
    for (const message of messages) options.post(message);
    return state.intervals.heartbeatMs;
  } catch (error) {
    return afterFailure(options, state, error);
  }
}

interface AnsweredBeat {
  /** The leases that the request named. */
  leases: readonly WireLease[];
  reply: HeartbeatReply;
  sentMonotonicMs: number;
}

/** Takes a reply over into the state; returns the messages for the main thread. */
function applyReply(state: State, { leases, reply, sentMonotonicMs }: AnsweredBeat): FromHeartbeat[] {
  const phases = new Map(leases.map((lease) => [refKey(lease), lease.phase]));
  const messages: FromHeartbeat[] = [];
  state.intervals = steer(state.intervals, reply.intervals);
  for (const status of reply.leases ?? []) {
    const ref = { id: status.id, epoch: status.epoch };
    // The lease was released or lost while the call was under way.
    if (status.state === undefined || !state.book.holds(ref)) continue;
    if (status.state === 'ok')
      state.book.renew(ref, sentMonotonicMs, status.leaseMs ?? state.intervals.leaseMs);
    if (status.state === 'superseded') state.book.release(ref);
    // The reply confirms the phase that its request named, not one that has been entered meanwhile.
    const phase = phases.get(refKey(ref));
    messages.push({ type: 'lease', ref, state: status.state, ...(phase === undefined ? {} : { phase }) });
  }
  messages.push({
    type: 'contact',
    atMs: wallMs(),
    sentMonotonicMs,
    directives: reply.directives ?? {},
    intervals: state.intervals,
  });
  return messages;
}

function afterFailure(options: HeartbeatLoopOptions, state: State, error: unknown): number | 'fatal' {
  const failure =
    error instanceof CallError
      ? error.failure
      : { verdict: 'retry' as const, message: String(error), retryAfterMs: undefined };
  if (failure.verdict === 'revoked' || failure.verdict === 'boot_superseded') {
    options.post({ type: 'fatal', verdict: failure.verdict, message: failure.message });
    return 'fatal';
  }
  // This process cut the call short: the next one is due at once.
  if (failure.verdict === 'aborted') return 0;
  if ('unserved' in failure && failure.unserved === true) return afterUnserved(options, state);
  state.unserved = undefined;
  state.failures += 1;
  if (state.failures === 1)
    options.post({
      type: 'log',
      level: 'warn',
      fields: { problem: failure.message },
      message: 'heartbeat failed, trying again',
    });
  // Leases are renewed by beats, so a retry never waits longer than the interval.
  return Math.min(nextDelayMs(state.failures, failure.retryAfterMs), state.intervals.heartbeatMs);
}

/**
 * While a lease can still be renewed, the beat keeps its interval; without one, or after the last has run out
 * at the control plane, it may wait longer.
 */
function afterUnserved(options: HeartbeatLoopOptions, state: State): number {
  const { count, sinceMs } = (state.unserved ??= { count: 0, sinceMs: monotonicMs() });
  state.unserved.count = count + 1;
  const atStake = state.book.refs().length > 0 && monotonicMs() - sinceMs < state.intervals.leaseMs;
  const delayMs = unservedDelayMs(count + 1);
  const nextInMs = atStake ? Math.min(delayMs, state.intervals.heartbeatMs) : delayMs;
  options.post({ type: 'unserved', nextInMs });
  return nextInMs;
}
