/**
 * Takes one grant of work, a run or a build, from offer to result. The differences between the two come in as
 * `Work`.
 *
 *   offered ── heartbeat ──→ accepted ──→ task runs ──→ ended ──→ result in the outbox ──→ delivery
 *   (delivery.ts)
 *      │                        │             │
 *      └── superseded, lost ────┴─────────────┴──→ task killed, nothing reported; the lease ends by itself or
 *      has ended
 *
 * The slot is given back as soon as the result is on the disk. What must hold: the task never runs before the
 * journal says `started`, a grant is started at most once, and nothing but the executor decides how the task
 * ended. `cancelled` kills and is reported; every other end of the lease, and the end of this process, kills
 * and is not: the work then goes back to the queue.
 */
import type { Api } from '../control-plane/api.ts';
import type { Deliveries } from './delivery.ts';
import { errorText } from '../platform/errors.ts';
import type { KillReason, Outcome, Running } from '../executor/executor.ts';
import { InvalidSpecError } from '../executor/spec.ts';
import type { Heartbeat } from '../control-plane/heartbeat.ts';
import type { Journal } from '../disk/journal.ts';
import { holdLease, type Lease } from './lease.ts';
import { leaseMarginMs } from '../control-plane/lease-book.ts';
import { limitLines } from '../output/line-limit.ts';
import type { Log } from '../platform/log.ts';
import { startLogSender, type LogSender } from '../output/log-sender.ts';
import { openSpool, type Spool } from '../output/log-spool.ts';
import { createMasker, type Masker } from '../output/masking.ts';
import { newReportId, type Outbox, type OutboxEntry } from '../disk/outbox.ts';
import type { Presence } from '../control-plane/presence.ts';
import type {
  BuildPhase,
  ReportRequest,
  WireBuildResult,
  WireLogStream,
  WorkKind,
} from '../control-plane/wire.ts';
import { monotonicMs, wallMs } from '../platform/clock.ts';
import { isWorkRef, refKey, type WorkRef } from '../control-plane/work-ref.ts';

/** Time until the heartbeat that accepts an offer, by contract, when the offer does not say it. */
const OFFER_MS = 15_000;
/** Time from SIGTERM to SIGKILL when the team cancelled. */
const CANCEL_GRACE_MS = 5_000;
const MESSAGE_LENGTH_MAX = 2_000;

export type WorkPhase = 'offered' | 'running' | 'ending' | 'reporting' | BuildPhase;

/** Fields that every offer has. */
export interface Offer extends WorkRef {
  leaseMs?: number;
  attempt?: number;
}

export interface WorkOutcome extends Outcome {
  build?: WireBuildResult;
}

export interface StartContext {
  ref: WorkRef;
  /** Takes output like an executor's, and also the lines that the runner itself writes. */
  onOutput: (stream: WireLogStream, chunk: Uint8Array) => Promise<void>;
  /**
   * Records the phase in the journal, then announces it to the control plane: resolves when both know that
   * this phase comes next. Never resolves when the lease ends before: then the work is killed.
   */
  enter: (phase: BuildPhase) => Promise<void>;
}

export interface RunningWork extends Pick<Running, 'kill'> {
  readonly done: Promise<WorkOutcome>;
}

/** The parts of a kind of work that differ from the other kind. */
export interface Work<O extends Offer> {
  kind: WorkKind;
  /** Values that are masked in its output. */
  secretsOf: (offer: O) => string[];
  /**
   * Throws InvalidSpecError, without an effect on the machine, when it can never run. The result is called at
   * most once.
   */
  prepare: (offer: O) => (context: StartContext) => Promise<RunningWork>;
}

interface WorkOptions {
  work: Pick<Work<never>, 'kind'>;
  heartbeat: Heartbeat;
  journal: Journal;
  outbox: Outbox;
  deliveries: Deliveries;
  spoolFolder: string;
  machineBoot: string;
  api: Pick<Api, 'call'>;
  /** The runner's own secrets, masked in output besides those of the work. */
  secrets: readonly string[];
  /** When aborted, the task is killed and nothing is reported. */
  cancel: AbortSignal;
  /** When aborted, there is no time to deliver anything more. */
  abandon: AbortSignal;
  presence: Pick<Presence, 'pause'>;
  inContact: () => boolean;
  leaseMs: () => number;
  onPhase: (ref: WorkRef, phase: WorkPhase | undefined) => void;
  /** Runs when the engine could not run a task: a reason to check its health. */
  onEngineError: () => void;
  log: Log;
}

export interface RunWorkOptions<O extends Offer> extends WorkOptions {
  work: Work<O>;
}

