/**
 * A small control plane for tests that keeps the rules of the protocol (signatures, epochs, offers, leases,
 * offsets, digests, idempotent reports), and breaks them where a test asks for it: lost answers, foreign
 * pages, skewed clocks, revocation.
 */
import { randomUUID, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { authoritySet, factsFromNodeRequest } from '@svc/proto/signature/facts.ts';
import { keyThumbprint, publicKeyObject } from '@svc/proto/signature/keys.ts';
import { UNKNOWN_ROUTE } from '@svc/proto/http/unknown-route.ts';
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
  HostLogsRequest,
  SyncHostReply,
  SyncHostRequest,
  WireHostLog,
  WorkKind,
} from '../../../runner/control-plane/wire.ts';
import {
  createRun,
  currentRun,
  hasLease,
  offerFor,
  Refusal,
  renew,
  storeLogs,
  storeReport,
  sweep,
  type FakeRun,
} from './fake-runs.ts';

export type FakeCall =
  | 'enroll'
  | 'heartbeat'
  | 'host'
  | 'host-logs'
  | 'poll'
  | 'logs'
  | 'report'
  | 'logs-of-many'
  | 'reports-of-many'
  | 'build-poll'
  | 'build-logs'
  | 'build-report'
  | 'healthz';

/**
 * `lose_answer`: the call is handled, and the connection is cut instead of answered. `reset`: the connection
 * is cut before the call is handled. `hang`: the call is never answered.
 */
export type Step = 'lose_answer' | 'reset' | 'hang' | CannedReply;

export interface CannedReply {
  status: number;
  /** Text is sent as HTML, an object as JSON. */
  body: string | object;
  headers?: Record<string, string>;
}

/** Returns a refusal as the control plane makes it. */
export function refusal(
  status: number,
  code: string,
  { message = code, details }: { message?: string; details?: object | undefined } = {},
): CannedReply {
  const error = { code, message, requestId: 'req_1', retryable: false, ...(details && { details }) };
  return { status, body: { error } };
}

export interface RecordedCall {
  name: FakeCall;
  body: unknown;
  status: number;
  atMs: number;
}

export class FakeControlPlane {
  readonly url: string;
  readonly runnerId = `rnr_fake${randomUUID().slice(0, 8)}`;
  readonly token = `enr_${randomUUID()}`;
  readonly calls: RecordedCall[] = [];
  readonly runs = new Map<string, FakeRun>();
  intervals = { heartbeatMs: 300, pollWaitMs: 2_000, leaseMs: 6_000 };
  /** It knows of several runs in one answer and of several calls in one request, as older ones do not. */
  takesMany = false;
  offerMs = 3_000;
  /** The server's clock less the real one. */
  clockMs = 0;
  revoked = false;
  /** True while it has lost the runner's key, as a restored database has. */
  forgotten = false;
  directives: {
    sendDiagnostics?: boolean;
    paused?: boolean;
    flagged?: boolean;
    hostRevision?: number;
  } = {};
  /** It is answered to each runner that says what it hosts. */
  host: (said: SyncHostRequest) => SyncHostReply = () => ({ revision: 0 });
  /** Logs of apps, as they were told. */
  readonly hostLogs: WireHostLog[] = [];
  /** The boot id that holds the runner; a heartbeat with another one takes over unless it was seen before. */
  boot: string | undefined;
  /** Answers every call like this while set. */
  outage: Step | undefined;
  /** Connections of heartbeats that name this phase are cut before they are handled. */
  droppedPhase: BuildPhase | undefined;
  readonly oldBoots = new Set<string>();
  draining = false;
  key: { id: string; object: KeyObject; text: string } | undefined;
  readonly nonces = new Set<string>();
  readonly steps: { name: FakeCall; step: Step }[] = [];
  wakers = new Set<() => void>();

  constructor(url: string) {
    this.url = url;
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
    const run = createRun(kind, id, spec);
    this.runs.set(run.id, run);
    this.wake();
    return run;
  }

  cancel(id: string): void {
    const run = this.runs.get(id);
    if (run !== undefined) run.cancelRequested = true;
  }

  /** Takes the run away, as an expired lease would. */
  supersede(id: string): void {
    const run = this.runs.get(id);
    if (run !== undefined) run.epoch += 1;
  }

  script(name: FakeCall, ...steps: Step[]): void {
    for (const step of steps) this.steps.push({ name, step });
  }

  /** Drops all scripted steps that were not used up. */
  unscript(): void {
    this.steps.length = 0;
  }

  of<T>(name: FakeCall): (RecordedCall & { body: T })[] {
    return this.calls.filter((call): call is RecordedCall & { body: T } => call.name === name);
  }

  wake(): void {
    for (const waker of this.wakers) waker();
  }
}

export async function serve(
  plane: FakeControlPlane,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
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
  if (plane.droppedPhase !== undefined && named.some(({ phase }) => phase === plane.droppedPhase))
    return void request.socket.destroy();
  if (step === 'reset') return void request.socket.destroy();
  if (step === 'hang') return;
  if (typeof step === 'object') return send(response, record, step);
  try {
    const answer = await handle(plane, name, { request, raw, body: record.body });
    if (step === 'lose_answer') return void request.socket.destroy();
    send(response, record, { status: name === 'enroll' ? 201 : 200, body: answer });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    send(response, record, refusal(error.status, error.code, error));
  }
}

