/**
 * Sends one run's spool to the control plane.
 *
 * One loop a run, one call at a time. The offset that the last answer named is the only truth about what is
 * stored: it goes forward with an append, and backward when the control plane lost something. The first
 * output goes out after 100 ms, then a call a second or a full batch at once. The last call carries length
 * and digest of everything; until that is answered the output counts as not delivered. The loop ends when it
 * is delivered, when the control plane refuses it for good, or when it is stopped.
 */
import { nextDelayMs, unservedDelayMs } from '../control-plane/backoff.ts';
import { monotonicMs, pause } from '../platform/clock.ts';
import type { Api } from '../control-plane/api.ts';
import type { Log } from '../platform/log.ts';
import { BATCH_BYTES_MAX, type Spool, type SpoolBatch } from './log-spool.ts';
import type { Presence } from '../control-plane/presence.ts';
import { CallError, type Failure } from '../control-plane/retryable.ts';
import { WORK_CALLS, type LogsReply, type WireLeaseState, type WorkKind } from '../control-plane/wire.ts';
import { errorText } from '../platform/errors.ts';

/** Delay of the first call after a silence, counted from the first byte. */
const FIRST_BYTE_MS = 100;
/** Interval of calls while output keeps coming. */
const INTERVAL_MS = 1_000;
/** The spool wakes an idle sender; this limit only covers a lost wake-up. */
const IDLE_MS = 60_000;
/**
 * After so long a control plane that is in contact and refuses logs no longer keeps the result from being
 * reported.
 */
const BLOCKED_MS_MAX = 600_000;
/** Sending everything again can help once. */
const DIGEST_RETRIES_MAX = 1;
/** So many answers in a row may leave the offset where it is; no recovery takes more. */
const STANDSTILLS_MAX = 20;

/**
 * `complete`: stored and checked. `refused`: it will never be stored. `superseded`: the epoch is over.
 * `stopped`: another process resumes it.
 */
export type LogsOutcome = 'complete' | 'refused' | 'superseded' | 'stopped';

export interface LogSenderOptions {
  spool: Spool;
  api: Pick<Api, 'call'>;
  log: Log;
  signal: AbortSignal;
  /** Default: a run. */
  kind?: WorkKind;
  /** Set for a spool of an earlier process: the sender asks first how much is stored. */
  resume?: boolean;
  /** Takes the state of the lease in a reply, with the time of its request. */
  onState?: (state: WireLeaseState, sentMonotonicMs: number) => void;
  /** Tells whether heartbeats are answered, so that a dead network is not taken for a refusal. */
  inContact?: () => boolean;
  /** Waits at most until the control plane serves runners again. */
  presence?: Pick<Presence, 'pause'>;
}

export function startLogSender(options: LogSenderOptions) {
  const state: SendState = {
    offset: 0,
    failures: 0,
    digestFailures: 0,
    standstills: 0,
    lastSentMs: -INTERVAL_MS,
  };
  const wake = createWake(options.signal);
  options.spool.onChange(wake.notify);
  return {
    /** Never rejects. */
    done: run(options, state, wake),
    /** Offset up to which the control plane has stored the output. */
    get acknowledged() {
      return state.offset;
    },
  };
}

export type LogSender = ReturnType<typeof startLogSender>;

interface SendState {
  offset: number;
  failures: number;
  failingSinceMs?: number;
  digestFailures: number;
  standstills: number;
  lastSentMs: number;
}

async function run(options: LogSenderOptions, state: SendState, wake: Wake): Promise<LogsOutcome> {
  const { spool, signal } = options;
  let asking = options.resume === true;
  while (!signal.aborted) {
    if (!asking && !(await waitForWork(options, state, wake))) continue;
    const batch: SpoolBatch = asking
      ? { offset: 0, chunks: [], nextOffset: 0 }
      : await spool.read(state.offset);
    const final = !asking && spool.ended !== undefined && batch.nextOffset >= spool.ended.bytes;
    state.lastSentMs = monotonicMs();
    try {
      const reply = await send(options, batch, final);
      const stored = reply.nextOffset ?? 0;
      if (asking && stored > spool.bytes) return await leaveAsStored(options, stored);
      asking = false;
      state.failures = 0;
      delete state.failingSinceMs;
      state.offset = plausibleOffset(options, reply, batch);
      state.standstills = batch.chunks.length > 0 && state.offset <= batch.offset ? state.standstills + 1 : 0;
      if (state.standstills > STANDSTILLS_MAX)
        return undeliverable(options, `the control plane stores nothing behind byte ${state.offset}`);
      if (final && reply.complete === true) return 'complete';
      if (final && state.offset >= batch.nextOffset)
        return undeliverable(options, 'the control plane does not confirm the end of the output');
    } catch (error) {
      const outcome = await afterFailure(options, state, error);
      if (outcome !== undefined) return outcome;
    }
  }
  return 'stopped';
}

/** Waits until there is something to send and it is time; false when the caller must check again. */
async function waitForWork(options: LogSenderOptions, state: SendState, wake: Wake): Promise<boolean> {
  const { spool } = options;
  if (spool.ended !== undefined) return true;
  const pending = spool.bytes - state.offset;
  if (pending <= 0) {
    await wake.sleep(IDLE_MS, () => spool.ended !== undefined || spool.bytes > state.offset);
    return false;
  }
  const dueMs = Math.max(FIRST_BYTE_MS, state.lastSentMs + INTERVAL_MS - monotonicMs());
  await wake.sleep(dueMs, () => isUrgent(spool, state));
  return !options.signal.aborted;
}

function isUrgent(spool: Spool, state: SendState): boolean {
  return spool.ended !== undefined || spool.bytes - state.offset >= BATCH_BYTES_MAX;
}

