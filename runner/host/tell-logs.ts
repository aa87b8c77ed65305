/**
 * Tells the control plane what was logged of apps: as often as it asks for it, and only if there is
 * something. What was taken is told until it is answered; each log has its number then, so that nothing is
 * taken twice. A control plane that knows no such call costs the lines, and neither the disk nor the app.
 */
import type { Api } from '../control-plane/api.ts';
import { nextDelayMs } from '../control-plane/backoff.ts';
import { CallError, type Failure } from '../control-plane/retryable.ts';
import type { WireHostLog } from '../control-plane/wire.ts';
import type { LogBatch, LogShipment } from '../edge/logs/edge-logs.ts';
import { monotonicMs } from '../platform/clock.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';

const EVERY_MS = 10_000;
const UNSERVED_MS = 300_000;
/** As much as a call may carry. */
const LOGS_MAX = 16;
const MINUTES_MAX = 60;
const BODY_BYTES_MAX = 64_000;
/** Lines of one log; of longer ones some are left out. */
const LINES_BYTES_MAX = 50_000;

/** A place from which lines come. */
export interface LogSource {
  /** Takes what is new. Until it is confirmed the same comes again. */
  take(): Promise<Omit<LogShipment, 'hasMore'> | undefined>;
  confirm(seq: number): Promise<void>;
}

export interface LogTellerOptions {
  readonly api: Pick<Api, 'call'>;
  readonly bootId: string;
  readonly sources: readonly LogSource[];
  readonly log: Log;
}

/** The function does nothing while nothing is due, and never rejects. */
export function createLogTeller({ api, bootId, sources, log }: LogTellerOptions): () => Promise<void> {
  let atMs = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let telling: Promise<void> | undefined;
  const tell = async (source: LogSource): Promise<void> => {
    const taken = await source.take();
    if (taken === undefined) return;
    try {
      for (const logs of callsOf(taken)) {
        const { value } = await api.call('host-logs', { bootId, logs });
        atMs = monotonicMs() + (value.nextMs ?? EVERY_MS);
      }
    } catch (error) {
      const { verdict, unserved } = failureOf(error);
      if (unserved === true) atMs = monotonicMs() + UNSERVED_MS;
      // It must not hold up what comes after it.
      else if (verdict === 'refused')
        log.warn({ problem: errorText(error) }, 'what was logged of apps is refused, and given up');
      else throw error;
    }
    await source.confirm(taken.seq);
  };
  const tellAll = async (): Promise<void> => {
    atMs = monotonicMs() + EVERY_MS;
    for (const source of sources) await tell(source);
    failures = 0;
  };
  const failed = (error: unknown): void => {
    failures += 1;
    atMs = monotonicMs() + Math.max(EVERY_MS, nextDelayMs(failures, failureOf(error).retryAfterMs));
    log[failures === 1 ? 'warn' : 'debug'](
      { problem: errorText(error) },
      'what was logged of apps cannot be told yet',
    );
  };
  return async () => {
    if (monotonicMs() < atMs) return;
    telling ??= tellAll()
      .catch(failed)
      .finally(() => (telling = undefined));
    await telling;
  };
}

const failureOf = (error: unknown): Partial<Failure> => (error instanceof CallError ? error.failure : {});

/** Counters that are too many for one call follow under the same number. */
function* callsOf({ seq, batches }: Omit<LogShipment, 'hasMore'>): Generator<WireHostLog[]> {
  let call: WireHostLog[] = [];
  let bytes = 0;
  for (const log of batches.flatMap((batch) => logsOf(batch, seq))) {
    const size = sizeOf(log);
    const isThere = call.some(
      ({ environmentId, kind }) => environmentId === log.environmentId && kind === log.kind,
    );
    if (call.length > 0 && (isThere || call.length === LOGS_MAX || bytes + size > BODY_BYTES_MAX)) {
      yield call;
      [call, bytes] = [[], 0];
    }
    call.push(log);
    bytes += size;
  }
  yield call;
}

function logsOf({ environmentId, kind, lines, dropped, minutes }: LogBatch, seq: number): WireHostLog[] {
  const fitting = fittingLines(lines);
  const first = { lines: fitting, dropped: dropped + lines.length - fitting.length };
  const chunks = Math.max(1, Math.ceil(minutes.length / MINUTES_MAX));
  return Array.from({ length: chunks }, (_, n) => ({
    environmentId,
    kind,
    seq,
    ...(n === 0 && first),
    minutes: minutes.slice(n * MINUTES_MAX, (n + 1) * MINUTES_MAX),
  }));
}

/** Returns the first ones that fit. */
function fittingLines(lines: LogBatch['lines']): LogBatch['lines'] {
  let bytes = 0;
  const end = lines.findIndex((line) => (bytes += sizeOf(line) + 1) > LINES_BYTES_MAX);
  return end === -1 ? lines : lines.slice(0, end);
}

const sizeOf = (said: object): number => Buffer.byteLength(JSON.stringify(said));
