/**
 * Threads in which the files of repositories are read, away from the requests of others: what a repository
 * holds is anybody's. A file that takes too long or too much memory ends its thread, is reported, and the
 * next file gets a new one. Teams take turns file by file, and one team has one thread at most, so that what
 * its repositories hold delays nobody else. Owns the threads, and which team is next.
 */
import { createThread, type Thread } from '../../../base/thread.ts';
import type { DefinitionFile } from './definitions.ts';
import type { Measured } from './results.ts';

const THREADS_MAX = 2;
/**
 * `fileMs`: the largest file takes half a second of a processor; this is for machines that are busy, and the
 * net under what nobody thought of.
 */
const LIMITS: ReadingLimits = { fileMs: 15_000, searchMs: 120_000, memoryMb: 256 };
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
  take(thread: Reader): Promise<void>;
}

type Reader = Thread<DefinitionFile, Measured>;

export function createReaders(limits: ReadingLimits = LIMITS): Readers {
  /** Waiting files by team, in the order in which the teams come next. */
  const waiting = new Map<string, Turn[]>();
  const served = new Set<string>();
  const entry = new URL('./reader.worker.ts', import.meta.url);
  const { fileMs: answerMs, memoryMb } = limits;
  const idle = Array.from({ length: THREADS_MAX }, (): Reader => createThread({ entry, answerMs, memoryMb }));

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
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) {
      const turn = next();
      if (turn === undefined) return void idle.push(thread);
      served.add(turn.teamId);
      const taken = thread;
      void turn.take(taken).then(() => {
        served.delete(turn.teamId);
        idle.push(taken);
        serve();
      });
    }
  };

  return {
    open: (teamId, signal) => {
      let usedMs = 0;
      const readNow = async (thread: Reader, file: DefinitionFile): Promise<Outcome> => {
        signal.throwIfAborted();
        if (usedMs >= limits.searchMs)
          return {
            failed: `not read: reading the files before it took ${limits.searchMs / 1000} s, which is the limit`,
          };
        const began = performance.now();
        try {
          const answer = await thread.ask(file);
          return 'unanswered' in answer ? { failed: `not read: reading ${answer.unanswered}` } : answer;
        } finally {
          usedMs += performance.now() - began;
        }
      };
      return {
        read: async (file) =>
          await new Promise<Outcome>((resolve, reject) => {
            const take = async (thread: Reader): Promise<void> =>
              await readNow(thread, file).then(resolve, reject);
            waiting.set(teamId, [...(waiting.get(teamId) ?? []), { teamId, take }]);
            serve();
          }),
      };
    },
  };
}
