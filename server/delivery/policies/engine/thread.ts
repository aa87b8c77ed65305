/** A thread that judges, and how it is started. It knows nothing of turns and limits of time: see `policy-runner.ts`. */
import { Worker } from 'node:worker_threads';
import type { Judged, PolicyAtGate } from './verdict.ts';

/** Of what lives longer than a moment. The stack is for plans as deep as an expression has nodes. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

export interface Gate {
  /** As `printInput` prints it. */
  readonly input: string;
  readonly policies: readonly PolicyAtGate[];
}

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'input'; readonly detail: string }
  | { readonly kind: 'judged'; readonly judged: Judged };

export interface Thread {
  judge(gate: Gate): void;
  /** Nothing is heard of it any more. */
  end(): void;
}

export interface Listener {
  heard(message: FromThread): void;
  /** It ended by itself. */
  ended(why: { readonly reason: 'memory' | 'thread'; readonly detail: string }): void;
}

export function startThread(listener: Listener): Thread {
  const worker = startWorker();
  // A server that stops does not wait for it.
  worker.unref();
  let isHeard = true;
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
    if (isHeard) listener.heard(message);
  });
  worker.on('error', ended);
  worker.on('exit', () => ended());
  return {
    judge: (gate) => worker.postMessage(gate),
    end: () => {
      isHeard = false;
      void worker.terminate();
    },
  };
}

/** The worker lies beside this file: as JavaScript in the bundle, as TypeScript in a checkout. */
function startWorker(): Worker {
  const options = { name: 'policies', resourceLimits: RESOURCE_LIMITS };
  if (!import.meta.url.endsWith('.ts'))
    return new Worker(new URL('./policy.worker.js', import.meta.url), { ...options, execArgv: [] });
  // A thread cannot be started from a TypeScript file, so it starts from a line that brings the loader of the checkout in first.
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const entry = JSON.stringify(new URL('./policy.worker.ts', import.meta.url).href);
  const code = `import(${loader}).then(({ register }) => { register(); return import(${entry}); })`;
  return new Worker(code, { ...options, eval: true, execArgv: ['--conditions=source'] });
}
