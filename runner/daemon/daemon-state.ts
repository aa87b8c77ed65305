/**
 * The daemon's table of runs and the control plane's latest directives, and how both reach the log and the
 * state file. daemon.ts owns the `Parts` that everything here works on.
 */
import type { Api } from '../control-plane/api.ts';
import type { Builds } from '../build/builds.ts';
import type { Deployers } from '../build/deployer.ts';
import { monotonicMs } from '../platform/clock.ts';
import type { Deliveries } from '../work/delivery.ts';
import { collectDiagnostics } from './diagnostics.ts';
import { errorText } from '../platform/errors.ts';
import type { Executor } from '../executor/executor.ts';
import type { HostSync } from '../host/host.ts';
import type { HostSites } from '../host/sites.ts';
import type { MachineDatabases } from '../database/databases.ts';
import type { Heartbeat } from '../control-plane/heartbeat.ts';
import type { Counters } from './counters.ts';
import type { DataPaths, RunnerConfig } from '../disk/identity.ts';
import type { Intervals } from '../control-plane/intervals.ts';
import type { Journal } from '../disk/journal.ts';
import type { Log } from '../platform/log.ts';
import type { Outbox } from '../disk/outbox.ts';
import type { Presence } from '../control-plane/presence.ts';
import type { Problems } from './problems.ts';
import type { Readiness } from './readiness.ts';
import type { WorkPhase } from '../work/run-work.ts';
import type { RunSettings } from './run-settings.ts';
import { EXIT, type Shutdown } from './shutdown.ts';
import type { Slots } from '../work/slots.ts';
import type { DaemonState } from './state-file.ts';
import type { Notifier } from './notify.ts';
import { VERSION } from '../platform/version.ts';
import type { VersionPolicy } from '../control-plane/version-policy.ts';
import type { FinalRefusal } from '../control-plane/retryable.ts';
import type { WireDirectives } from '../control-plane/wire.ts';
import { refKey, type WorkRef } from '../control-plane/work-ref.ts';

/** The control plane counts as reachable for so long after an answered heartbeat. */
const CONTACT_MS = 60_000;

export interface DaemonOptions {
  dataDir: string;
  config: RunnerConfig;
  settings: RunSettings;
  openExecutor: () => Promise<Executor>;
  /** Values that are masked in all output: proxy passwords and the like. */
  secrets: readonly string[];
  log: Log;
  problems: Problems;
  env: NodeJS.ProcessEnv;
}

export interface RunRow {
  ref: WorkRef;
  phase: WorkPhase;
  since: string;
}

/** The parts that the life cycle below works on. */
export interface DaemonParts {
  options: DaemonOptions;
  paths: DataPaths;
  bootId: string;
  startedAt: string;
  shutdown: Shutdown;
  slots: Slots;
  runs: Map<string, RunRow>;
  works: Set<Promise<void>>;
  deployers: Deployers;
  /** Undefined where no edge is switched on. */
  sites: HostSites | undefined;
  databases: MachineDatabases | undefined;
  /** Undefined where no engine brings apps up. */
  host: HostSync | undefined;
  /** Undefined when this runner takes no builds. */
  builds: Builds | undefined;
  /** Builds of an earlier process whose output is still to be sent. */
  deadBuilds: readonly WorkRef[];
  /** Runs of an earlier process that is proven dead, and of which nothing runs any more. */
  deadRuns: readonly WorkRef[];
  /** Runs that hold a slot. */
  runsNow: Set<Promise<void>>;
  api: Api;
  counters: Counters;
  version: VersionPolicy;
  executor: Executor;
  journal: Journal;
  outbox: Outbox;
  deliveries: Deliveries;
  heartbeat: Heartbeat;
  readiness: Readiness;
  presence: Presence;
  notifier: Notifier;
  machineBoot: string;
  controlPlane: ControlPlaneState;
  offsetMs: () => number;
  writeState: () => Promise<void>;
  /** Set once the operators' view runs (operations.ts): called after every heartbeat. */
  onBeat?: (ok: boolean) => void;
}

/** The times of an answered heartbeat, on both clocks: the wall clock is for people. */
interface Contact {
  atMs: number;
  /** The call was sent at this time. */
  sentMonotonicMs: number;
}

/** The latest state of this runner at the control plane. */
export interface ControlPlaneState {
  intervals: Intervals;
  lastContact: Contact | undefined;
  paused: boolean;
  flagged: boolean;
  notReady: string[];
}

export function phaseNoter(parts: DaemonParts): (ref: WorkRef, phase: WorkPhase | undefined) => void {
  return (ref, phase) => {
    if (phase === undefined) parts.runs.delete(refKey(ref));
    else parts.runs.set(refKey(ref), { ref, phase, since: new Date().toISOString() });
    void noteState(parts);
  };
}

