/**
 * A thread that judges, and how it is started. It knows nothing of turns and limits of time: see
 * `policy-runner.ts`.
 */
import { startWorker } from '../../../base/thread.ts';
import { processorMs } from './thread-time.ts';
import type { Judged, PolicyAtGate } from './verdict.ts';

/** It limits what lives longer than a moment. */
const MEMORY_MB = 64;

export interface Gate {
  /** As `printInput` prints it. */
  readonly input: string;
  readonly policies: readonly PolicyAtGate[];
}

export type FromThread =
  | { readonly kind: 'ready'; readonly thread: number | undefined }
  | { readonly kind: 'input'; readonly detail: string }
  | { readonly kind: 'judged'; readonly judged: Judged };

export interface Thread {
  judge(gate: Gate): void;
  /** Time of a processor that it has had. Undefined where the system does not say. */
  processorMs(): number | undefined;
  /** Nothing is heard of it any more. */
  end(): void;
}

export interface Listener {
  heard(message: FromThread): void;
  /** It ended by itself. */
  ended(why: { readonly reason: 'memory' | 'thread'; readonly detail: string }): void;
}

export function startThread(listener: Listener): Thread {
  const worker = startWorker({ entry: new URL('./policy.worker.ts', import.meta.url), memoryMb: MEMORY_MB });
  // A server that stops does not wait for it.
  worker.unref();
  let isHeard = true;
  let thread: number | undefined;
  const ended = (error?: Error & { readonly code?: string }): void => {
    if (!isHeard) return;
    isHeard = false;
    const isMemory = error?.code === 'ERR_WORKER_OUT_OF_MEMORY';
    listener.ended({
      reason: isMemory ? 'memory' : 'thread',
      detail: error?.message ?? 'the thread ended',
    });
  };
  worker.on('message', (message: FromThread) => {
    if (message.kind === 'ready') ({ thread } = message);
    if (isHeard) listener.heard(message);
  });
  worker.on('error', ended);
  worker.on('exit', () => ended());
  return {
    judge: (gate) => worker.postMessage(gate),
    processorMs: () => processorMs(thread),
    end: () => {
      isHeard = false;
      void worker.terminate();
    },
  };
}
