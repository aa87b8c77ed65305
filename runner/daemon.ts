/**
 * The daemon: wires the parts, in the order in which they may rely on each other, and takes them down in reverse.
 *
 *   lock → journal, outbox → executor, reap → heartbeat thread → results of the last process → poll loop ⇄ runs
 *
 * It listens on nothing: everything goes out, and people ask through the state file. This file owns the table of runs.
 */
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { createApi, type Api } from './api.ts';
import { createClockOffset, monotonicMs, pause, wallMs } from './clock.ts';
import { createDeliveries, type Deliveries } from './delivery.ts';
import { collectDiagnostics } from './diagnostics.ts';
import { errorText } from './durable-file.ts';
import type { Executor } from './executor/executor.ts';
import { startHeartbeat, type Heartbeat } from './heartbeat.ts';
import { createHttpClient } from './http-client.ts';
import { dataPaths, ensureDataDir, readKey, type DataPaths, type RunnerConfig } from './identity.ts';
import { DEFAULT_INTERVALS, steer } from './intervals.ts';
import { openJournal, type Journal } from './journal.ts';
import { acquireLock } from './lock.ts';
import type { Log } from './log.ts';
import { listSpools } from './log-spool.ts';
import { openOutbox, readMachineBoot, type Outbox } from './outbox.ts';
import { runPollLoop } from './poll-loop.ts';
import { createReadiness, type Readiness } from './readiness.ts';
import { closeLeftovers, redeliver } from './recover.ts';
import { runWork, type WorkPhase } from './run-work.ts';
import type { RunSettings } from './settings.ts';
import { createShutdown, EXIT, type ExitCode, type Shutdown } from './shutdown.ts';
import { createSlots, type Slots } from './slots.ts';
import { createStateWriter, type DaemonState } from './state-file.ts';
import { VERSION } from './version.ts';
import type { RunOffer } from './wire.ts';
import { refKey, type WorkRef } from './work-ref.ts';

const STATE_MS = 5_000;
const ENGINE_CHECK_MS = 60_000;
/** After the tasks have ended: for last output and results. What is left waits in the outbox. */
const FLUSH_MS = 10_000;
/** Killed tasks are gone by then; the executor has its own, shorter, limits. */
const KILL_MS = 20_000;
/** A heartbeat within this time: the control plane is there. */
const CONTACT_MS = 60_000;

export interface DaemonOptions {
  dataDir: string;
  config: RunnerConfig;
  settings: RunSettings;
  openExecutor: () => Promise<Executor>;
  /** Struck out of all output: proxy passwords and the like. */
  secrets: readonly string[];
  log: Log;
  env: NodeJS.ProcessEnv;
}

export interface Daemon {
  /** Resolves when everything is closed. Never rejects. */
  readonly done: Promise<ExitCode>;
  /** SIGTERM or SIGINT came. */
  onSignal(): void;
}

interface RunRow {
  ref: WorkRef;
  phase: WorkPhase;
  since: string;
}

/** The parts that the life cycle below works on. */
interface Parts {
  options: DaemonOptions;
  paths: DataPaths;
  bootId: string;
  startedAt: string;
  shutdown: Shutdown;
  slots: Slots;
  runs: Map<string, RunRow>;
  works: Set<Promise<void>>;
  api: Api;
  executor: Executor;
  journal: Journal;
  outbox: Outbox;
  deliveries: Deliveries;
  heartbeat: Heartbeat;
  readiness: Readiness;
  machineBoot: string;
  server: ServerWord;
  offsetMs: () => number;
  writeState: () => Promise<void>;
}