export function applyContact(
  parts: DaemonParts,
  contact: Contact & { directives: WireDirectives; intervals: Intervals },
): void {
  const { controlPlane, options } = parts;
  const { paused = false, flagged = false } = contact.directives;
  const first = controlPlane.lastContact === undefined;
  parts.presence.served(contact.sentMonotonicMs);
  parts.version.update(contact.directives);
  // An older control plane says nothing of it.
  if (contact.directives.hostRevision !== undefined) parts.host?.wanted(contact.directives.hostRevision);
  controlPlane.lastContact = { atMs: contact.atMs, sentMonotonicMs: contact.sentMonotonicMs };
  controlPlane.intervals = contact.intervals;
  if (paused !== controlPlane.paused)
    options.log.info(
      { paused },
      paused ? 'paused by the team: running work goes on, no new work comes' : 'no longer paused',
    );
  if (flagged && !controlPlane.flagged)
    options.log.warn({}, 'refused new work after divergence strikes; a team owner can clear the flag');
  controlPlane.paused = paused;
  controlPlane.flagged = flagged;
  if (first) {
    options.log.info({ url: options.config.baseUrl }, 'in contact with the control plane');
    void noteState(parts);
  }
  if (contact.directives.sendDiagnostics === true) void sendDiagnostics(parts);
}

async function sendDiagnostics(parts: DaemonParts): Promise<void> {
  try {
    parts.heartbeat.sendDiagnostics(await collectDiagnostics(parts.executor, parts.paths.dataDir));
  } catch (error) {
    parts.options.log.warn({ problem: errorText(error) }, 'self-diagnostics failed');
  }
}

export function noteNotReady(parts: DaemonParts, reasons: string[]): void {
  const changed = reasons.join('\n') !== parts.controlPlane.notReady.join('\n');
  parts.controlPlane.notReady = reasons;
  if (!changed) return;
  if (reasons.length > 0) parts.options.log.warn({ reasons }, 'taking no work for now');
  else parts.options.log.info({}, 'ready for work');
}

export function stopForGood(
  options: DaemonOptions,
  shutdown: Shutdown,
  { verdict, message }: FinalRefusal,
): void {
  if (shutdown.exitCode !== EXIT.ok) return;
  if (verdict === 'revoked') {
    options.log.error(
      { problem: message },
      'this runner was revoked: killing its tasks and stopping; enroll it anew with a fresh token to use it again',
    );
    shutdown.fail(EXIT.revoked);
  } else {
    options.log.error(
      { problem: message },
      'another process took this runner over: killing its tasks and stopping; is a copy of its data folder in use',
    );
    shutdown.fail(EXIT.superseded);
  }
}

export function inContact({
  controlPlane: { lastContact },
}: {
  controlPlane: Pick<ControlPlaneState, 'lastContact'>;
}): boolean {
  return lastContact !== undefined && monotonicMs() - lastContact.sentMonotonicMs < CONTACT_MS;
}

/** Writes the state file; a failure is only logged. */
export async function noteState(parts: DaemonParts): Promise<void> {
  try {
    await parts.writeState();
  } catch (error) {
    parts.options.log.debug({ problem: errorText(error) }, 'the state file cannot be written');
  }
}

export async function snapshot(parts: DaemonParts): Promise<DaemonState> {
  const { controlPlane, runs, slots } = parts;
  const { away } = parts.presence;
  return {
    version: VERSION,
    pid: process.pid,
    bootId: parts.bootId,
    runnerId: parts.options.config.runnerId,
    baseUrl: parts.options.config.baseUrl,
    executor: parts.executor.name,
    startedAt: parts.startedAt,
    writtenAt: new Date().toISOString(),
    ...(controlPlane.lastContact === undefined
      ? {}
      : { lastContactAt: new Date(controlPlane.lastContact.atMs).toISOString() }),
    ...(away === undefined ? {} : { away }),
    clockOffsetMs: parts.offsetMs(),
    // The free slots of `slots` do not count: the poller holds one while it asks.
    slots: { total: slots.total, free: slots.total - parts.runsNow.size },
    ...(parts.builds === undefined
      ? {}
      : {
          buildSlots: {
            total: parts.builds.slots.total,
            free: parts.builds.slots.total - (parts.works.size - parts.runsNow.size),
          },
        }),
    intervals: controlPlane.intervals,
    versionSupport: parts.version.support,
    draining: parts.shutdown.stopTaking.aborted,
    paused: controlPlane.paused,
    flagged: controlPlane.flagged,
    notReady: controlPlane.notReady,
    runs: [...runs.values()].map(({ ref, phase, since }) => ({ id: ref.id, epoch: ref.epoch, phase, since })),
    leases: parts.heartbeat.held().length,
    journalOpen: parts.journal.open().length,
    outbox: parts.outbox.depth,
    spoolBytes: await parts.readiness.spoolBytes(),
    freeMb: await parts.readiness.freeMb(),
    lastProblems: parts.options.problems.last(),
  };
}