async function send(options: LogSenderOptions, batch: SpoolBatch, final: boolean): Promise<LogsReply> {
  const { spool } = options;
  const { value, sentMonotonicMs } = await options.api.call(
    WORK_CALLS[options.kind ?? 'run'].logs,
    {
      id: spool.ref.id,
      epoch: spool.ref.epoch,
      offset: batch.offset,
      chunks: batch.chunks.map(({ stream, data, missing }) => ({
        stream,
        data: data.toString('base64'),
        ...(missing === undefined ? {} : { missingBytes: missing }),
      })),
      ...(final && spool.ended !== undefined ? { end: spool.ended } : {}),
    },
    { signal: options.signal },
  );
  if (value.state !== undefined) options.onState?.(value.state, sentMonotonicMs);
  return value;
}

/**
 * This machine lost what it had written, and the control plane has more of it. An end at the shorter length
 * would make it discard its copy, so it gets a chunk that marks the rest as missing, and no end.
 */
async function leaveAsStored(options: LogSenderOptions, stored: number): Promise<LogsOutcome> {
  const line = Buffer.from("\n[output may be missing from here on: the runner's copy of it was lost]\n");
  const chunks = [{ stream: 'runner' as const, data: line, missing: 1 }];
  try {
    await send(options, { offset: stored, chunks, nextOffset: stored + line.length }, false);
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
  }
  return undeliverable(
    options,
    `the control plane has ${stored} bytes and this machine only ${options.spool.bytes}`,
  );
}

/**
 * Limits the answer's offset to what exists: an answer beyond it is a fault of the control plane and must not
 * make the sender skip output.
 */
function plausibleOffset(options: LogSenderOptions, reply: LogsReply, batch: SpoolBatch): number {
  const claimed = reply.nextOffset ?? 0;
  if (claimed <= options.spool.bytes) return claimed;
  options.log.error(
    { id: options.spool.ref.id, claimed, written: options.spool.bytes },
    'the control plane claims to have more output than was written',
  );
  return batch.nextOffset;
}

/** This waits before the next try, and returns an outcome when there will be none. */
async function afterFailure(
  options: LogSenderOptions,
  state: SendState,
  error: unknown,
): Promise<LogsOutcome | undefined> {
  if (!(error instanceof CallError)) {
    return undeliverable(options, `output cannot be read back from the spool: ${errorText(error)}`);
  }
  const { failure } = error;
  if (failure.verdict === 'aborted') return 'stopped';
  if (failure.verdict === 'revoked' || failure.verdict === 'boot_superseded') return 'stopped';
  if (failure.verdict === 'refused') return afterRefusal(options, state, failure);
  state.failures += 1;
  state.failingSinceMs ??= monotonicMs();
  if (state.failures === 1)
    options.log.warn(
      { id: options.spool.ref.id, problem: failure.message },
      'output cannot be delivered, trying again',
    );
  if (failure.unserved === true) {
    // The call was not refused: nobody serves the route. A long absence must not count as a refusal when it
    // ends.
    delete state.failingSinceMs;
    await (options.presence?.pause ?? pause)(unservedDelayMs(state.failures), options.signal);
    return undefined;
  }
  const blocked = monotonicMs() - state.failingSinceMs > BLOCKED_MS_MAX && options.inContact?.() === true;
  if (blocked && options.spool.ended !== undefined) return undeliverable(options, failure.message);
  await pause(nextDelayMs(state.failures, failure.retryAfterMs), options.signal);
  return undefined;
}

function afterRefusal(
  options: LogSenderOptions,
  state: SendState,
  failure: Failure,
): LogsOutcome | undefined {
  const stored = failure.details?.['nextOffset'];
  const nextOffset =
    typeof stored === 'number' && Number.isSafeInteger(stored) && stored >= 0 ? stored : undefined;
  if (
    failure.code === 'log_gap' &&
    nextOffset !== undefined &&
    nextOffset <= options.spool.bytes &&
    state.standstills < STANDSTILLS_MAX
  ) {
    state.standstills += 1;
    options.log.warn(
      { id: options.spool.ref.id, from: nextOffset },
      'the control plane is missing output, sending it again',
    );
    state.offset = nextOffset;
    return undefined;
  }
  if (failure.code === 'log_digest_mismatch' && state.digestFailures < DIGEST_RETRIES_MAX) {
    options.log.warn(
      { id: options.spool.ref.id },
      'the stored output does not match its digest, sending it again',
    );
    state.digestFailures += 1;
    state.offset = nextOffset ?? 0;
    return undefined;
  }
  if (failure.code === 'stale_epoch') return 'superseded';
  return undeliverable(options, failure.message);
}

function undeliverable(options: LogSenderOptions, problem: string): LogsOutcome {
  options.log.error({ id: options.spool.ref.id, problem }, 'output is not delivered');
  return 'refused';
}

interface Wake {
  notify: () => void;
  /**
   * Resolves after `ms`, when the condition has become true, or when the signal is aborted. One sleeper at a
   * time.
   */
  sleep(ms: number, until: () => boolean): Promise<void>;
}

function createWake(signal: AbortSignal): Wake {
  let wakeUp: (() => void) | undefined;
  const notify = () => wakeUp?.();
  signal.addEventListener('abort', notify, { once: true });
  const once = async (ms: number): Promise<void> => {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    wakeUp = undefined;
  };
  return {
    notify,
    async sleep(ms, until) {
      const deadline = monotonicMs() + ms;
      while (!signal.aborted && !until() && monotonicMs() < deadline) await once(deadline - monotonicMs());
    },
  };
}
