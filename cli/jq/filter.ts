/**
 * Evaluates the expression of `--jq` in a thread of its own, which is ended when it takes too long or too
 * much: `svc` goes on to hear Ctrl-C, and no expression holds it up.
 */
import { once } from 'node:events';
import { setInterval } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { CliError, UsageError } from '../shell/errors.ts';
import { formatBytes } from '../shell/cells.ts';
import { neutraliseLine } from '../shell/text.ts';
import { formatDuration } from '../shell/time.ts';
import type { Answer } from './jq.worker.ts';

/** Arguments lie on a stack of 64 KiB. */
const CHARACTERS_MAX = 10_000;
/** The thread loads the library. */
const START_MS = 10_000;
/** A busy machine gives this process less than all of a processor. */
const SHARE_MIN = 1 / 6;
const LOOK_EVERY_MS = 50;

export interface Limits {
  /** Processor time for one value, or for one page. */
  readonly answerMs: number;
  /** Most memory that the process takes more than before, whatever the expression prints. */
  readonly memoryBytes: number;
}

const LIMITS: Limits = { answerMs: 5_000, memoryBytes: 512 * 1024 * 1024 };

export interface Filtered {
  /** A text as it is, everything else as JSON. */
  readonly results: readonly Result[];
  /** Messages of `debug` and `stderr`, a line each. */
  readonly notes: readonly string[];
  /** Error that ended the evaluation behind the last of the results. */
  readonly problem?: CliError;
}

export type Result = { readonly text: string } | { readonly json: string };

export interface JqFilter {
  /** Applies the expression to each of the JSON texts, which stand one behind the other. */
  apply(json: string): Promise<Filtered>;
  close(): Promise<void>;
}

/** Throws a UsageError where the expression is none. */
export async function openFilter(expression: string, limits: Partial<Limits> = {}): Promise<JqFilter> {
  if (expression.trim() === '') throw new UsageError('--jq needs an expression, such as .id');
  if (expression.length > CHARACTERS_MAX)
    throw new UsageError(`--jq has more than ${CHARACTERS_MAX} characters, which is the limit`);
  const thread = new Thread(expression, { ...LIMITS, ...limits });
  const filter = {
    apply: async (json: string) => filteredOf(await thread.ask(json)),
    close: async () => await thread.end(),
  };
  try {
    await thread.started();
    // Without an input it is compiled, and not run.
    const { exitCode, stderr } = await thread.ask('');
    if (exitCode !== 0) throw compileError(stderr);
    return filter;
  } catch (error) {
    await filter.close();
    throw error;
  }
}

class Thread {
  readonly #worker: Worker;
  readonly #limits: Limits;
  readonly #bytesBefore = process.memoryUsage.rss();

  constructor(expression: string, limits: Limits) {
    this.#limits = limits;
    this.#worker = startWorker(expression);
    // It may fail once more while it is ended.
    this.#worker.on('error', () => undefined);
  }

  async started(): Promise<void> {
    await this.#heard(START_MS);
  }

  /** Takes one question at a time. */
  async ask(json: string): Promise<Answer> {
    this.#worker.postMessage(json);
    return (await this.#heard(this.#limits.answerMs)) as Answer;
  }

  /** Waits for a message, and holds the process meanwhile. */
  async #heard(limitMs: number): Promise<unknown> {
    const worker = this.#worker;
    const ending = new AbortController();
    worker.ref();
    try {
      return await Promise.race([messageOf(worker, ending.signal), this.#tooMuch(limitMs, ending.signal)]);
    } catch (error) {
      await this.end();
      throw error;
    } finally {
      ending.abort();
      worker.unref();
    }
  }

  /** Rejects when a limit is reached. */
  async #tooMuch(limitMs: number, signal: AbortSignal): Promise<never> {
    const { memoryBytes } = this.#limits;
    const before = process.cpuUsage();
    const until = performance.now() + limitMs / SHARE_MIN;
    for await (const _tick of setInterval(LOOK_EVERY_MS, undefined, { signal })) {
      if (process.memoryUsage.rss() - this.#bytesBefore > memoryBytes)
        throw refusal('jq_memory', `more than ${formatBytes(memoryBytes)} of memory`);
      const { user, system } = process.cpuUsage(before);
      if ((user + system) / 1_000 > limitMs || performance.now() > until)
        throw refusal('jq_timeout', `more than ${formatDuration(limitMs)}`);
    }
    throw new Error('unreachable');
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

async function messageOf(worker: Worker, signal: AbortSignal): Promise<unknown> {
  try {
    const [message]: unknown[] = await once(worker, 'message', { signal });
    return message;
  } catch (error) {
    // WebAssembly aborts when it cannot allocate more, or when a recursion has no end.
    throw signal.aborted ? error : refusal('jq_memory', 'more memory than it may');
  }
}

function refusal(code: string, took: string): CliError {
  return new CliError(code, `--jq: the expression took ${took}`);
}

/** The entry lies beside this file, as JavaScript in the bundle and as TypeScript in a checkout. */
function startWorker(expression: string): Worker {
  const options = {
    name: 'jq',
    workerData: expression,
    env: {},
    // The library says on them that it was aborted.
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 },
  };
  if (!import.meta.url.endsWith('.ts'))
    return new Worker(new URL('./jq.worker.js', import.meta.url), { ...options, execArgv: [] });
  // A thread cannot be started from a TypeScript file, so it starts from a line that brings the loader of the
  // checkout in first.
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const entry = JSON.stringify(new URL('./jq.worker.ts', import.meta.url).href);
  const code = `import(${loader}).then(({ register }) => { register(); return import(${entry}); })`;
  return new Worker(code, { ...options, eval: true, execArgv: ['--conditions=source'] });
}

function filteredOf({ stdout, stderr, exitCode }: Answer): Filtered {
  const said = stderr === '' ? [] : stderr.split('\n');
  const results = stdout === '' ? [] : stdout.split('\n').map(resultOf);
  if (exitCode === 0) return { results, notes: said };
  const begin = Math.max(
    0,
    said.findLastIndex((line) => line.startsWith('jq: error')),
  );
  const why = said.slice(begin).join('\n') || `the expression ended with ${exitCode}`;
  const problem = new CliError('jq', neutraliseLine(`--jq: ${withoutPlace(why)}`));
  return { results, notes: said.slice(0, begin), problem };
}

/** jq prints JSON on one line, in which a quotation mark begins a text alone. */
function resultOf(line: string): Result {
  return line.startsWith('"') ? { text: String(JSON.parse(line)) } : { json: line };
}

/** `jq: error: syntax error at <top-level>, line 1, column 2:`, and lines that show where that is. */
function compileError(stderr: string): UsageError {
  const [first = '', ...lines] = stderr.split('\n');
  const shown = lines.filter((line) => !/^(jq: \d+ compile errors?)?$/.test(line)).slice(0, 4);
  return new UsageError(neutraliseLine(`--jq: ${withoutPlace(first)}`), { hints: shown });
}

function withoutPlace(message: string): string {
  return message
    .replace(/^jq: error(?: \(at [^)]*\))?: /, '')
    .replace(' <top-level>,', '')
    .replace(/:$/, '');
}
