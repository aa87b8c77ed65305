/**
 * The dispatch service answers gateways, one ask a call. Each ask is one statement, which serves what came
 * together, and tells those who wait for its outcome; nothing is kept between calls, so that any server
 * answers any call.
 */
import { create, toJson, type DescMessage, type Message, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  CALLS,
  type AnswerInit,
  type Ask,
  type CallName,
  type Dispatch,
} from '@svc/proto/dispatch/dispatch.ts';
import {
  WorkKind as WireKind,
  type Caller,
  type OfferSchema,
} from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { NginxLogKind } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import {
  HostFactsSchema,
  LeaseStateSchema,
  ObservedAppSchema,
  SyncHostResponseSchema,
  type BuildOfferSchema,
  type BuildResult,
  type HostFacts,
  type HostLog,
  type IntervalsSchema,
  type LeaseState,
  type SyncHostResponse,
} from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { apiError, toApiError } from '@svc/proto/http/errors.ts';
import type { ControlEvent, WorkQueue } from '@svc/proto/queue/queue.ts';
import type { Clock } from '../../base/clock.ts';
import { mapDatabaseError, type Database } from '../../base/db/index.ts';
import { enumNumber, given, shown, type Row } from '../../kit/resource/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { HostPart } from '../../apps/hosting/index.ts';
import { imageEvidence } from '../evidence/index.ts';
import { createAppendLogs } from './append-logs.ts';
import { asCurrentProcess } from './boot.ts';
import type { BuildOutcome } from './build-sql.ts';
import { giveBack } from './give-back.ts';
import { createHeartbeat, type HeartbeatInput, type LeaseStatus } from './heartbeat.ts';
import { createKeys } from './keys.ts';
import type { Nonce, Signed } from './nonces.ts';
import { watchGates, type FeatureGates } from './features.ts';
import { buildTypeWord, kindWord, phaseNumber, reasonWord, streamWord } from './words.ts';
import { createPoll, type Grant } from './poll.ts';
import { createReport } from './report.ts';
import { runOffer } from './run-spec.ts';
import type { WorkSettings } from './settings.ts';
import type { CallingRunner, RunnerRef } from './sql.ts';
import { createSyncHost } from './sync-host.ts';
import type { Wake } from './wake.ts';

export interface DispatchDeps {
  readonly db: Database;
  readonly queue: WorkQueue;
  readonly clock: Clock;
  readonly settings: WorkSettings;
  readonly wake: Wake;
  readonly features: FeatureGates;
  /** Opens what a run's owner gave to its runner alone. */
  readonly secrets: Pick<Secrets, 'open'>;
  /** See builds/offer.ts. Throws CannotBegin for a build that no runner could end well. */
  buildOffer(grant: Grant, offerMs: number): Promise<MessageInitShape<typeof BuildOfferSchema>>;
  /** See runners/enroll.ts. */
  readonly enroll: One<'enroll'>;
  /** What features add to the documents of apps; asked when all have started. */
  hostParts(): readonly HostPart[];
  /** See apps/edgelogs/take.ts. */
  readonly takeHostLogs: TakeHostLogs;
  /** Something is due for a hint. */
  wakeRelay(): void;
  /** A notice that could not be sent; what it would have said is found out a moment later anyway. */
  onError(error: unknown): void;
}

/** A runner tells this of the logs of its machine. */
export interface HostLogsInput extends RunnerRef, Signed {
  readonly logs: ReadonlyArray<Omit<HostLog, 'kind'> & { readonly kind: 'access' | 'error' }>;
}

/** Resolves with undefined where there is no such runner. When it is not current, nothing was changed. */
export type TakeHostLogs = (input: HostLogsInput) => Promise<CallingRunner | undefined>;

/** A granted item ends with its message, and its runner gets another one. */
export class CannotBegin extends Error {
  override readonly name = 'CannotBegin';
}

const leaseState = (status: LeaseStatus): LeaseState => enumNumber(LeaseStateSchema, status);

export function intervals(settings: WorkSettings): MessageInitShape<typeof IntervalsSchema> {
  return { heartbeatMs: settings.heartbeatMs, pollWaitMs: settings.pollWaitMs, leaseMs: settings.leaseMs };
}

/** Returns who a gateway speaks for, and the nonce of the request that it carries out. */
function callerOf(caller: Caller | undefined): RunnerRef & { readonly nonce: Nonce | undefined } {
  if (caller === undefined || caller.runnerId === '')
    throw apiError('validation_failed', 'caller is missing: a gateway names the runner it speaks for');
  const { runnerId, bootId } = caller;
  return { runnerId, bootId, nonce: nonceOf(caller.nonce) };
}

function nonceOf(message: Caller['nonce']): Nonce | undefined {
  if (message === undefined) return undefined;
  const { keyId, nonce, created } = message;
  return { keyId, nonce, created: timestampDate(required(created, 'created')) };
}

