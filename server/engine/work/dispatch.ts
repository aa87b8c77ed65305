/**
 * The dispatch service: what gateways ask for. Each handler is one statement and the telling of who waits for its outcome; nothing is kept between
 * calls, so that any server answers any call.
 */
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { DispatchService, WorkKind as WireKind } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import type { Caller, OfferSchema, UseNonceRequest } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { LeaseStateSchema } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import type {
  BuildOfferSchema,
  BuildResult,
  EnrollRequest,
  EnrollResponseSchema,
  IntervalsSchema,
  LeaseState,
} from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers, Implementation } from '@svc/proto/http/implement.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { ControlEvent, WorkQueue } from '@svc/proto/queue/queue.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/index.ts';
import { enumNumber } from '../../platform/resource/index.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { appendLogs } from './append-logs.ts';
import { asCurrentProcess } from './boot.ts';
import type { BuildOutcome } from './build-sql.ts';
import { beginPoll, claim } from './claim.ts';
import type { Grant } from './claim.ts';
import { heartbeat } from './heartbeat.ts';
import type { HeartbeatInput, LeaseStatus } from './heartbeat.ts';
import { replayed } from './nonces.ts';
import type { Nonce, NonceStore } from './nonces.ts';
import { watchGates } from './features.ts';
import type { FeatureGates } from './features.ts';
import type { Hints } from './hints.ts';
import { createNoted } from './noted.ts';
import { phaseNumber } from './phases.ts';
import { returnHint } from './relay.ts';
import { report } from './report.ts';
import { runOffer } from './run-spec.ts';
import type { WorkSettings } from './settings.ts';
import type { RunnerRef } from './sql.ts';
import type { Wake } from './wake.ts';
import { buildTypeWord, kindWord, reasonWord, streamWord } from './words.ts';

export interface DispatchDeps {
  readonly db: Database;
  readonly queue: WorkQueue;
  readonly hints: Pick<Hints, 'granted'>;
  readonly clock: Clock;
  readonly settings: WorkSettings;
  readonly nonces: NonceStore;
  readonly wake: Wake;
  readonly features: FeatureGates;
  /** Opens what a run's owner gave to its runner alone. */
  readonly secrets: Pick<Secrets, 'open'>;
  /** See builds/offer.ts. */
  buildOffer(grant: Grant, offerMs: number): Promise<MessageInitShape<typeof BuildOfferSchema>>;
  /** See runners/enroll.ts. */
  enroll(request: EnrollRequest): Promise<MessageInitShape<typeof EnrollResponseSchema>>;
  /** Something is due for a hint. */
  wakeRelay(): void;
  /** A notice that could not be sent; what it would have said is found out a moment later anyway. */
  onError(error: unknown): void;
}

/** What carries the call: the deadline or the connection's end. */
export interface DispatchCtx {
  readonly signal: AbortSignal;
}

const leaseState = (status: LeaseStatus): LeaseState => enumNumber(LeaseStateSchema, status);

export function intervals(settings: WorkSettings): MessageInitShape<typeof IntervalsSchema> {
  return { heartbeatMs: settings.heartbeatMs, pollWaitMs: settings.pollWaitMs, leaseMs: settings.leaseMs };
}

function runnerOf(caller: Caller | undefined): RunnerRef {
  if (caller === undefined || caller.runnerId === '')
    throw apiError('validation_failed', 'caller is missing: a gateway names the runner it speaks for');
  return { runnerId: caller.runnerId, bootId: caller.bootId };
}

/** Who a gateway speaks for. The nonce of the request is used up first, so that one that comes twice does nothing the second time. */
async function admitted(nonces: NonceStore, caller: Caller | undefined): Promise<RunnerRef> {
  const runner = runnerOf(caller);
  const nonce = nonceOf(caller?.nonce);
  if (nonce !== undefined && !(await nonces.use(nonce))) throw replayed(nonce);
  return runner;
}

function nonceOf(message: UseNonceRequest | undefined): Nonce | undefined {
  if (message === undefined) return undefined;
  const { keyId, nonce, created } = message;
  return { keyId, nonce, created: timestampDate(required(created, 'created')) };
}

/** The message of a call that wraps another one. */
function required<T>(message: T | undefined, field: string): T {
  if (message === undefined) throw apiError('validation_failed', `${field} is missing`);
  return message;
}

