/**
 * The daemon wires the parts, in the order in which they may rely on each other, and takes them down in
 * reverse.
 *
 *   lock → executor, journal, outbox → reap → heartbeat thread → results of the last process → poll loop ⇄
 *   runs
 *
 * It listens on no port: all connections go out, and people read the state file. This file owns the table of
 * runs.
 *
 */
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { unknownExemptions } from '@svc/proto/proxy/proxy.ts';
import { createApi } from '../control-plane/api.ts';
import { openBuilds } from '../build/builds.ts';
import { openDatabases } from '../database/open-databases.ts';
import { createDeployers } from '../deploy/deployers.ts';
import { createDokkuHost } from '../deploy/dokku-host.ts';
import { createClockOffset, monotonicMs, pause } from '../platform/clock.ts';
import {
  applyContact,
  inContact,
  noteNotReady,
  noteState,
  phaseNoter,
  snapshot,
  stopForGood,
  type DaemonOptions,
  type DaemonParts,
} from './daemon-state.ts';
import { countCalls, createCounters } from './counters.ts';
import { openDataFormat } from '../disk/data-format.ts';
import { createDeliveries } from '../work/delivery.ts';
import { errorText } from '../platform/errors.ts';
import { createHost } from '../host/host.ts';
import { edgeFacts, openSites } from '../host/open-sites.ts';
import { startHeartbeat } from '../control-plane/heartbeat.ts';
import { createHttpClient } from '../control-plane/http-client.ts';
import { dataPaths, ensureDataDir, readKey, type DataPaths } from '../disk/identity.ts';
import { DEFAULT_INTERVALS, steer } from '../control-plane/intervals.ts';
import { openJournal } from '../disk/journal.ts';
import { acquireLock, isDeadHere, ownMark } from '../disk/lock.ts';
import { startOperations } from './operations.ts';
import { openOutbox, readMachineBoot } from '../disk/outbox.ts';
import { runPollLoop, type PollLoopOptions } from './poll-loop.ts';
import type { Executor } from '../executor/executor.ts';
import { createPresence } from '../control-plane/presence.ts';
import { createReadiness } from './readiness.ts';
import type { FinalRefusal } from '../control-plane/retryable.ts';
import { closeLeftovers, giveBack, redeliver, sendLeftOutput } from '../work/recover.ts';
import { runsAsWork } from '../work/run-spec.ts';
import { runWork, type Offer, type Work } from '../work/run-work.ts';
import { createShutdown, EXIT } from './shutdown.ts';
import { createSlots } from '../work/slots.ts';
import { createStateWriter } from './state-file.ts';
import { createNotifier } from './notify.ts';
import { createVersionPolicy } from '../control-plane/version-policy.ts';
import { VERSION } from '../platform/version.ts';
import type { WireFacts, WorkKind } from '../control-plane/wire.ts';
import { refKey } from '../control-plane/work-ref.ts';

const STATE_MS = 5_000;
/** Time for last output and results after the tasks have ended. The rest waits in the outbox. */
const FLUSH_MS = 10_000;
/** Time for killed tasks to end; the executor has its own, shorter, limits. */
const KILL_MS = 20_000;