/** The message of a call that wraps another one. */
function required<T>(message: T | undefined, field: string): T {
  if (message === undefined) throw apiError('validation_failed', `${field} is missing`);
  return message;
}

/** All fields stand in what is stored, those that are empty, too. */
const storedHost = (host: HostFacts): object =>
  toJson(HostFactsSchema, host, { alwaysEmitImplicit: true }) as object;

/** Input of the statement, from a heartbeat as the wire has it. */
function heartbeatInput({ caller, heartbeat }: Ask<'heartbeat'>): HeartbeatInput {
  const { leases, draining, diagnostics, facts, labels } = required(heartbeat, 'heartbeat');
  return {
    draining: draining ?? false,
    ...callerOf(caller),
    leases: leases.map((lease) => ({ ...lease, phase: phaseNumber(lease.phase) })),
    diagnostics: diagnostics && {
      containerCliVersion: diagnostics.containerCliVersion,
      deployCliVersion: diagnostics.deployCliVersion,
      workspaceFreeMb: diagnostics.workspaceFreeMb,
    },
    facts: facts && { ...facts, host: facts.host && storedHost(facts.host) },
    // A map cannot be absent on the wire: an empty one says nothing.
    labels: Object.keys(labels).length === 0 ? undefined : labels,
  };
}

function buildOutcome(build: BuildResult | undefined): BuildOutcome | undefined {
  if (build === undefined) return undefined;
  const { commit, ref, buildType, image, digest, tag, address, phase, phases } = build;
  return {
    commit,
    ref,
    buildType: buildType === undefined ? undefined : buildTypeWord(buildType),
    image,
    digest,
    tag,
    address,
    phase: phaseNumber(phase),
    phases: phases.map((each) => ({ phase: phaseNumber(each.phase), durationMs: each.durationMs })),
    ...imageEvidence(build),
  };
}

/** Its failures are ApiErrors, for a gateway in this process as for one that is far away. */
export function createDispatch(deps: DispatchDeps): Dispatch {
  const { heartbeat, appendLogs } = leaseCalls(deps);
  return {
    watchFeatures: serve('watchFeatures', async ({ revision }) => await watchGates(deps.features, revision)),
    enroll: serve('enroll', deps.enroll),
    resolveKey: serve('resolveKey', createKeys(deps.db.sql)),
    poll: serve('poll', pollCall(deps)),
    heartbeat: serve('heartbeat', heartbeat),
    appendLogs: serve('appendLogs', appendLogs),
    report: serve('report', reportCall(deps)),
    syncHost: serve('syncHost', syncHostCall(deps)),
    hostLogs: serve('hostLogs', hostLogsCall(deps)),
  };
}

/** Answers one ask. */
type One<Name extends CallName> = (ask: Ask<Name>) => Promise<AnswerInit<Name>>;

function serve<Name extends CallName>(name: Name, one: One<Name>): Dispatch[Name] {
  const { ask: askSchema, answer: answerSchema }: { ask: DescMessage; answer: DescMessage } = CALLS[name];
  // The two schemas are those of the name.
  const call = async (ask: MessageInitShape<DescMessage>): Promise<Message> => {
    try {
      const answer = await one(create(askSchema, ask) as Ask<Name>);
      return create(answerSchema, answer as MessageInitShape<DescMessage>);
    } catch (error) {
      throw toApiError(mapDatabaseError(error));
    }
  };
  return call as Dispatch[Name];
}

function pollCall(deps: DispatchDeps): One<'poll'> {
  const { db, settings } = deps;
  const poll = createPoll(db.sql, settings);
  const end = endItem(deps);
  const offerOf = async (grant: Grant): Promise<MessageInitShape<typeof OfferSchema>> => ({
    work:
      grant.kind === 'build'
        ? { case: 'build', value: await deps.buildOffer(grant, settings.offerMs) }
        : { case: 'run', value: runOffer(grant, settings.offerMs, deps.secrets) },
  });
  return async ({ caller, kind, pollId, slots, notReady, further }) => {
    const runner = callerOf(caller);
    // It is the poll of a gateway that does not know yet. Not held: the next poll gets the gate's own answer.
    if (deps.features.gate.state('host.runners') !== 'open') return { mayReceive: false, hold: false };
    const wantsWork = slots > 0 && notReady.length === 0;
    const input = { ...runner, kind: kindWord(kind), pollId, notReady, wantsWork, sharesNonce: further };
    for (let { nonce } = runner; ; nonce = undefined) {
      const { grant, ...row } = await asCurrentProcess(db.sql, { ...input, nonce }, poll);
      const offer = grant && (await offerOf(grant).catch(cannotBegin));
      if (offer instanceof CannotBegin) {
        if (grant !== undefined) await end(grant, { runnerId: runner.runnerId, message: offer.message });
        continue;
      }
      return {
        mayReceive: row.may_receive && wantsWork,
        // A runner that only tells of itself, or is about to stop, must not be kept waiting; any other one
        // must not spin.
        hold: slots > 0 && !row.draining,
        poolId: row.teamId,
        waits: row.waits,
        ...(offer === undefined ? {} : { offer }),
      };
    }
  };
}

