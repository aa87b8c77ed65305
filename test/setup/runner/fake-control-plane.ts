/**
 * The far end of the wire for tests: a small control plane that keeps the protocol's promises (signatures, epochs, offers, leases, offsets,
 * digests, idempotent reports), and breaks them where a test asks for it: lost answers, foreign pages, skewed clocks, revocation.
 */
import { createHash, randomBytes, randomUUID, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { authoritySet, factsFromNodeRequest } from '@svc/proto/signature/facts.ts';
import { keyThumbprint, publicKeyObject } from '@svc/proto/signature/keys.ts';
import { parseSignature, verifySignature } from '@svc/proto/signature/verify.ts';
import type {
  BuildOffer,
  BuildPhase,
  EnrollRequest,
  HeartbeatRequest,
  LogsRequest,
  PollRequest,
  ReportRequest,
  RunOffer,
  WireLogStream,
  WorkKind,
} from '../../../runner/control-plane/wire.ts';

export type FakeCall =
  | 'enroll'
  | 'heartbeat'
  | 'poll'
  | 'logs'
  | 'report'
  | 'build-poll'
  | 'build-logs'
  | 'build-report'
  | 'healthz';

/** `lose_answer`: done, and the connection is cut instead of answered. `reset`: cut before anything is done. `hang`: never answered. */
export type Step = 'lose_answer' | 'reset' | 'hang' | CannedReply;

export interface CannedReply {
  status: number;
  /** Text is sent as HTML, an object as JSON. */
  body: string | object;
  headers?: Record<string, string>;
}

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
  /** Of the current epoch. */
  output: Buffer;
  chunks: { stream: WireLogStream; text: string }[];
  complete: boolean;
  report: ReportRequest | undefined;
  /** Every report that arrived, refused ones too. */
  reports: ReportRequest[];
}

export interface RecordedCall {
  name: FakeCall;
  body: unknown;
  status: number;
  atMs: number;
}

export interface FakeControlPlane {
  readonly url: string;
  readonly runnerId: string;
  readonly token: string;
  readonly calls: RecordedCall[];
  readonly runs: Map<string, FakeRun>;
  intervals: { heartbeatMs: number; pollWaitMs: number; leaseMs: number };
  offerMs: number;
  /** Server's clock less the real one. */
  clockMs: number;
  revoked: boolean;
  directives: { sendDiagnostics?: boolean; paused?: boolean; flagged?: boolean };
  /** The boot id that holds the runner; a heartbeat with another one takes over unless it was seen before. */
  boot: string | undefined;
  /** Answers every call like this while set. */
  outage: Step | undefined;
  /** Heartbeats that name this phase are cut off before anything is done. */
  deafTo: BuildPhase | undefined;
  register(publicKey: string): void;
  submit(spec?: Partial<RunOffer>): FakeRun;
  submitBuild(spec: Partial<BuildOffer>): FakeRun;
  cancel(id: string): void;
  /** Takes the run away, as an expired lease would. */
  supersede(id: string): void;
  script(name: FakeCall, ...steps: Step[]): void;
  /** Drops all scripted steps that were not used up. */
  unscript(): void;
  of<T>(name: FakeCall): (RecordedCall & { body: T })[];
  close(): Promise<void>;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: object | undefined;

