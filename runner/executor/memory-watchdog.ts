/**
 * The memory limit where no control group can be had: samples the memory of the sandbox's processes and its
 * tmpfs mounts. A task that allocates faster than the sampling can exceed the limit for one interval; a
 * control group cannot be exceeded at all.
 */
import { statfs } from 'node:fs/promises';
import { ownMemoryBytes, treeOf } from './procfs.ts';

const SAMPLE_MS = 50;

export interface WatchdogOptions {
  /** Host pid of the sandbox's init. */
  initPid: number;
  limitBytes: number;
  /** Paths inside the sandbox whose filesystem lives in memory. */
  tmpfsPaths: readonly string[];
  onOver: (usedBytes: number) => void;
}

/** There is one sample at a time: the next one is only planned when the last has ended. */
export function watchMemory(options: WatchdogOptions) {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const sample = async (): Promise<void> => {
    const used = await usedBytes(options);
    if (stopped) return;
    if (used > options.limitBytes) options.onOver(used);
    else timer = setTimeout(() => void sample(), SAMPLE_MS);
  };
  void sample();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

export type MemoryWatchdog = ReturnType<typeof watchMemory>;

async function usedBytes(options: WatchdogOptions): Promise<number> {
  const processes = Promise.all((await treeOf(options.initPid)).map(ownMemoryBytes));
  const files = Promise.all(
    options.tmpfsPaths.map((path) => tmpfsBytes(`/proc/${options.initPid}/root${path}`)),
  );
  return [...(await processes), ...(await files)].reduce((sum, bytes) => sum + bytes, 0);
}

async function tmpfsBytes(path: string): Promise<number> {
  try {
    const stats = await statfs(path);
    return (stats.blocks - stats.bfree) * stats.bsize;
  } catch {
    return 0; // It is not mounted yet, or the sandbox has just ended.
  }
}