/** Resolves when the slot is free again. Never rejects. */
export async function runWork<O extends Offer>(offer: O, options: RunWorkOptions<O>): Promise<void> {
  const ref: WorkRef = { id: offer.id, epoch: offer.epoch };
  const { log } = options;
  if (!isWorkRef(ref))
    return log.error({ id: String(offer.id).slice(0, 60) }, 'an offer without a usable id was left alone');
  const earlier = options.journal.last(ref);
  if (earlier !== undefined)
    return log.warn({ ...ref, earlier }, 'an offer that was seen before was left alone');
  try {
    await options.journal.record('offered', ref);
  } catch (error) {
    return log.error(
      { ...ref, problem: errorText(error) },
      'an offer was left alone: the journal cannot be written',
    );
  }
  options.onPhase(ref, 'offered');
  const lease = holdLease(options.heartbeat, ref, offer.leaseMs ?? OFFER_MS);
  try {
    await accept(offer, lease, options);
  } catch (error) {
    log.error({ ...ref, problem: errorText(error) }, 'work failed in the runner itself');
    await drop(lease, 'runner_error', options);
  }
}

async function accept<O extends Offer>(offer: O, lease: Lease, options: RunWorkOptions<O>): Promise<void> {
  const state = await firstState(lease, options.cancel);
  if (state === 'superseded' || state === 'lost' || state === 'stopping')
    return await drop(lease, state, options);
  await options.journal.record('accepted', lease.ref);
  options.log.info({ ...lease.ref, attempt: offer.attempt ?? 1 }, `${options.work.kind} accepted`);
  const spool = await openSpool(options.spoolFolder, lease.ref);
  const unwanted = new AbortController();
  const sender = startLogSender({
    spool,
    api: options.api,
    kind: options.work.kind,
    log: options.log,
    signal: AbortSignal.any([options.abandon, unwanted.signal]),
    onState: (next, sentMonotonicMs) => lease.update(next, sentMonotonicMs),
    inContact: options.inContact,
    presence: options.presence,
  });
  const masker = createMasker([...options.work.secretsOf(offer), ...options.secrets]);
  const outcome = await execute({ offer, lease, spool, masker }, options);
  lease.finished();
  const { state: last } = lease;
  const leaseEnded = last === 'superseded' || last === 'lost' || outcome.reason === 'lease_lost';
  if (leaseEnded) {
    unwanted.abort();
    await sender.done;
    await spool.remove();
    return await drop(lease, last === 'superseded' || last === 'lost' ? last : 'stopping', options);
  }
  await storeResult({ outcome, lease, spool, sender, masker }, options);
}

/** Waits for the answer to the heartbeat that names the offer. */
async function firstState(
  lease: Lease,
  cancel: AbortSignal,
): Promise<'ok' | 'cancelled' | 'superseded' | 'lost' | 'stopping'> {
  if (cancel.aborted) return 'stopping';
  let stop: () => void = () => undefined;
  const stopping = new Promise<'stopping'>((resolve) => {
    stop = () => resolve('stopping');
    cancel.addEventListener('abort', stop);
  });
  const state = await Promise.race([lease.firstState, stopping]);
  cancel.removeEventListener('abort', stop);
  return state;
}

interface Accepted<O extends Offer> {
  offer: O;
  lease: Lease;
  spool: Spool;
  masker: Masker;
}

/** The task is run to its end; everything that goes wrong on this machine is an outcome. */
async function execute<O extends Offer>(
  { offer, lease, spool, masker }: Accepted<O>,
  options: RunWorkOptions<O>,
): Promise<WorkOutcome> {
  if (lease.state === 'cancelled') return { reason: 'cancelled', durationMs: 0 };
  const begunMs = monotonicMs();
  const failed = (error: unknown): Outcome => ({
    reason: 'engine_error',
    durationMs: Math.round(monotonicMs() - begunMs),
    message: errorText(error),
  });
  const stream = () => limitLines(masker.stream());
  const streams = { stdout: stream(), stderr: stream(), runner: stream() };
  let running: RunningWork;
  try {
    const begin = options.work.prepare(offer);
    await options.journal.record('started', lease.ref);
    options.onPhase(lease.ref, 'running');
    running = await begin({
      ref: lease.ref,
      onOutput: async (stream, chunk) => await spool.append(stream, streams[stream].push(chunk)),
      async enter(phase) {
        const phaseOffset = spool.bytes;
        await options.journal.record('phase', lease.ref, { phase });
        options.onPhase(lease.ref, phase);
        await lease.enter({ phase, phaseOffset });
      },
    });
  } catch (error) {
    const level = error instanceof InvalidSpecError ? 'warn' : 'error';
    if (level === 'error') options.onEngineError();
    options.log[level]({ ...lease.ref, problem: errorText(error) }, 'the task was not started');
    return failed(error);
  }
  const unwatch = killOnLeaseEnd(running, lease, options);
  const outcome = await running.done;
  unwatch();
  options.onPhase(lease.ref, 'ending');
  if (outcome.reason === 'engine_error') options.onEngineError();
  try {
    for (const stream of ['stdout', 'stderr', 'runner'] as const)
      await spool.append(stream, streams[stream].flush());
  } catch (error) {
    // A failure to write the last few bytes must not cost the result.
    options.log.error({ ...lease.ref, problem: errorText(error) }, 'the end of the output cannot be written');
  }
  return outcome;
}