function cannotBegin(error: unknown): CannotBegin {
  if (error instanceof CannotBegin) return error;
  throw error;
}

/** Ends a granted item in the place of its runner, which does not hear of it. */
function endItem({ db, settings, wake, wakeRelay }: DispatchDeps) {
  const reportTo = createReport(db.sql, settings);
  return async (
    { workId: id, kind, epoch, leaseId }: Grant,
    { runnerId, message }: { readonly runnerId: string; readonly message: string },
  ): Promise<void> => {
    const build = kind === 'build' ? { build: buildOutcome(undefined) } : {};
    await reportTo({
      id,
      kind,
      epoch,
      runnerId,
      nonce: undefined,
      reportId: leaseId,
      reason: 'engine_error',
      message,
      ...build,
    });
    wake.notify(id);
    wakeRelay();
  };
}

function leaseCalls(deps: DispatchDeps): { heartbeat: One<'heartbeat'>; appendLogs: One<'appendLogs'> } {
  const { db, settings, queue, clock, wake, onError } = deps;
  const { sql } = db;
  const beat = createHeartbeat(sql, settings);
  const append = createAppendLogs(sql, settings);
  const publish = (event: ControlEvent): void => void queue.publishControl(event).catch(onError);
  return {
    heartbeat: async (ask) => {
      const input = heartbeatInput(ask);
      const row = await asCurrentProcess(sql, input, beat);
      // Whoever follows the build is notified of a phase.
      for (const { id, phase = 0 } of input.leases) if (phase > 0) wake.notify(id);
      const freed = await giveBack(sql, settings, {
        ...input,
        leases: required(ask.heartbeat, 'heartbeat').givenBack,
      });
      for (const { id } of freed) wake.notify(id);
      if (freed.length > 0) deps.wakeRelay();
      if (input.draining && !row.draining) publish({ type: 'runner_changed', runnerId: input.runnerId });
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
          hostRevision: row.hostRevision,
        },
        intervals: intervals(settings),
        serverTime: timestampFromDate(clock.now()),
      };
    },
    appendLogs: async ({ caller, kind, logs }) => {
      const { chunks, ...output } = required(logs, 'logs');
      const pieces = chunks.map(({ stream, data, missingBytes: missing = 0 }) => ({
        stream: streamWord(stream),
        data,
        missing,
      }));
      const stored = await append({ ...output, ...callerOf(caller), kind: kindWord(kind), pieces });
      wake.notify(output.id);
      return { nextOffset: stored.nextOffset, complete: stored.complete, state: leaseState(stored.status) };
    },
  };
}

function reportCall(deps: DispatchDeps): One<'report'> {
  const { db, settings, queue, wake, onError } = deps;
  const reportTo = createReport(db.sql, settings);
  return async ({ caller, kind, report }) => {
    const told = required(report, 'report');
    const { runnerId, ...signed } = callerOf(caller);
    const reason = reasonWord(told.reason);
    const build = buildOutcome(told.build);
    const done = await reportTo({ ...told, ...signed, runnerId, kind: kindWord(kind), reason, build });
    wake.notify(told.id);
    // The next build of the environment is due now.
    if (kind === WireKind.BUILD) deps.wakeRelay();
    if (done.strikes !== undefined && done.strikes >= settings.strikesMax)
      queue.publishControl({ type: 'runner_changed', runnerId }).catch(onError);
    return { accepted: true, repeated: done.repeated };
  };
}

/** A runner calls again by itself after so long, whatever its heartbeats answer. */
const SYNC_EVERY_MS = 300_000;

function syncHostCall({ db, settings, hostParts }: DispatchDeps): One<'syncHost'> {
  const sync = createSyncHost(db.sql, settings, hostParts);
  return async ({ caller, host }) => {
    const { have, observed, removed } = required(host, 'host');
    const seen = observed.map((app) => ({ revision: 0, ...given(ObservedAppSchema, app) }));
    const row = await asCurrentProcess(db.sql, { ...callerOf(caller), have, observed: seen, removed }, sync);
    const { revision, apps, tombstones, more } = row;
    return shown(SyncHostResponseSchema, {
      revision,
      apps,
      tombstones,
      more,
      nextMs: SYNC_EVERY_MS,
    } as Row<SyncHostResponse>);
  };
}

/** A runner tells so often what was logged. */
const LOGS_EVERY_MS = 10_000;

function hostLogsCall({ db, takeHostLogs }: DispatchDeps): One<'hostLogs'> {
  return async ({ caller, logged }) => {
    const logs = required(logged, 'logged').logs.map((log) => ({
      ...log,
      kind: log.kind === NginxLogKind.ERROR ? ('error' as const) : ('access' as const),
    }));
    await asCurrentProcess(db.sql, { ...callerOf(caller), logs }, takeHostLogs);
    return { nextMs: LOGS_EVERY_MS };
  };
}