  constructor(status: number, code: string, details?: object) {
    super(code);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export interface FakeOptions {
  /** Serves https with this certificate. */
  tls?: { key: string; cert: string };
  /** Name under which it is called; default 127.0.0.1. */
  host?: string;
}

export async function startFakeControlPlane(options: FakeOptions = {}): Promise<FakeControlPlane> {
  const handler = (request: IncomingMessage, response: ServerResponse) =>
    void serve(plane, request, response);
  const server: Server =
    options.tls === undefined ? createServer(handler) : createTlsServer(options.tls, handler);
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const plane = new Plane(
    `${options.tls === undefined ? 'http' : 'https'}://${options.host ?? '127.0.0.1'}:${port}`,
    server,
  );
  return plane;
}

/** Of this process alone: engines know containers by these ids, and hold what others left in them that were killed. */
const mark = randomBytes(3).toString('hex');
/** How the ids begin that control planes of this process make up. */
export const OWN_IDS: Readonly<Record<WorkKind, string>> = { run: `run_${mark}_`, build: `bld_${mark}_` };
let made = 0;

class Plane implements FakeControlPlane {
  readonly url: string;
  readonly runnerId = `rnr_fake${randomUUID().slice(0, 8)}`;
  readonly token = `enr_${randomUUID()}`;
  readonly calls: RecordedCall[] = [];
  readonly runs = new Map<string, FakeRun>();
  intervals = { heartbeatMs: 300, pollWaitMs: 2_000, leaseMs: 6_000 };
  offerMs = 3_000;
  clockMs = 0;
  revoked = false;
  directives: FakeControlPlane['directives'] = {};
  boot: string | undefined;
  outage: Step | undefined;
  deafTo: BuildPhase | undefined;
  readonly oldBoots = new Set<string>();
  draining = false;
  key: { id: string; object: KeyObject; text: string } | undefined;
  readonly nonces = new Set<string>();
  readonly steps: { name: FakeCall; step: Step }[] = [];
  readonly server: Server;
  wakers = new Set<() => void>();

  constructor(url: string, server: Server) {
    this.url = url;
    this.server = server;
  }

  register(publicKey: string): void {
    this.key = { id: keyThumbprint(publicKey), object: publicKeyObject(publicKey), text: publicKey };
  }

  submit(spec: Partial<RunOffer> = {}): FakeRun {
    return this.#queue('run', spec.id, { command: ['echo', 'hello'], ...spec });
  }

  submitBuild(spec: Partial<BuildOffer>): FakeRun {
    return this.#queue('build', spec.id, spec);
  }

  #queue(kind: WorkKind, id: string | undefined, spec: object): FakeRun {
    made += 1;
    const run: FakeRun = {
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
    this.runs.set(run.id, run);
    this.wake();
    return run;
  }

  cancel(id: string): void {
    const run = this.runs.get(id);
    if (run !== undefined) run.cancelRequested = true;
  }

  supersede(id: string): void {
    const run = this.runs.get(id);
    if (run !== undefined) run.epoch += 1;
  }

  script(name: FakeCall, ...steps: Step[]): void {
    for (const step of steps) this.steps.push({ name, step });
  }

  unscript(): void {
    this.steps.length = 0;
  }

  of<T>(name: FakeCall): (RecordedCall & { body: T })[] {
    return this.calls.filter((call): call is RecordedCall & { body: T } => call.name === name);
  }

  wake(): void {
    for (const waker of this.wakers) waker();
  }

  async close(): Promise<void> {
    this.wake();
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}

async function serve(plane: Plane, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const raw = Buffer.concat(parts);
  const name = nameOf(request.url ?? '');
  const at = plane.steps.findIndex((step) => step.name === name);
  const step = at >= 0 ? plane.steps.splice(at, 1)[0]?.step : plane.outage;
  const record: RecordedCall = {
    name,
    body: raw.length === 0 ? undefined : JSON.parse(raw.toString()),
    status: 0,
    atMs: performance.now(),
  };
  plane.calls.push(record);
  response.setHeader('date', new Date(Date.now() + plane.clockMs).toUTCString());
  const named = name === 'heartbeat' ? (record.body as HeartbeatRequest).leases : [];
  if (plane.deafTo !== undefined && named.some(({ phase }) => phase === plane.deafTo))
    return void request.socket.destroy();
  if (step === 'reset') return void request.socket.destroy();
  if (step === 'hang') return;
  if (typeof step === 'object') return send(response, record, step.status, step.body, step.headers);
  try {
    const answer = await handle(plane, name, request, raw, record);
    if (step === 'lose_answer') return void request.socket.destroy();
    send(response, record, name === 'enroll' ? 201 : 200, answer);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const body = {
      error: {
        code: error.code,
        message: `refused: ${error.code}`,
        requestId: 'req_1',
        retryable: false,
        ...(error.details === undefined ? {} : { details: error.details }),
      },
    };
    send(response, record, error.status, body);
  }
}

function send(
  response: ServerResponse,
  record: RecordedCall,
  status: number,
  body: string | object,
  headers: Record<string, string> = {},
): void {
  record.status = status;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': typeof body === 'string' ? 'text/html' : 'application/json',
    ...headers,
  });
  response.end(text);
}

function nameOf(target: string): FakeCall {
  if (target === '/healthz') return 'healthz';
  return (target.split('/').at(-1) ?? '') as FakeCall;
}

async function handle(
  plane: Plane,
  name: FakeCall,
  request: IncomingMessage,
  raw: Buffer,
  record: RecordedCall,
): Promise<object> {
  if (name === 'healthz') return { status: 'ok' };
  const { body } = record;
  if (name === 'enroll') return enroll(plane, body as EnrollRequest);
  verify(plane, request, raw);
  switch (name) {
    case 'heartbeat':
      return heartbeat(plane, body as HeartbeatRequest);
    case 'poll':
      return await poll(plane, body as PollRequest, request);
    case 'logs':
      return logs(plane, body as LogsRequest);
    case 'build-poll':
      return await poll(plane, body as PollRequest, request, 'build');
    case 'build-logs':
      return logs(plane, body as LogsRequest);
    case 'report':
    case 'build-report':
      return report(plane, body as ReportRequest);
    default:
      throw new Refusal(404, 'not_found');
  }
}

function verify(plane: Plane, request: IncomingMessage, raw: Buffer): void {
  const nowMs = Date.now() + plane.clockMs;
  const parsed = parseSignature(factsFromNodeRequest(request), {
    authorities: authoritySet([plane.url]),
    nowMs,
  });
  if (!parsed.ok) throw new Refusal(401, parsed.reason);
  if (plane.key === undefined || parsed.keyid !== plane.key.id) throw new Refusal(401, 'key_unknown');
  const verified = verifySignature(parsed, plane.key.object, raw);
  if (!verified.ok)
    throw new Refusal(
      401,
      verified.reason,
      verified.reason === 'clock_skew' ? { serverTime: new Date(nowMs).toISOString() } : undefined,
    );
  if (plane.nonces.has(verified.nonce)) throw new Refusal(401, 'replayed');
  plane.nonces.add(verified.nonce);
  if (plane.revoked) throw new Refusal(401, 'runner_revoked');
}

function enroll(plane: Plane, body: EnrollRequest): object {
  if (body.token !== plane.token) throw new Refusal(401, 'token_invalid');
  if (plane.key !== undefined && plane.key.text !== body.publicKey) throw new Refusal(401, 'token_invalid');
  plane.register(body.publicKey);
  return {
    runnerId: plane.runnerId,
    teamId: 'team_fake',
    serverTime: new Date(Date.now() + plane.clockMs).toISOString(),
    intervals: plane.intervals,
  };
}

function checkBoot(plane: Plane, bootId: string | undefined, takesOver: boolean): void {
  if (bootId === undefined || bootId === plane.boot) return;
  if (plane.oldBoots.has(bootId)) throw new Refusal(409, 'boot_superseded');
  if (!takesOver) return;
  if (plane.boot !== undefined) plane.oldBoots.add(plane.boot);
  plane.boot = bootId;
  plane.draining = false;
}

function heartbeat(plane: Plane, body: HeartbeatRequest): object {
  checkBoot(plane, body.bootId, true);
  plane.draining = body.draining === true;
  if (plane.draining) plane.wake();
  const leases = body.leases.map(({ id, epoch, phase }) => {
    const run = current(plane, id, epoch);
    if (run !== undefined && phase !== undefined && run.phases.at(-1) !== phase) run.phases.push(phase);
    if (run === undefined || !stands(run)) return { id, epoch, state: 'superseded' };
    if (run.cancelRequested) return { id, epoch, state: 'cancelled' };
    renew(plane, run);
    return { id, epoch, state: 'ok', leaseMs: plane.intervals.leaseMs };
  });
  const { directives } = plane;
  plane.directives = { ...directives, sendDiagnostics: false };
  return {
    leases,
    directives,
    intervals: plane.intervals,
    serverTime: new Date(Date.now() + plane.clockMs).toISOString(),
  };
}

function renew(plane: Plane, run: FakeRun): void {
  if (run.state === 'offered') run.attempt += 1;
  run.state = 'running';
  run.expiresAtMs = performance.now() + plane.intervals.leaseMs;
}

/** As the real one, which does not revive a lease that ran out, swept or not. */
function stands(run: FakeRun): boolean {
  return (run.state === 'offered' || run.state === 'running') && run.expiresAtMs >= performance.now();
}

/** The run, if this epoch is the current one; its lease may have run out. */
function current(plane: Plane, id: string, epoch: number): FakeRun | undefined {
  const run = plane.runs.get(id);
  if (run === undefined || run.epoch !== epoch) return undefined;
  return run.state === 'queued' ? undefined : run;
}

function sweep(plane: Plane): void {
  for (const run of plane.runs.values()) {
    if ((run.state !== 'offered' && run.state !== 'running') || run.expiresAtMs >= performance.now())
      continue;
    // As the real one: what may have been pushed or deployed is not done again without a person's word.
    const phase = run.phases.at(-1);
    run.state = phase === 'publishing' || phase === 'deploying' ? 'ended' : 'queued';
  }
}

async function poll(
  plane: Plane,
  body: PollRequest,
  request: IncomingMessage,
  kind: WorkKind = 'run',
): Promise<object> {
  checkBoot(plane, body.bootId, false);
  const { waitMs, notReady = [] } = body;
  const deadline = performance.now() + waitMs;
  for (;;) {
    sweep(plane);
    if (plane.revoked) throw new Refusal(401, 'runner_revoked');
    checkBoot(plane, body.bootId, false);
    if (notReady.length > 0 || plane.draining || plane.directives.paused === true || body.slots === 0)
      return {};
    const offer = offerFor(plane, body.pollId, kind);
    if (offer !== undefined) return { [kind]: offer };
    const left = deadline - performance.now();
    if (left <= 0 || request.socket.destroyed) return {};
    await new Promise<void>((resolve) => {
      const wake = () => {
        plane.wakers.delete(wake);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(left, 100));
      plane.wakers.add(wake);
    });
  }
}

function offerFor(plane: Plane, pollId: string, kind: WorkKind): RunOffer | BuildOffer | undefined {
  const all = [...plane.runs.values()].filter((candidate) => candidate.kind === kind);
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
    run.expiresAtMs = performance.now() + plane.offerMs;
  }
  return {
    ...run.spec,
    id: run.id,
    epoch: run.epoch,
    leaseId: `lease_${run.epoch}`,
    leaseMs: plane.offerMs,
    attempt: run.attempt + 1,
  };
}

function logs(plane: Plane, body: LogsRequest): object {
  const run = current(plane, body.id, body.epoch);
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
  const live = stands(run);
  if (live && !run.cancelRequested) renew(plane, run);
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

function report(plane: Plane, body: ReportRequest): object {
  const run = plane.runs.get(body.id);
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
