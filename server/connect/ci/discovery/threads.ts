/**
 * Threads in which the files of repositories are read, away from the requests of others: what a repository holds is anybody's. A file that takes
 * too long or too much memory ends its thread, is reported, and the next file gets a new one. Teams take turns file by file, and one team has
 * one thread at most, so that what its repositories hold delays nobody else. Owns the threads, and which team is next.
 */
import { Worker } from 'node:worker_threads';
import type { ResourceLimits } from 'node:worker_threads';
import type { DefinitionFile } from './definitions.ts';
import type { Measured } from './results.ts';

const THREADS_MAX = 2;
/** `fileMs`: the largest file takes half a second of a processor; this is for machines that are busy, and the net under what nobody thought of. */
const LIMITS: ReadingLimits = { fileMs: 15_000, searchMs: 120_000, memoryMb: 256 };
/** A thread that nobody needs takes some 20 MB. */
const IDLE_MS = 10_000;

export interface ReadingLimits {
  readonly fileMs: number;
  /** Limit of all files of one search. */
  readonly searchMs: number;
  /** Limit of a thread's memory for what lives longer than a moment. */
  readonly memoryMb: number;
}

/** `failed`: why the file was not read, now. */
export type Outcome = Measured | { readonly failed: string };

/** The files of one search. */
export interface Reading {
  read(file: DefinitionFile): Promise<Outcome>;
}

export interface Readers {
  /** Once the signal is aborted, nothing more is read. */
  open(teamId: string, signal: AbortSignal): Reading;
}

interface Turn {
  readonly teamId: string;
  /** Never fails. */
  take(thread: Thread): Promise<void>;
}

export function createReaders(limits: ReadingLimits = LIMITS): Readers {
  /** Waiting files by team, in the order in which the teams come next. */
  const waiting = new Map<string, Turn[]>();
  const served = new Set<string>();
  const idle: Thread[] = [];

  const next = (): Turn | undefined => {
    for (const [teamId, turns] of waiting) {
      if (served.has(teamId)) continue;
      const turn = turns.shift();
      waiting.delete(teamId);
      if (turns.length > 0) waiting.set(teamId, turns);
      if (turn !== undefined) return turn;
    }
    return undefined;
  };
  const serve = (): void => {
    while (served.size < THREADS_MAX) {
      const turn = next();
      if (turn === undefined) return;
      served.add(turn.teamId);
      const thread = idle.pop() ?? startThread(idle, limits);
      void turn.take(thread).then(() => {
        served.delete(turn.teamId);
        if (thread.isAlive()) {
          idle.push(thread);
          thread.rest();
        }
        serve();
      });
    }
  };

  return {
    open: (teamId, signal) => {
      let usedMs = 0;
      const readNow = async (thread: Thread, file: DefinitionFile): Promise<Outcome> => {
        signal.throwIfAborted();
        if (usedMs >= limits.searchMs)
          return {
            failed: `not read: reading the files before it took ${limits.searchMs / 1000} s, which is the limit`,
          };
        const began = performance.now();
        try {
          return await thread.read(file);
        } finally {
          usedMs += performance.now() - began;
        }
      };
      return {
        read: async (file) =>
          await new Promise<Outcome>((resolve, reject) => {
            const take = async (thread: Thread): Promise<void> =>
              await readNow(thread, file).then(resolve, reject);
            waiting.set(teamId, [...(waiting.get(teamId) ?? []), { teamId, take }]);
            serve();
          }),
      };
    },
  };
}

interface Thread {
  isAlive(): boolean;
  read(file: DefinitionFile): Promise<Outcome>;
  /** Ends soon unless it is used again. */
  rest(): void;
}

function startThread(idle: Thread[], { fileMs, memoryMb }: ReadingLimits): Thread {
  const worker = startWorker({
    maxOldGenerationSizeMb: memoryMb,
    maxYoungGenerationSizeMb: 32,
    stackSizeMb: 4,
  });
  // A server that stops does not wait for it.
  worker.unref();
  let isAlive = true;
  let resolveRead: (outcome: Outcome) => void = () => undefined;
  let resting: NodeJS.Timeout | undefined;
  const end = (failed: string): void => {
    isAlive = false;
    const at = idle.indexOf(thread);
    if (at >= 0) idle.splice(at, 1);
    resolveRead({ failed });
    void worker.terminate();
  };
  worker.on('message', (measured: Measured) => resolveRead(measured));
  worker.on('error', (error: Error & { code?: string }) => {
    const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
    end(isMemory ? 'not read: reading it takes too much memory' : `not read: ${error.message}`);
  });
  worker.on('exit', () => end('not read: its thread ended'));
  const thread: Thread = {
    isAlive: () => isAlive,
    read: async (file) => {
      clearTimeout(resting);
      return await new Promise<Outcome>((resolve) => {
        const late = setTimeout(() => end(`not read: reading it took more than ${fileMs / 1000} s`), fileMs);
        resolveRead = (outcome) => {
          clearTimeout(late);
          resolve(outcome);
        };
        worker.postMessage(file);
      });
    },
    rest: () => {
      clearTimeout(resting);
      resting = setTimeout(() => end('not read: its thread was at rest'), IDLE_MS);
      resting.unref();
    },
  };
  return thread;
}

/** Starts the worker that lies beside this file: as JavaScript in the bundle, as TypeScript in a checkout. */
function startWorker(resourceLimits: ResourceLimits): Worker {
  const options = { name: 'reader', resourceLimits };
  if (!import.meta.url.endsWith('.ts'))
    return new Worker(new URL('./reader.worker.js', import.meta.url), { ...options, execArgv: [] });
  // A thread cannot be started from a TypeScript file, so it starts from a line that brings the loader of the checkout in first.
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const entry = JSON.stringify(new URL('./reader.worker.ts', import.meta.url).href);
  const code = `import(${loader}).then(({ register }) => { register(); return import(${entry}); })`;
  return new Worker(code, { ...options, eval: true, execArgv: ['--conditions=source'] });
}
