/**
 * Gives the real process as Io. The first SIGINT asks the command to end, the second one ends the process at
 * once, unless a program that runs in its place takes it.
 */
import { homedir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { readUpTo } from './bytes.ts';
import { ClosedPipeError, Interrupted, type Io, type Sink, type Source } from './io.ts';
import { askLine } from './prompt.ts';

const SIGINT_EXIT = 130;
const SIGTERM_EXIT = 143;

/**
 * Event at `Io.interrupted` of every signal after the first; its detail is an Interrupted. Whoever prevents
 * its default keeps the process alive.
 */
export const INTERRUPTED_AGAIN = 'interrupted-again';

export function processIo(): Io {
  const controller = new AbortController();
  const stop = (exitCode: number) => (): void => {
    const { signal } = controller;
    const detail = new Interrupted(exitCode);
    if (!signal.aborted) controller.abort(detail);
    else if (signal.dispatchEvent(new CustomEvent(INTERRUPTED_AGAIN, { detail, cancelable: true })))
      process.exit(exitCode);
  };
  process.on('SIGINT', stop(SIGINT_EXIT));
  process.on('SIGTERM', stop(SIGTERM_EXIT));
  return {
    env: process.env,
    homeFolder: homedir(),
    workFolder: process.cwd(),
    stdin: source(controller.signal, stop(SIGINT_EXIT)),
    stdout: sink(process.stdout),
    stderr: lenient(sink(process.stderr)),
    browse: async (url) => await (await import('./browser.ts')).browse(url, process.env, process.platform),
    now: () => Date.now(),
    // An abort only ends the pause early; whoever pauses looks at the signal anyway.
    pause: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
    interrupted: controller.signal,
  };
}

function sink(stream: NodeJS.WriteStream): Sink {
  // Each write reports its own failure below; without a listener the event would end the process with a
  // stack.
  stream.on('error', () => undefined);
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.isTTY === true && stream.columns > 0 ? stream.columns : undefined;
    },
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => {
          if (error === null || error === undefined) resolve();
          else reject(isBrokenPipe(error) ? new ClosedPipeError() : error);
        });
      }),
  };
}

/** Notes that cannot be written are dropped: they must not fail a command whose result was delivered. */
function lenient(inner: Sink): Sink {
  return {
    isTerminal: inner.isTerminal,
    get columns() {
      return inner.columns;
    },
    write: (text) => inner.write(text).catch(() => undefined),
  };
}

function isBrokenPipe(error: Error): boolean {
  return 'code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED');
}

function source(signal: AbortSignal, interrupt: () => void): Source {
  return {
    isTerminal: process.stdin.isTTY === true,
    readAll: (bytesMax) => readUpTo(process.stdin, bytesMax),
    ask: (prompt, options = {}) =>
      askLine({
        input: process.stdin,
        output: process.stderr,
        prompt,
        hidden: options.hidden === true,
        signal,
        interrupt,
      }),
  };
}
