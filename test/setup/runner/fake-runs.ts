/**
 * This file does the work of the fake control plane: offers, leases, output and reports, by the rules of the
 * real one.
 */
import { createHash, randomBytes } from 'node:crypto';
import type {
  BuildOffer,
  BuildPhase,
  LogsRequest,
  ReportRequest,
  RunOffer,
  WireLogStream,
  WorkKind,
} from '../../../runner/control-plane/wire.ts';

export interface FakeRun {
  readonly id: string;
  readonly kind: WorkKind;
  readonly spec: Omit<RunOffer & BuildOffer, 'id' | 'epoch'>;
  /** Every phase that a heartbeat named, in order, of all epochs. */
  readonly phases: BuildPhase[];
  state: 'queued' | 'offered' | 'running' | 'ended';
  epoch: number;
  attempt: number;
  pollId: string | undefined;
  expiresAtMs: number;
  cancelRequested: boolean;
  /** Output of the current epoch. */
  output: Buffer;
  chunks: { stream: WireLogStream; text: string }[];
  complete: boolean;
  report: ReportRequest | undefined;
  /** Every report that arrived, refused ones too. */
  reports: ReportRequest[];
}

/** The part of the control plane that the work depends on. */
export interface RunTable {
  readonly runs: Map<string, FakeRun>;
  readonly intervals: { leaseMs: number };
  readonly offerMs: number;
}

export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: object | undefined;

  constructor(status: number, code: string, details?: object) {
    super(`refused: ${code}`);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/**
 * Unique to this process: engines know containers by these ids, and may still hold those of tests that were
 * killed.
 */
const mark = randomBytes(3).toString('hex');
/** The beginnings of the ids that control planes of this process make. */
export const OWN_IDS: Readonly<Record<WorkKind, string>> = { run: `run_${mark}_`, build: `bld_${mark}_` };
let made = 0;

export function createRun(kind: WorkKind, id: string | undefined, spec: object): FakeRun {
  made += 1;
  return {
    kind,
    id: id ?? `${OWN_IDS[kind]}${String(made).padStart(4, '0')}`,
    spec,
    phases: [],
    state: 'queued',
    epoch: 0,
    attempt: 0,
    pollId: undefined,
    expiresAtMs: 0,
    cancelRequested: false,
    output: Buffer.alloc(0),
    chunks: [],
    complete: false,
    report: undefined,
    reports: [],
  };
}

export function renew(table: RunTable, run: FakeRun): void {
  if (run.state === 'offered') run.attempt += 1;
  run.state = 'running';
  run.expiresAtMs = performance.now() + table.intervals.leaseMs;
}

/** Like the real control plane, it does not revive a lease that ran out, swept or not. */
export function hasLease(run: FakeRun): boolean {
  return (run.state === 'offered' || run.state === 'running') && run.expiresAtMs >= performance.now();
}

/** Returns the run if this epoch is the current one; its lease may have run out. */
export function currentRun(table: RunTable, id: string, epoch: number): FakeRun | undefined {
  const run = table.runs.get(id);
  if (run === undefined || run.epoch !== epoch) return undefined;
  return run.state === 'queued' ? undefined : run;
}

export function sweep(table: RunTable): void {
  for (const run of table.runs.values()) {
    if ((run.state !== 'offered' && run.state !== 'running') || run.expiresAtMs >= performance.now())
      continue;
    // The real control plane does not repeat a build that may have pushed or deployed, unless a person asks
    // for it.
    const phase = run.phases.at(-1);
    run.state = phase === 'publishing' || phase === 'deploying' ? 'ended' : 'queued';
  }
}

export function offerFor(table: RunTable, pollId: string, kind: WorkKind): RunOffer | BuildOffer | undefined {
  const all = [...table.runs.values()].filter((candidate) => candidate.kind === kind);
  const standing = all.find((run) => run.state === 'offered' && run.pollId === pollId);
  const run = standing ?? all.find((candidate) => candidate.state === 'queued' && !candidate.cancelRequested);
  if (run === undefined) return undefined;
  if (standing === undefined) {
    Object.assign(run, {
      state: 'offered',
      epoch: run.epoch + 1,
      pollId,
      output: Buffer.alloc(0),
      chunks: [],
      complete: false,
    });
    run.expiresAtMs = performance.now() + table.offerMs;
  }
  return {
    ...run.spec,
    id: run.id,
    epoch: run.epoch,
    leaseId: `lease_${run.epoch}`,
    leaseMs: table.offerMs,
    attempt: run.attempt + 1,
  };
}

export function storeLogs(table: RunTable, body: LogsRequest): object {
  const run = currentRun(table, body.id, body.epoch);
  // Output that comes late is stored too.
  if (run === undefined) throw new Refusal(409, 'stale_epoch');
  if (body.offset > run.output.length) throw new Refusal(409, 'log_gap', { nextOffset: run.output.length });
  let skip = run.output.length - body.offset;
  for (const chunk of body.chunks) {
    const data = Buffer.from(chunk.data, 'base64');
    const fresh = data.subarray(Math.min(skip, data.length));
    skip = Math.max(0, skip - data.length);
    run.output = Buffer.concat([run.output, fresh]);
    if (fresh.length > 0) run.chunks.push({ stream: chunk.stream, text: fresh.toString('utf8') });
  }
  const live = hasLease(run);
  if (live && !run.cancelRequested) renew(table, run);
  if (body.end !== undefined) {
    if (body.end.bytes > run.output.length)
      throw new Refusal(409, 'log_gap', { nextOffset: run.output.length });
    const sha256 = createHash('sha256').update(run.output).digest('hex');
    if (sha256 !== body.end.sha256) {
      run.output = Buffer.alloc(0);
      run.chunks = [];
      throw new Refusal(409, 'log_digest_mismatch', { nextOffset: 0 });
    }
    run.complete = true;
  }
  return {
    nextOffset: run.output.length,
    complete: run.complete,
    state: live ? (run.cancelRequested ? 'cancelled' : 'ok') : 'superseded',
  };
}

export function storeReport(table: RunTable, body: ReportRequest): object {
  const run = table.runs.get(body.id);
  run?.reports.push(body);
  if (run === undefined || run.epoch !== body.epoch || run.state === 'queued')
    throw new Refusal(409, 'stale_epoch');
  if (run.report !== undefined) {
    if (run.report.reportId !== body.reportId) throw new Refusal(409, 'stale_epoch');
    return { accepted: true, repeated: true };
  }
  run.report = body;
  run.state = 'ended';
  return { accepted: true, repeated: false };
}