function send(response: ServerResponse, record: RecordedCall, { status, body, headers }: CannedReply): void {
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

interface Received {
  request: IncomingMessage;
  raw: Buffer;
  body: unknown;
}

async function handle(plane: FakeControlPlane, name: FakeCall, received: Received): Promise<object> {
  if (name === 'healthz') return { status: 'ok' };
  const { request, raw, body } = received;
  if (name === 'enroll') return enroll(plane, body as EnrollRequest);
  if (plane.forgotten && name.endsWith('poll')) return {};
  await verify(plane, request, raw);
  switch (name) {
    case 'heartbeat':
      return heartbeat(plane, body as HeartbeatRequest);
    case 'host-logs':
      plane.hostLogs.push(...((body as HostLogsRequest).logs ?? []));
      return { nextMs: 1_000 };
    case 'host':
      return plane.host(body as SyncHostRequest);
    case 'poll':
      return await poll(plane, 'run', received);
    case 'logs':
      return storeLogs(plane, body as LogsRequest);
    case 'build-poll':
      return await poll(plane, 'build', received);
    case 'build-logs':
      return storeLogs(plane, body as LogsRequest);
    case 'report':
    case 'build-report':
      return storeReport(plane, body as ReportRequest);
    case 'logs-of-many':
      if (!plane.takesMany) throw unknownRoute();
      return many((body as { logs: LogsRequest[] }).logs, 'stored', (one) => storeLogs(plane, one));
    case 'reports-of-many':
      if (!plane.takesMany) throw unknownRoute();
      return many((body as { reports: ReportRequest[] }).reports, 'reported', (one) =>
        storeReport(plane, one),
      );
    default:
      throw unknownRoute();
  }
}

async function verify(plane: FakeControlPlane, request: IncomingMessage, raw: Buffer): Promise<void> {
  const nowMs = Date.now() + plane.clockMs;
  const parsed = parseSignature(factsFromNodeRequest(request), {
    authorities: authoritySet([plane.url]),
    nowMs,
  });
  if (!parsed.ok) throw new Refusal(401, parsed.reason);
  if (plane.forgotten || parsed.keyid !== plane.key?.id) throw new Refusal(401, 'key_unknown');
  const verified = await verifySignature(parsed, plane.key.object, raw);
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

function enroll(plane: FakeControlPlane, body: EnrollRequest): object {
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

function checkBoot(plane: FakeControlPlane, bootId: string | undefined, takesOver: boolean): void {
  if (bootId === undefined || bootId === plane.boot) return;
  if (plane.oldBoots.has(bootId)) throw new Refusal(409, 'boot_superseded');
  if (!takesOver) return;
  if (plane.boot !== undefined) plane.oldBoots.add(plane.boot);
  plane.boot = bootId;
  plane.draining = false;
}

function heartbeat(plane: FakeControlPlane, body: HeartbeatRequest): object {
  checkBoot(plane, body.bootId, true);
  plane.draining = body.draining === true;
  if (plane.draining) plane.wake();
  for (const { id, epoch } of body.givenBack ?? []) {
    const run = currentRun(plane, id, epoch);
    if (run !== undefined && run.state !== 'ended') run.expiresAtMs = 0;
  }
  const leases = body.leases.map(({ id, epoch, phase }) => {
    const run = currentRun(plane, id, epoch);
    if (run !== undefined && phase !== undefined && run.phases.at(-1) !== phase) run.phases.push(phase);
    if (run === undefined || !hasLease(run)) return { id, epoch, state: 'superseded' };
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

const unknownRoute = (): Refusal => Object.assign(new Refusal(404, 'not_found'), { message: UNKNOWN_ROUTE });

function many<Item>(items: readonly Item[], outcome: string, one: (item: Item) => object): object {
  const answers = items.map((item) => {
    try {
      return { [outcome]: one(item) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { refused: { status: error.status, code: error.code, message: error.code } };
    }
  });
  return { answers };
}

async function poll(
  plane: FakeControlPlane,
  kind: WorkKind,
  { body: asked, request }: Received,
): Promise<object> {
  const body = asked as PollRequest;
  checkBoot(plane, body.bootId, false);
  const { waitMs, notReady = [] } = body;
  const deadline = performance.now() + waitMs;
  for (;;) {
    sweep(plane);
    if (plane.revoked) throw new Refusal(401, 'runner_revoked');
    checkBoot(plane, body.bootId, false);
    if (notReady.length > 0 || plane.draining || plane.directives.paused === true || body.slots === 0)
      return {};
    if (request.socket.destroyed) return {};
    const offer = offerFor(plane, body.pollId, kind);
    if (offer !== undefined) {
      const count = plane.takesMany ? Math.min(body.offersMax ?? 1, body.slots) : 1;
      const further = Array.from({ length: count - 1 }, (_, n) =>
        offerFor(plane, `${body.pollId}+${n + 1}`, kind),
      );
      const runs = further.filter((one) => one !== undefined);
      return { [kind]: offer, ...(runs.length > 0 ? { more: { runs } } : {}) };
    }
    const left = deadline - performance.now();
    if (left <= 0) return {};
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
