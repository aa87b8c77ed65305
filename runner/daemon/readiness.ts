/**
 * Decides whether this runner can take work. Each poll carries the reasons against it, so that the team sees
 * them instead of a silent runner. Each limit opens again only when things are clearly better, so that a disk
 * that is nearly full does not make the runner come and go.
 */
import { stat } from 'node:fs/promises';
import { monotonicMs } from '../platform/clock.ts';
import { freeMb, MEBIBYTE } from '../disk/free-space.ts';
import { errorText } from '../platform/errors.ts';
import type { Executor } from '../executor/executor.ts';
import { maximumGate, minimumGate } from './gate.ts';
import { listSpools } from '../output/log-spool.ts';
import type { Log } from '../platform/log.ts';
import type { RunSettings } from './run-settings.ts';
import type { WorkRef } from '../control-plane/work-ref.ts';

/** Longest reason in characters, by contract. */
const REASON_LENGTH_MAX = 200;

/** A measurement of the disk is used for so long. */
const LOOK_MS = 2_000;
/** A failed engine is checked more often than a healthy one, because the runner takes no work meanwhile. */
const ENGINE_CHECK_MS = 60_000;
const ENGINE_RECHECK_MS = 10_000;
/** So many checks in a row must succeed before a failed engine counts as healthy. */
const GOOD_LOOKS = 2;

export interface ReadinessOptions {
  dataDir: string;
  spoolFolder: string;
  /**
   * `maxSpoolMb` limits the output that waits for delivery, `maxOutbox` the results without a definite
   * answer: more work would only add to them.
   */
  limits: Pick<RunSettings, 'minFreeMb' | 'maxSpoolMb' | 'maxOutbox'>;
  executor: Pick<Executor, 'reap' | 'name' | 'storageFolder'>;
  isLive: (ref: WorkRef) => boolean;
  outboxDepth: () => number;
  log: Log;
  /** Replaced in tests. */
  measure?: () => Promise<DiskUse>;
}

export interface DiskUse {
  /** Free disk at the data folder, in MiB. */
  freeMb: number;
  /** Free disk where the engine keeps its images; absent where that is the same disk. */
  engineFreeMb?: number;
  spoolBytes: number;
}

export function createReadiness(options: ReadinessOptions) {
  const { limits } = options;
  const engine = watchEngine(options);
  const [free, engineFree, spool, outbox] = [
    minimumGate(limits.minFreeMb),
    minimumGate(limits.minFreeMb),
    maximumGate(limits.maxSpoolMb),
    maximumGate(limits.maxOutbox),
  ];
  let look: { atMs: number; disk: Promise<DiskUse> } | undefined;

  const disk = async (): Promise<DiskUse> => {
    if (look === undefined || monotonicMs() - look.atMs > LOOK_MS)
      look = { atMs: monotonicMs(), disk: (options.measure ?? (async () => await measure(options)))() };
    return await look.disk;
  };

  return {
    /** Empty when the runner is ready. */
    async reasons() {
      const reasons: string[] = [];
      const use = await disk();
      if (free.closedAt(use.freeMb)) reasons.push(`disk: ${use.freeMb} MB free, ${free.wanted} MB needed`);
      if (use.engineFreeMb !== undefined && engineFree.closedAt(use.engineFreeMb))
        reasons.push(
          `disk of ${options.executor.name}: ${use.engineFreeMb} MB free, ${engineFree.wanted} MB needed`,
        );
      const spooledMb = Math.floor(use.spoolBytes / MEBIBYTE);
      if (spool.closedAt(spooledMb))
        reasons.push(`spool: ${spooledMb} MB of undelivered output, at most ${spool.wanted} MB to go on`);
      const waiting = options.outboxDepth();
      if (outbox.closedAt(waiting))
        reasons.push(`outbox: ${waiting} undelivered results, at most ${outbox.wanted} to go on`);
      if (engine.problem !== undefined) reasons.push(engine.problem);
      return reasons;
    },
    /** It returns the bytes of all spools together, as they were last measured. */
    spoolBytes: async () => (await disk()).spoolBytes,
    freeMb: async () => (await disk()).freeMb,
    /** Reaps what earlier processes left behind; an engine that cannot do that is not healthy. */
    checkEngine: engine.check,
    /** Does the same when the last check is old enough. */
    checkEngineIfDue: engine.checkIfDue,
  };
}

export type Readiness = ReturnType<typeof createReadiness>;

function watchEngine({ executor, isLive, log }: ReadinessOptions) {
  let problem: string | undefined;
  let good = 0;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let checking: Promise<void> | undefined;

  const look = async (): Promise<void> => {
    try {
      for (const { id, epoch } of await executor.reap(isLive))
        log.warn({ id, epoch }, 'killed what an earlier process left behind');
      good += 1;
      if (problem === undefined || good < GOOD_LOOKS) return;
      problem = undefined;
      log.info({ executor: executor.name }, 'the engine works again');
    } catch (error) {
      good = 0;
      if (problem === undefined)
        log.error({ executor: executor.name, problem: errorText(error) }, 'the engine does not work');
      problem = `engine ${executor.name}: ${errorText(error)}`.slice(0, REASON_LENGTH_MAX);
    } finally {
      checkedAtMs = monotonicMs();
    }
  };
  const check = async (): Promise<void> => {
    checking ??= look().finally(() => (checking = undefined));
    await checking;
  };
  return {
    get problem() {
      return problem;
    },
    check,
    async checkIfDue() {
      const everyMs = problem === undefined ? ENGINE_CHECK_MS : ENGINE_RECHECK_MS;
      if (monotonicMs() - checkedAtMs >= everyMs) await check();
    },
  };
}

async function measure({ dataDir, spoolFolder, executor }: ReadinessOptions): Promise<DiskUse> {
  const [free, engineFree, spools] = await Promise.all([
    freeMb(dataDir),
    freeElsewhere(executor.storageFolder, dataDir),
    listSpools(spoolFolder),
  ]);
  return {
    freeMb: free,
    ...(engineFree === undefined ? {} : { engineFreeMb: engineFree }),
    spoolBytes: spools.bytes,
  };
}

/** Returns undefined for the same disk, or for a folder that this user cannot look at. */
async function freeElsewhere(folder: string | undefined, dataDir: string): Promise<number | undefined> {
  if (folder === undefined) return undefined;
  try {
    const [one, other] = await Promise.all([stat(folder), stat(dataDir)]);
    return one.dev === other.dev ? undefined : await freeMb(folder);
  } catch {
    return undefined; // The engine is remote or its folder is readable by root only: it reports a full disk itself.
  }
}