/** The task is killed when its lease or this process ends. Returns how to stop watching. */
function killOnLeaseEnd(running: RunningWork, lease: Lease, options: WorkOptions): () => void {
  // The task must be dead before the lease ends: the lease is given up a margin before, and half of that is
  // the task's own time to end.
  const lossGraceMs = leaseMarginMs(options.leaseMs()) / 2;
  const kill = (reason: KillReason, graceMs: number, why: string) => {
    options.log.warn({ ...lease.ref, why }, 'killing the task');
    running.kill(reason, graceMs);
  };
  const stop = () => kill('lease_lost', lossGraceMs, 'this runner is stopping');
  lease.onChange((state) => {
    if (state === 'cancelled') kill('cancelled', CANCEL_GRACE_MS, 'cancelled by the team');
    if (state === 'superseded') kill('lease_lost', 0, 'somebody else holds it, or it has ended');
    if (state === 'lost')
      kill('lease_lost', lossGraceMs, 'the control plane cannot be reached and the lease ends');
  });
  options.cancel.addEventListener('abort', stop);
  if (options.cancel.aborted) stop();
  return () => {
    options.cancel.removeEventListener('abort', stop);
    lease.onChange(() => undefined);
  };
}

interface Ended {
  outcome: WorkOutcome;
  lease: Lease;
  spool: Spool;
  sender: LogSender;
  masker: Masker;
}

/** Writes the result to the outbox and starts its delivery; resolves when that much is done. */
async function storeResult(ended: Ended, options: WorkOptions): Promise<void> {
  const { lease, spool, outcome } = ended;
  await spool.end();
  const report = reportOf(lease.ref, outcome, ended.masker);
  let entry: OutboxEntry;
  try {
    entry = await options.outbox.put(report, options.work.kind);
    await options.journal.record('ended', lease.ref, { reason: report.reason, reportId: report.reportId });
  } catch (error) {
    // The disk may be full; this process can still deliver the result.
    options.log.error(
      { ...lease.ref, problem: errorText(error) },
      'the result cannot be written to the outbox, it lives in memory only',
    );
    entry = {
      kind: options.work.kind,
      report,
      putAtMs: wallMs(),
      putMonotonicMs: monotonicMs(),
      machineBoot: options.machineBoot,
    };
  }
  options.log.info(
    { ...lease.ref, reason: report.reason, exitCode: report.exitCode, durationMs: report.durationMs },
    `${options.work.kind} ended`,
  );
  options.onPhase(lease.ref, 'reporting');
  void options.deliveries
    .deliver({ entry, spool, lease, logs: ended.sender.done })
    .then(() => options.onPhase(lease.ref, undefined));
}

function reportOf(ref: WorkRef, outcome: WorkOutcome, masker: Masker): Omit<ReportRequest, 'waitedMs'> {
  const { exitCode, message, build } = outcome;
  return {
    id: ref.id,
    epoch: ref.epoch,
    reportId: newReportId(),
    // `output` is reserved by the executor and means that the task went on.
    reason: outcome.reason === 'output' ? 'exit' : outcome.reason,
    // By contract only a command that ended by itself has an exit code: the 137 of a kill is the runner's
    // doing.
    ...(exitCode === undefined || outcome.reason !== 'exit' ? {} : { exitCode: exitCode & 0xff }),
    ...(message === undefined ? {} : { message: masker.text(message).slice(0, MESSAGE_LENGTH_MAX) }),
    durationMs: Math.max(0, Math.round(outcome.durationMs)),
    ...(build === undefined ? {} : { build }),
  };
}

/** Gives the work up without a report: the grant ends, or has ended, without this runner. */
async function drop(lease: Lease, reason: string, options: WorkOptions): Promise<void> {
  options.log.info({ ...lease.ref, reason }, 'work given up');
  lease.release();
  options.onPhase(lease.ref, undefined);
  await options.journal
    .record('dropped', lease.ref, { reason })
    .catch((error: unknown) =>
      options.log.error(
        { key: refKey(lease.ref), problem: errorText(error) },
        'the journal cannot be written',
      ),
    );
}