/** Input of the statement, from a heartbeat as the wire has it. */
function heartbeatInput(
  runner: RunnerRef,
  message: Parameters<Service['heartbeat']>[0]['heartbeat'],
): HeartbeatInput {
  const { leases, draining, diagnostics, facts, labels } = required(message, 'heartbeat');
  return {
    draining: draining ?? false,
    ...runner,
    leases: leases.map(({ id, epoch, phase, phaseOffset }) => ({
      id,
      epoch,
      phase: phaseNumber(phase),
      ...(phaseOffset === undefined ? {} : { phaseOffset }),
    })),
    ...(diagnostics === undefined
      ? {}
      : {
          diagnostics: {
            containerCliVersion: diagnostics.containerCliVersion,
            deployCliVersion: diagnostics.deployCliVersion,
            workspaceFreeMb: diagnostics.workspaceFreeMb,
          },
        }),
    ...(facts === undefined ? {} : { facts }),
    // A map cannot be absent on the wire: an empty one says nothing.
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  };
}

function buildOutcome(build: BuildResult | undefined): BuildOutcome | undefined {
  if (build === undefined) return undefined;
  const { commit, buildType, image, digest, address, phase, phases } = build;
  return {
    commit,
    buildType: buildType === undefined ? undefined : buildTypeWord(buildType),
    image,
    digest,
    address,
    phase: phaseNumber(phase),
    phases: phases.map((each) => ({ phase: phaseNumber(each.phase), durationMs: each.durationMs })),
  };
}

type Service = Implementation<typeof DispatchService, DispatchCtx>;

export function createDispatch(deps: DispatchDeps): Handlers<DispatchCtx> {
  return implement(DispatchService, {
    ...keyCalls(deps),
    ...pollCalls(deps),
    ...leaseCalls(deps),
    report: reportCall(deps),
    watchFeatures: async ({ revision }, { signal }) => await watchGates(deps.features, revision, signal),
  });
}

function keyCalls({ db, nonces, enroll }: DispatchDeps): Pick<Service, 'resolveKey' | 'useNonce' | 'enroll'> {
  const { sql } = db;
  return {
    resolveKey: async ({ keyId }) => {
      const [row] = await sql<
        Array<{ id: string; team_id: string; public_key: Uint8Array; revoked: boolean }>
      >`
        select id, team_id, public_key, revoked_at is not null as revoked from runners where key_id = ${keyId}`;
      if (row === undefined) return { known: false };
      return {
        known: true,
        runnerId: row.id,
        teamId: row.team_id,
        publicKey: new Uint8Array(row.public_key),
        revoked: row.revoked,
      };
    },
    useNonce: async (message) => ({ fresh: await nonces.use(required(nonceOf(message), 'nonce')) }),
    enroll: async (request) => await enroll(request),
  };
}

function pollCalls(deps: DispatchDeps): Pick<Service, 'beginPoll' | 'claim' | 'returnHint'> {
  const { db, settings, clock } = deps;
  const { sql } = db;
  const isDue = createNoted(settings.seenEveryMs, clock);
  const offerOf = async (grant: Grant): Promise<MessageInitShape<typeof OfferSchema>> => ({
    work:
      grant.kind === 'build'
        ? { case: 'build', value: await deps.buildOffer(grant, settings.offerMs) }
        : { case: 'run', value: runOffer(grant, settings.offerMs, deps.secrets) },
  });
  const closed = (): boolean => deps.features.gate.state('host.runners') !== 'open';
  return {
    beginPoll: async (request) => {
      const runner = runnerOf(request.caller);
      let nonce = nonceOf(request.caller?.nonce);
      // Of a gateway that does not know yet. Not held: the next poll gets the gate's own answer.
      if (closed()) return { mayReceive: false, hold: false };
      const wantsWork = request.slots > 0 && request.notReady.length === 0;
      const notes = isDue(runner.runnerId, request.notReady);
      const poll = {
        pollId: request.pollId,
        ...runner,
        kind: kindWord(request.kind),
        notReady: request.notReady,
        wantsWork,
        notes,
      };
      const row = await asCurrentProcess(sql, runner, async () => {
        const outcome = await beginPoll(sql, settings, { nonce, ...poll });
        nonce = undefined; // used: a second statement goes on where the first one ended
        return outcome;
      });
      if (row.grant !== undefined) deps.hints.granted(row.grant.workId);
      return {
        mayReceive: row.may_receive && wantsWork,
        // A runner that only tells of itself, or is about to stop, must not be kept waiting; any other one must not spin.
        hold: request.slots > 0 && !row.draining,
        poolId: row.teamId,
        ...(row.grant === undefined ? {} : { offer: await offerOf(row.grant) }),
      };
    },
    claim: async (request) => {
      if (closed()) return {};
      const workId = request.workId === '' ? undefined : request.workId;
      const grant = await claim(sql, settings, {
        workId,
        ...runnerOf(request.caller),
        kind: kindWord(request.kind),
        pollId: request.pollId,
      });
      if (grant === undefined) return {};
      deps.hints.granted(grant.workId);
      return { offer: await offerOf(grant) };
    },
    returnHint: async ({ workId }) => {
      if (await returnHint(sql, workId)) deps.wakeRelay();
      return {};
    },
  };
}

