/** Why this runner cannot take work at the moment: said in each poll, so that the team sees the reason instead of a silent runner. */
import { monotonicMs } from './clock.ts';
import { freeMb, MEBIBYTE } from './disk.ts';
import { errorText } from './durable-file.ts';
import type { Executor, WorkRef as ExecutorWorkRef } from './executor/executor.ts';
import { listSpools } from './log-spool.ts';
import type { Log } from './log.ts';
import type { WorkRef } from './work-ref.ts';

/** Output that waits for a control plane that does not take it. */
const SPOOL_MB_MAX = 4_096;
/** Results that no definite answer has been given to: more work would only add to them. */
const OUTBOX_MAX = 200;
/** By contract. */
const REASON_LENGTH_MAX = 200;

/** How long a look at the disk is good for. */
const LOOK_MS = 2_000;

export interface Readiness {
  /** Empty: ready. */
  reasons(): Promise<string[]>;
  /** Of all spools together, as of the last look. */
  spoolBytes(): Promise<number>;
  /** Reaps what earlier processes left behind; an engine that cannot do that is not healthy. */
  checkEngine(): Promise<void>;
}

export interface ReadinessOptions {
  dataDir: string;
  spoolFolder: string;
  minFreeMb: number;
  executor: Pick<Executor, 'reap' | 'name'>;
  isLive: (ref: WorkRef) => boolean;
  outboxDepth: () => number;
  log: Log;
}

export function createReadiness(options: ReadinessOptions): Readiness {
  let engineProblem: string | undefined;
  let checking: Promise<void> | undefined;
  let look: { atMs: number; disk: Promise<{ free: number; spoolBytes: number }> } | undefined;

  const disk = async (): Promise<{ free: number; spoolBytes: number }> => {
    if (look === undefined || monotonicMs() - look.atMs > LOOK_MS)
      look = { atMs: monotonicMs(), disk: measure(options) };
    return await look.disk;
  };

  const check = async (): Promise<void> => {
    try {
      const reaped: ExecutorWorkRef[] = await options.executor.reap((id, epoch) =>
        options.isLive({ id, epoch }),
      );
      for (const { workId, epoch } of reaped)
        options.log.warn({ id: workId, epoch }, 'killed what an earlier process left behind');
      if (engineProblem !== undefined)
        options.log.info({ executor: options.executor.name }, 'the engine works again');
      engineProblem = undefined;
    } catch (error) {
      if (engineProblem === undefined)
        options.log.error(
          { executor: options.executor.name, problem: errorText(error) },
          'the engine does not work',
        );
      engineProblem = `engine ${options.executor.name}: ${errorText(error)}`.slice(0, REASON_LENGTH_MAX);
    }
  };

  return {
    async reasons() {
      const reasons: string[] = [];
      const { free, spoolBytes } = await disk();
      if (free < options.minFreeMb) reasons.push(`disk: ${free} MB free, ${options.minFreeMb} MB needed`);
      const spooledMb = Math.floor(spoolBytes / MEBIBYTE);
      if (spooledMb > SPOOL_MB_MAX)
        reasons.push(`spool: ${spooledMb} MB of undelivered output, limit ${SPOOL_MB_MAX} MB`);
      const waiting = options.outboxDepth();
      if (waiting > OUTBOX_MAX) reasons.push(`outbox: ${waiting} undelivered results, limit ${OUTBOX_MAX}`);
      if (engineProblem !== undefined) reasons.push(engineProblem);
      return reasons;
    },
    spoolBytes: async () => (await disk()).spoolBytes,
    async checkEngine() {
      checking ??= check().finally(() => (checking = undefined));
      await checking;
    },
  };
}

async function measure({
  dataDir,
  spoolFolder,
}: ReadinessOptions): Promise<{ free: number; spoolBytes: number }> {
  const [free, spools] = await Promise.all([freeMb(dataDir), listSpools(spoolFolder)]);
  return { free, spoolBytes: spools.bytes };
}
