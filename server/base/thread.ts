/**
 * A worker thread that answers one question at a time: for work that would hold up the event loop, on what
 * may be anybody's. A question that takes too long or too much memory ends the thread, its asker is told why,
 * and the next question starts a new one. Owns the thread.
 */
import { Worker, type ResourceLimits } from 'node:worker_threads';

/** A thread that nobody needs takes some 20 MB. */
const IDLE_MS = 10_000;
const YOUNG_MB = 32;

export interface ThreadOptions {
  /** The TypeScript file that the thread runs. `build.mjs` lists it, so that it lies beside the bundle. */
  readonly entry: URL;
  /** Limit of one answer; the start of the thread counts. */
  readonly answerMs: number;
  /** Limit of the thread's memory for what lives longer than a moment. */
  readonly memoryMb: number;
}

/** `why` is a clause about the question: `it took more than 5 s`. */
export interface Unanswered {
  readonly unanswered: string;
}

export interface Thread<Question, Answer> {
  /** Not before the last one was answered. Never fails for what happens in the thread. */
  ask(question: Question): Promise<Answer | Unanswered>;
  /** Ends the thread, and a question that it works on. A later question starts it again. */
  stop(): Promise<void>;
}

export function createThread<Question, Answer>(options: ThreadOptions): Thread<Question, Answer> {
  let worker: Worker | undefined;
  let resolveAnswer: (answer: Answer | Unanswered) => void = () => undefined;
  let resting: NodeJS.Timeout | undefined;

  const end = async (unanswered: string): Promise<void> => {
    const ended = worker;
    worker = undefined;
    clearTimeout(resting);
    resolveAnswer({ unanswered });
    await ended?.terminate();
  };
  const start = (): Worker => {
    const started = startWorker(options);
    // A server that stops does not wait for it.
    started.unref();
    // A thread speaks after its end of a question that was answered.
    const whileItRuns = (act: () => unknown): void => void (worker === started && act());
    started.on('message', (answer: Answer) => whileItRuns(() => resolveAnswer(answer)));
    started.on('error', (error: Error & { code?: string }) => {
      const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      whileItRuns(() => end(isMemory ? 'it takes too much memory' : `it failed: ${error.message}`));
    });
    started.on('exit', () => whileItRuns(() => end('it ended the thread')));
    return started;
  };
  const rest = (): void => {
    resting = setTimeout(() => void end('it was given up'), IDLE_MS);
    resting.unref();
  };

  return {
    ask: async (question) => {
      clearTimeout(resting);
      worker ??= start();
      worker.postMessage(question);
      const { answerMs } = options;
      const late = setTimeout(() => void end(`it took more than ${answerMs / 1000} s`), answerMs);
      const answer = await new Promise<Answer | Unanswered>((resolve) => (resolveAnswer = resolve));
      clearTimeout(late);
      if (worker !== undefined) rest();
      return answer;
    },
    stop: async () => await end('it was given up'),
  };
}

/**
 * Starts the entry from beside this file in the bundle, where it is JavaScript, and from its source in a
 * checkout.
 */
export function startWorker({ entry, memoryMb }: Pick<ThreadOptions, 'entry' | 'memoryMb'>): Worker {
  const resourceLimits: ResourceLimits = {
    maxOldGenerationSizeMb: memoryMb,
    maxYoungGenerationSizeMb: YOUNG_MB,
    // For what is as deep as a document or an expression may be.
    stackSizeMb: 4,
  };
  const name = entry.pathname.replace(/^.*\/|\.worker\.ts$/g, '');
  if (!import.meta.url.endsWith('.ts'))
    return new Worker(new URL(`./${name}.worker.js`, import.meta.url), {
      name,
      resourceLimits,
      execArgv: [],
    });
  // A thread cannot be started from a TypeScript file, so it starts from a line that brings the loader of the
  // checkout in first.
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const code = `import(${loader}).then(({ register }) => { register(); return import(${JSON.stringify(entry.href)}); })`;
  return new Worker(code, { name, resourceLimits, eval: true, execArgv: ['--conditions=source'] });
}