/** What the control plane said last. */
interface ServerWord {
  intervals: ReturnType<typeof steer>;
  lastContactAtMs: number | undefined;
  paused: boolean;
  flagged: boolean;
  notReady: string[];
}

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { log } = options;
  const paths = dataPaths(options.dataDir);
  ensureDataDir(paths.dataDir);
  const bootId = randomUUID();
  const lock = await acquireLock(paths.dataDir, bootId);
  try {
    const shutdown = createShutdown();
    const parts = await openParts(options, paths, bootId, shutdown);
    log.info({ runner: options.config.runnerId, executor: parts.executor.describe(), slots: options.settings.slots, version: VERSION }, 'runner started');
    const done = live(parts)
      .catch((error: unknown) => {
        log.error({ problem: errorText(error) }, 'the daemon failed');
        shutdown.fail(EXIT.failed);
      })
      .then(async () => {
        await lock.release();
        log.info({ exitCode: shutdown.exitCode }, 'runner stopped');
        return shutdown.exitCode;
      });
    return { done, onSignal: () => onSignal(parts) };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function openParts(options: DaemonOptions, paths: DataPaths, bootId: string, shutdown: Shutdown): Promise<Parts> {
  const { config, settings, log } = options;
  const key = readKey(paths.key);
  await mkdir(paths.spool, { recursive: true, mode: 0o700 });
  const machineBoot = readMachineBoot();
  const journal = await openJournal({ path: paths.journal });
  const outbox = await openOutbox({ folder: paths.outbox, machineBoot, log });
  const executor = await options.openExecutor();
  const runs = new Map<string, RunRow>();
  const isLive = (ref: WorkRef) => runs.has(refKey(ref));
  const readiness = createReadiness({ dataDir: paths.dataDir, spoolFolder: paths.spool, minFreeMb: settings.minFreeMb, executor, isLive, log });
  // Nothing is live yet: whatever carries our label is from a process that is gone.
  await readiness.checkEngine();
  await closeLeftovers({ journal, outbox, spoolFolder: paths.spool, log });

  const offset = createClockOffset();
  const http = createHttpClient({ env: options.env, ...(settings.ca === undefined ? {} : { ca: settings.ca }) });
  const api = createApi({ baseUrl: config.baseUrl, runnerId: config.runnerId, key, http, offset, log });
  const server: ServerWord = {
    intervals: steer(DEFAULT_INTERVALS, config.intervals),
    lastContactAtMs: undefined,
    paused: false,
    flagged: false,
    notReady: [],
  };
  const onFatal = (verdict: 'revoked' | 'boot_superseded', message: string) => stopForGood(options, shutdown, verdict, message);
  const heartbeat = startHeartbeat(
    {
      baseUrl: config.baseUrl,
      runnerId: config.runnerId,
      keyPath: paths.key,
      ...(settings.caFile === undefined ? {} : { caFile: settings.caFile }),
      bootId,
      facts: { version: VERSION, os: process.platform, arch: process.arch, isolation: executor.isolation, executor: executor.name },
      labels: config.labels,
      intervals: server.intervals,
      offset: offset.shared,
    },
    log,
    {
      onContact: (contact) => hear(parts, contact),
      onFatal,
      onCrash(error) {
        log.error({ problem: error.message }, 'the heartbeat thread died; stopping, so that the service manager starts anew');
        shutdown.fail(EXIT.failed);
      },
    },
  );
  const deliveries = createDeliveries({ api, outbox, journal, machineBoot, signal: shutdown.abandon, onFatal, log });
  const parts: Parts = {
    options,
    paths,
    bootId,
    startedAt: new Date().toISOString(),
    shutdown,
    slots: createSlots(settings.slots),
    runs,
    works: new Set(),
    api,
    executor,
    journal,
    outbox,
    deliveries,
    heartbeat,
    readiness,
    machineBoot,
    server,
    offsetMs: () => offset.get(),
    writeState: createStateWriter(paths.state, async () => await snapshot(parts)),
  };
  return parts;
}

/** Runs until there is a reason to end, and ends in order. */
async function live(parts: Parts): Promise<void> {
  const { shutdown, heartbeat, options } = parts;
  const timers = [
    setInterval(() => void noteState(parts), STATE_MS),
    setInterval(() => void parts.readiness.checkEngine(), ENGINE_CHECK_MS),
  ];
  await noteState(parts);
  await redeliver({ ...parts, spoolFolder: parts.paths.spool, abandon: shutdown.abandon, inContact: () => inContact(parts), onPhase: phaseNoter(parts), log: options.log });
  const polling = runPollLoop({
    api: parts.api,
    bootId: parts.bootId,
    slots: parts.slots,
    held: () => heartbeat.held(),
    notReady: async () => await parts.readiness.reasons(),
    waitMs: () => parts.server.intervals.pollWaitMs,
    onOffer: async (offer) => await work(parts, offer),
    onFatal: (verdict, message) => stopForGood(options, shutdown, verdict, message),
    onNotReady: (reasons) => noteNotReady(parts, reasons),
    stop: shutdown.stopTaking,
    log: options.log,
  }).catch((error: unknown) => {
    options.log.error({ problem: errorText(error) }, 'the poller failed');
    shutdown.fail(EXIT.failed);
  });

  await shutdown.begun;
  heartbeat.drain();
  await Promise.all([polling, drain(parts)]);
  await parts.deliveries.settle(shutdown.exitCode === EXIT.ok ? FLUSH_MS : 0);
  shutdown.giveUp();
  await parts.deliveries.settle(FLUSH_MS);
  await heartbeat.stop();
  for (const timer of timers) clearInterval(timer);
  await parts.journal.close();
  await noteState(parts);
}

/** Waits for the running tasks: until they have ended, or the time is over, or somebody is out of patience. */
async function drain(parts: Parts): Promise<void> {
  const { shutdown, works, options } = parts;
  if (works.size > 0 && !shutdown.cancelWork.aborted) {
    const { drainTimeoutMs } = options.settings;
    options.log.info({ runs: works.size, drainTimeoutMs }, `draining: ${works.size} runs, up to ${Math.round(drainTimeoutMs / 1000)} s; a second signal cancels them`);
    await settled(works, drainTimeoutMs, shutdown.cancelWork);
  }
  if (works.size === 0) return;
  options.log.warn({ runs: works.size }, `cancelling ${works.size} runs; they go back to the queue`);
  shutdown.cancel();
  await settled(works, KILL_MS);
}

async function settled(works: Set<Promise<void>>, ms: number, patience?: AbortSignal): Promise<void> {
  const deadline = monotonicMs() + ms;
  while (works.size > 0 && monotonicMs() < deadline && patience?.aborted !== true) {
    const over = new AbortController();
    const signal = patience === undefined ? over.signal : AbortSignal.any([over.signal, patience]);
    await Promise.race([Promise.all(works), pause(deadline - monotonicMs(), signal)]);
    over.abort();
  }
}

async function work(parts: Parts, offer: RunOffer): Promise<void> {
  const { options, shutdown } = parts;
  const done = runWork(offer, {
    ...parts,
    runnerId: options.config.runnerId,
    spoolFolder: parts.paths.spool,
    secrets: options.secrets,
    cancel: shutdown.cancelWork,
    abandon: shutdown.abandon,
    inContact: () => inContact(parts),
    leaseMs: () => parts.server.intervals.leaseMs,
    onPhase: phaseNoter(parts),
    onEngineError: () => void parts.readiness.checkEngine(),
    log: options.log,
  });
  parts.works.add(done);
  await done;
  parts.works.delete(done);
}

function phaseNoter(parts: Parts): (ref: WorkRef, phase: WorkPhase | undefined) => void {
  return (ref, phase) => {
    if (phase === undefined) parts.runs.delete(refKey(ref));
    else parts.runs.set(refKey(ref), { ref, phase, since: new Date().toISOString() });
    void noteState(parts);
  };
}

function hear(parts: Parts, contact: { atMs: number; directives: { sendDiagnostics?: boolean; paused?: boolean; flagged?: boolean }; intervals: ServerWord['intervals'] }): void {
  const { server, options } = parts;
  const { paused = false, flagged = false } = contact.directives;
  const first = server.lastContactAtMs === undefined;
  server.lastContactAtMs = contact.atMs;
  server.intervals = contact.intervals;
  if (paused !== server.paused) options.log.info({ paused }, paused ? 'paused by the team: running work goes on, no new work comes' : 'no longer paused');
  if (flagged && !server.flagged) options.log.warn({}, 'refused new work after divergence strikes; a team owner can clear the flag');
  server.paused = paused;
  server.flagged = flagged;
  if (first) {
    options.log.info({ url: options.config.baseUrl }, 'in contact with the control plane');
    void noteState(parts);
  }
  if (contact.directives.sendDiagnostics === true) void sendDiagnostics(parts);
}

async function sendDiagnostics(parts: Parts): Promise<void> {
  try {
    parts.heartbeat.sendDiagnostics(await collectDiagnostics(parts.executor, parts.paths.dataDir));
  } catch (error) {
    parts.options.log.warn({ problem: errorText(error) }, 'self-diagnostics failed');
  }
}

function noteNotReady(parts: Parts, reasons: string[]): void {
  const changed = reasons.join('\n') !== parts.server.notReady.join('\n');
  parts.server.notReady = reasons;
  if (!changed) return;
  if (reasons.length > 0) parts.options.log.warn({ reasons }, 'taking no work for now');
  else parts.options.log.info({}, 'ready for work');
}

function stopForGood(options: DaemonOptions, shutdown: Shutdown, verdict: 'revoked' | 'boot_superseded', message: string): void {
  if (shutdown.exitCode !== EXIT.ok) return;
  if (verdict === 'revoked') {
    options.log.error({ problem: message }, 'this runner was revoked: killing its tasks and stopping; enroll it anew with a fresh token to use it again');
    shutdown.fail(EXIT.revoked);
  } else {
    options.log.error({ problem: message }, 'another process took this runner over: killing its tasks and stopping; is a copy of its data folder in use');
    shutdown.fail(EXIT.superseded);
  }
}

function inContact(parts: Parts): boolean {
  const { lastContactAtMs } = parts.server;
  return lastContactAtMs !== undefined && wallMs() - lastContactAtMs < CONTACT_MS;
}

function onSignal(parts: Parts): void {
  const step = parts.shutdown.request();
  parts.options.log.info({ step }, step === 'drain' ? 'asked to stop: taking no new work' : 'asked again: cancelling what runs');
}

/** A failure is not worth more than a line. */
async function noteState(parts: Parts): Promise<void> {
  try {
    await parts.writeState();
  } catch (error) {
    parts.options.log.debug({ problem: errorText(error) }, 'the state file cannot be written');
  }
}

async function snapshot(parts: Parts): Promise<DaemonState> {
  const { server, runs, slots } = parts;
  return {
    version: VERSION,
    pid: process.pid,
    bootId: parts.bootId,
    runnerId: parts.options.config.runnerId,
    baseUrl: parts.options.config.baseUrl,
    executor: parts.executor.name,
    startedAt: parts.startedAt,
    writtenAt: new Date().toISOString(),
    ...(server.lastContactAtMs === undefined ? {} : { lastContactAt: new Date(server.lastContactAtMs).toISOString() }),
    clockOffsetMs: parts.offsetMs(),
    // Not the free ones of `slots`: the poller holds one while it asks.
    slots: { total: slots.total, free: slots.total - parts.works.size },
    draining: parts.shutdown.stopTaking.aborted,
    paused: server.paused,
    flagged: server.flagged,
    notReady: server.notReady,
    runs: [...runs.values()].map(({ ref, phase, since }) => ({ id: ref.id, epoch: ref.epoch, phase, since })),
    outbox: parts.outbox.depth,
    spoolBytes: (await listSpools(parts.paths.spool)).bytes,
  };
}