function leaseCalls(deps: DispatchDeps): Pick<Service, 'heartbeat' | 'appendLogs'> {
  const { db, settings, queue, clock, wake, nonces, onError } = deps;
  const { sql } = db;
  const publish = (event: ControlEvent): void => void queue.publishControl(event).catch(onError);
  return {
    heartbeat: async ({ caller, heartbeat: message }) => {
      const runner = await admitted(nonces, caller);
      const input = heartbeatInput(runner, message);
      const row = await asCurrentProcess(sql, runner, async () => await heartbeat(sql, settings, input));
      // Whoever follows the build is notified of a phase.
      for (const { id, phase = 0 } of input.leases) if (phase > 0) wake.notify(id);
      if (input.draining && !row.draining) publish({ type: 'runner_changed', runnerId: runner.runnerId });
      return {
        leases: row.leases.map(({ id, epoch, status }) => ({
          id,
          epoch,
          state: leaseState(status),
          leaseMs: status === 'ok' ? settings.leaseMs : 0,
        })),
        directives: {
          sendDiagnostics: row.diagnostics_wanted && input.diagnostics === undefined,
          paused: row.paused,
          flagged: row.flagged,
          versionTooOld: row.outdated,
          upgradeRecommended: row.upgradable,
          minVersion: settings.minVersion,
          recommendedVersion: settings.recommendedVersion,
        },
        intervals: intervals(settings),
        serverTime: timestampFromDate(clock.now()),
      };
    },
    appendLogs: async ({ caller, kind, logs }) => {
      const { runnerId } = await admitted(nonces, caller);
      const { id, epoch, offset, chunks, end } = required(logs, 'logs');
      const stored = await appendLogs(sql, settings, {
        runnerId,
        kind: kindWord(kind),
        id,
        epoch,
        offset,
        pieces: chunks.map(({ stream, data, missingBytes }) => ({
          stream: streamWord(stream),
          data,
          missing: missingBytes ?? 0,
        })),
        ...(end === undefined ? {} : { end }),
      });
      wake.notify(id);
      return { nextOffset: stored.nextOffset, complete: stored.complete, state: leaseState(stored.status) };
    },
  };
}

function reportCall(deps: DispatchDeps): Service['report'] {
  const { db, settings, queue, wake, onError } = deps;
  const { sql } = db;
  return async ({ caller, kind, report: request }) => {
    const { runnerId } = runnerOf(caller);
    const { id, epoch, reportId, reason, exitCode, message, durationMs, waitedMs, build } = required(
      request,
      'report',
    );
    const done = await report(sql, settings, {
      runnerId,
      nonce: nonceOf(caller?.nonce),
      kind: kindWord(kind),
      id,
      epoch,
      reportId,
      reason: reasonWord(reason),
      exitCode,
      message,
      durationMs,
      waitedMs: waitedMs ?? 0,
      build: buildOutcome(build),
    });
    wake.notify(id);
    // The next build of the environment is due now.
    if (kind === WireKind.BUILD) deps.wakeRelay();
    if (done.strikes !== undefined && done.strikes >= settings.strikesMax)
      queue.publishControl({ type: 'runner_changed', runnerId }).catch(onError);
    return { accepted: true, repeated: done.repeated };
  };
}
