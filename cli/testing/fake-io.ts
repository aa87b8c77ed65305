/** A process that is whatever the test wants: a terminal, a pipe, a clock, a person at the keyboard. */
import { setTimeout as delay } from 'node:timers/promises';
import { ClosedPipeError, Interrupted, type Io, type Sink } from '../shell/io.ts';

export interface FakeIo extends Io {
  readonly out: () => string;
  readonly err: () => string;
  /** Questions on the terminal; hidden ones end with `(hidden)`. */
  readonly questions: readonly string[];
  /** Addresses at which the browser was started. */
  readonly browsed: readonly string[];
  interrupt(): void;
}

export interface FakeIoOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly homeFolder?: string;
  readonly workFolder?: string;
  /** All three streams; each may be set alone. */
  readonly terminal?: boolean;
  readonly stdoutTerminal?: boolean;
  readonly stdinTerminal?: boolean;
  readonly columns?: number;
  /** Content of standard input. */
  readonly input?: string | Uint8Array;
  /** Answers of the person, in order. */
  readonly answers?: readonly string[];
  readonly nowMs?: number;
  readonly browser?: true;
  /** Standard output is closed by its reader after so many writes. */
  readonly closedAfter?: number;
}

export const NOW_MS = Date.parse('2026-11-20T12:00:00Z');

export function fakeIo(options: FakeIoOptions = {}): FakeIo {
  const terminal = options.terminal === true;
  const controller = new AbortController();
  const questions: string[] = [];
  const browsed: string[] = [];
  const answers = [...(options.answers ?? [])];
  const stdout = memorySink(options.stdoutTerminal ?? terminal, options.columns ?? 80, options.closedAfter);
  const stderr = memorySink(terminal, options.columns ?? 80);
  return {
    // Nothing can be made below a device: without a folder of the test's own, commands remember nothing.
    env: { XDG_CACHE_HOME: '/dev/null', ...options.env },
    homeFolder: options.homeFolder ?? '/nonexistent',
    workFolder: options.workFolder ?? '/nonexistent',
    stdout,
    stderr,
    stdin: {
      isTerminal: options.stdinTerminal ?? terminal,
      readAll: async (bytesMax) => Buffer.from(options.input ?? '').subarray(0, bytesMax + 1),
      ask: async (prompt, how = {}) => {
        questions.push(how.hidden === true ? `${prompt}(hidden)` : prompt);
        const answer = answers.shift();
        if (answer === undefined) throw new Error(`the test has no answer to ${JSON.stringify(prompt)}`);
        return answer;
      },
    },
    browse: async (url) => options.browser === true && browsed.push(url) > 0,
    now: () => options.nowMs ?? NOW_MS,
    pause: (ms, signal) => delay(ms, undefined, { signal, ref: false }).catch(() => undefined),
    interrupted: controller.signal,
    out: stdout.text,
    err: stderr.text,
    questions,
    browsed,
    interrupt: () => controller.abort(new Interrupted(130)),
  };
}

function memorySink(
  isTerminal: boolean,
  columns: number,
  closedAfter = Number.POSITIVE_INFINITY,
): Sink & { text: () => string } {
  const written: string[] = [];
  return {
    isTerminal,
    columns: isTerminal ? columns : undefined,
    write: async (text) => {
      if (written.length >= closedAfter) throw new ClosedPipeError();
      written.push(typeof text === 'string' ? text : Buffer.from(text).toString('latin1'));
    },
    text: () => written.join(''),
  };
}