export async function startDaemon(options: DaemonOptions) {
  const { log } = options;
  const paths = dataPaths(options.dataDir);
  ensureDataDir(paths.dataDir);
  const bootId = randomUUID();
  const lock = await acquireLock(paths.dataDir, bootId);
  try {
    await openDataFormat(paths.dataDir);
    const shutdown = createShutdown();
    const parts = await openParts({ options, paths, bootId, shutdown });
    log.info(
      {
        runner: options.config.runnerId,
        executor: parts.executor.describe(),
        slots: options.settings.slots,
        version: VERSION,
      },
      'runner started',
    );
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
    return {
      /** Resolves when everything is closed. Never rejects. */
      done,
      /** SIGTERM or SIGINT came. */
      onSignal: () => onSignal(parts),
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Opens the files and the executor, and puts in order what an earlier process left. */
async function openDisk(options: DaemonOptions, paths: DataPaths) {
  const { settings, log } = options;
  await mkdir(paths.spool, { recursive: true, mode: 0o700 });
  const machineBoot = readMachineBoot();
  const executor = await options.openExecutor();
  const own = ownMark({ machineBoot, engine: engineMark(executor, options.env) });
  const journal = await openJournal({ path: paths.journal, process: own });
  const outbox = await openOutbox({ folder: paths.outbox, machineBoot, log });
  const runs: DaemonParts['runs'] = new Map();
  const readiness = createReadiness({
    dataDir: paths.dataDir,
    spoolFolder: paths.spool,
    limits: settings,
    executor,
    isLive: (ref) => runs.has(refKey(ref)),
    outboxDepth: () => outbox.depth,
    log,
  });
  // Nothing is live yet: whatever carries this runner's label is from a process that is gone.
  await readiness.checkEngine();
  const { runnerId } = options.config;
  // Names go on leading where they led; a deploy that was cut off is ended only then.
  const sites =
    executor.buildEngine &&
    (await openSites({ dataDir: paths.dataDir, runnerId, settings, env: options.env, log }));
  const databases = openDatabases({ executor, settings, dataDir: paths.dataDir, runnerId, log });
  const deployers = createDeployers({
    executor,
    settings,
    dataDir: paths.dataDir,
    runnerId,
    switchTo: sites?.switchTo,
    databases: databases?.begin,
    log,
  });
  const builds = await openBuilds({
    executor,
    deployers,
    databases: databases && { tests: databases.tests(), passwordOf: databases.passwordOf },
    settings,
    dataDir: paths.dataDir,
    runnerId,
    baseUrl: options.config.baseUrl,
    env: options.env,
    log,
  });
  const left = await closeLeftovers({ journal, outbox, spoolFolder: paths.spool, log });
  const dead = left.runs.filter((entry) => isDeadHere(entry.process, own));
  const deadRuns = dead.length > 0 && (await isReaped(executor)) ? dead : [];
  return {
    journal,
    outbox,
    executor,
    readiness,
    runs,
    machineBoot,
    sites,
    databases: databases?.machine(),
    edge: await edgeFacts(settings, { hasSites: sites !== undefined, env: options.env }),
    deployers,
    builds,
    deadBuilds: left.builds,
    deadRuns,
  };
}

/** The engine by all that says which containers it sees. */
function engineMark({ name }: Executor, env: NodeJS.ProcessEnv): string {
  const places = ['DOCKER_HOST', 'CONTAINER_HOST', 'CONTAINERS_STORAGE_CONF', 'HOME'].map(
    (one) => env[one] ?? '',
  );
  return [name, process.geteuid?.() ?? '', ...places].join(' ');
}

/** A container that could not be removed is found once more. Before anything is live. */
async function isReaped(executor: Executor): Promise<boolean> {
  if (!executor.endsLeftovers) return false;
  return await executor
    .reap(() => false)
    .then(
      (found) => found.length === 0,
      () => false,
    );
}

async function openParts({
  options,
  paths,
  bootId,
  shutdown,
}: Pick<DaemonParts, 'options' | 'paths' | 'bootId' | 'shutdown'>): Promise<DaemonParts> {
  const { config, settings, log } = options;
  const key = readKey(paths.key);
  // The notifier takes systemd's socket out of the environment, so it comes before anything is started.
  const notifier = createNotifier({ env: options.env, log });
  const disk = await openDisk(options, paths);
  const offset = createClockOffset();
  const http = createHttpClient({
    env: options.env,
    ...(settings.ca === undefined ? {} : { ca: settings.ca }),
  });
  const unknown = unknownExemptions(options.env);
  if (unknown.length > 0) log.warn({ entries: unknown }, 'entries of NO_PROXY that exempt nothing');
  const { runnerId, baseUrl } = config;
  const counters = createCounters();
  const api = countCalls(createApi({ baseUrl, runnerId, key, http, offset, log }), counters);
  const controlPlane: DaemonParts['controlPlane'] = {
    intervals: steer(DEFAULT_INTERVALS, config.intervals),
    lastContact: undefined,
    paused: false,
    flagged: false,
    notReady: [],
  };
  const onFatal = (refusal: FinalRefusal) => stopForGood(options, shutdown, refusal);
  const { executor, journal, outbox, machineBoot } = disk;
  const facts = factsOf(executor, settings, disk);
  const presence = createPresence({
    log,
    onChange: () => void noteState(parts),
    onBack: () => heartbeat.back(),
  });
  const heartbeat = startHeartbeat(
    {
      baseUrl: config.baseUrl,
      runnerId: config.runnerId,
      keyPath: paths.key,
      ...(settings.caFile === undefined ? {} : { caFile: settings.caFile }),
      bootId,
      facts,
      labels: config.labels,
      intervals: controlPlane.intervals,
      offset: offset.shared,
    },
    log,
    {
      onUnserved: (nextInMs) => presence.unserved('heartbeat', nextInMs),
      onBeat: (ok) => parts.onBeat?.(ok),
      onContact: (contact) => applyContact(parts, contact),
      onFatal,
      onCrash(error) {
        log.error(
          { problem: error.message },
          'the heartbeat thread died; stopping, so that the service manager starts anew',
        );
        shutdown.fail(EXIT.failed);
      },
    },
  );
  const parts: DaemonParts = {
    ...disk,
    notifier,
    presence,
    options,
    paths,
    bootId,
    startedAt: new Date().toISOString(),
    shutdown,
    slots: createSlots(settings.slots),
    works: new Set(),
    runsNow: new Set(),
    api,
    counters,
    version: createVersionPolicy(VERSION, log),
    deliveries: createDeliveries({
      api,
      outbox,
      journal,
      machineBoot,
      signal: shutdown.abandon,
      presence,
      onFatal,
      log,
    }),
    heartbeat,
    host: openHost({ ...disk, api, bootId, options, paths }),
    controlPlane,
    offsetMs: () => offset.get(),
    writeState: createStateWriter(paths.state, async () => await snapshot(parts)),
  };
  return parts;
}

function factsOf(
  executor: Executor,
  settings: DaemonOptions['settings'],
  { edge, databases }: Pick<Awaited<ReturnType<typeof openDisk>>, 'edge' | 'databases'>,
): WireFacts {
  const hosts = executor.buildEngine !== undefined;
  return {
    version: VERSION,
    os: process.platform,
    arch: process.arch,
    isolation: executor.isolation,
    executor: executor.name,
    ...(hosts && {
      host: {
        volumes: true,
        mountRoots: [...settings.allowMount],
        databases: databases !== undefined,
        ...(edge !== undefined && { edge }),
      },
    }),
  };
}

/** Without an engine no app is brought up here. */
function openHost({
  executor: { buildEngine },
  deployers,
  sites,
  databases,
  api,
  bootId,
  options: { config, env, log },
  paths,
}: Pick<
  DaemonParts,
  'executor' | 'deployers' | 'sites' | 'databases' | 'api' | 'bootId' | 'options' | 'paths'
>): DaemonParts['host'] {
  if (buildEngine === undefined || deployers.mounts === undefined) return undefined;
  return createHost({
    api,
    bootId,
    runnerId: config.runnerId,
    dataDir: paths.dataDir,
    engine: buildEngine.engine,
    dokku: createDokkuHost(env, { dataDir: paths.dataDir, log }),
    mounts: deployers.mounts,
    sites,
    databases,
    onLeft: async (app) => await deployers.left(app),
    log,
  });
}

/** Runs until there is a reason to end, and ends in order. */
async function live(parts: DaemonParts): Promise<void> {
  const { shutdown, heartbeat, options } = parts;
  const timers = [
    setInterval(() => void noteState(parts), STATE_MS),
    setInterval(() => void parts.readiness.checkEngineIfDue(), STATE_MS),
    setInterval(() => void parts.deployers.check(), STATE_MS),
    setInterval(() => void parts.host?.check(), STATE_MS),
  ];
  await noteState(parts);
  const operations = await startOperations(parts);
  parts.onBeat = operations.onBeat;
  const recovering = {
    ...parts,
    spoolFolder: parts.paths.spool,
    abandon: shutdown.abandon,
    inContact: () => inContact(parts),
    onPhase: phaseNoter(parts),
    log: options.log,
  };
  void giveBack({ ...recovering, signal: shutdown.stopTaking }, parts.deadRuns);
  await redeliver(recovering);
  await sendLeftOutput(recovering, parts.deadBuilds);
  const polling = Promise.all([pollForRuns(parts), pollForBuilds(parts)]).catch((error: unknown) => {
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
  await operations.stop();
  await parts.sites?.stop();
  await parts.journal.close();
  await noteState(parts);
}

/** Waits for the running tasks until they have ended, the time is over, or a second signal came. */
async function drain(parts: DaemonParts): Promise<void> {
  const { shutdown, works, options } = parts;
  if (works.size > 0 && !shutdown.cancelWork.aborted) {
    const { drainTimeoutMs } = options.settings;
    options.log.info(
      { runs: works.size, drainTimeoutMs },
      `draining: ${works.size} runs, up to ${Math.round(drainTimeoutMs / 1000)} s; a second signal cancels them`,
    );
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

async function pollForRuns(parts: DaemonParts): Promise<void> {
  const { executor, options, presence } = parts;
  const work = runsAsWork({ runnerId: options.config.runnerId, executor });
  await runPollLoop({
    ...pollOptions(parts, 'run'),
    slots: parts.slots,
    presence,
    onNotReady: (reasons) => noteNotReady(parts, reasons),
    async onOffer(offer) {
      const done = doWork(parts, work, offer);
      parts.runsNow.add(done);
      await done;
      parts.runsNow.delete(done);
    },
  });
}

/** Its answers do not change `presence`: builds alone may be switched off at the control plane. */
async function pollForBuilds(parts: DaemonParts): Promise<void> {
  const { builds, presence } = parts;
  if (builds === undefined) return;
  await runPollLoop({
    ...pollOptions(parts, 'build'),
    slots: builds.slots,
    presence: {
      pause: async (ms, signal) => await presence.pause(ms, signal),
      served: () => undefined,
      unserved: () => undefined,
    },
    onNotReady: () => undefined,
    onOffer: async (offer) => await doWork(parts, builds.work, offer),
  });
}

function pollOptions<K extends WorkKind>(
  parts: DaemonParts,
  kind: K,
): Omit<PollLoopOptions<K>, 'slots' | 'presence' | 'onNotReady' | 'onOffer'> {
  const { options, shutdown } = parts;
  return {
    kind,
    api: parts.api,
    bootId: parts.bootId,
    held: () => parts.heartbeat.held(),
    notReady: async () => [
      ...(await parts.readiness.reasons()),
      ...parts.version.reasons(),
      ...(kind === 'build' ? (parts.builds?.notReady() ?? []) : []),
    ],
    waitMs: () => parts.controlPlane.intervals.pollWaitMs,
    onFatal: (refusal) => stopForGood(options, shutdown, refusal),
    stop: shutdown.stopTaking,
    log: options.log,
  };
}

async function doWork<O extends Offer>(parts: DaemonParts, kind: Work<O>, offer: O): Promise<void> {
  const { options, shutdown } = parts;
  const done = runWork(offer, {
    ...parts,
    work: kind,
    spoolFolder: parts.paths.spool,
    secrets: options.secrets,
    cancel: shutdown.cancelWork,
    abandon: shutdown.abandon,
    inContact: () => inContact(parts),
    leaseMs: () => parts.controlPlane.intervals.leaseMs,
    onPhase: phaseNoter(parts),
    onEngineError: () => void parts.readiness.checkEngine(),
    log: options.log,
  });
  parts.works.add(done);
  await done;
  parts.works.delete(done);
}

function onSignal(parts: DaemonParts): void {
  const step = parts.shutdown.request();
  parts.options.log.info(
    { step },
    step === 'drain' ? 'asked to stop: taking no new work' : 'asked again: cancelling what runs',
  );
}
