/**
 * Asks a person for one line on a terminal, which is in raw mode only while asking; every way out (answer,
 * Ctrl-C, Ctrl-D, abort) goes through `finish`, which restores it, because a shell left in raw mode shows
 * nothing one types.
 */
import type { ReadStream, WriteStream } from 'node:tty';

export interface Question {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly prompt: string;
  readonly hidden: boolean;
  readonly signal: AbortSignal;
  /** Called at Ctrl-C: in raw mode the terminal sends no SIGINT. */
  readonly interrupt: () => void;
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const CTRL_U = '\u0015';

export function askLine(question: Question): Promise<string> {
  const { input, output, prompt, hidden, signal, interrupt } = question;
  return new Promise((resolve, reject) => {
    let line: string[] = [];
    const finish = (settle: () => void): void => {
      input.off('data', onData);
      signal.removeEventListener('abort', onAbort);
      input.setRawMode(false);
      input.pause();
      output.write('\n');
      settle();
    };
    const onAbort = (): void => finish(() => reject(signal.reason as Error));
    const onData = (chunk: Buffer): void => {
      for (const key of chunk.toString('utf8')) {
        if (key === CTRL_C) return interrupt();
        if (key === '\r' || key === '\n' || key === CTRL_D) return finish(() => resolve(line.join('')));
        if (key === '\u007f' || key === '\b') {
          if (line.pop() !== undefined && !hidden) output.write('\b \b');
        } else if (key === CTRL_U) {
          if (!hidden) output.write('\b \b'.repeat(line.length));
          line = [];
        } else if (key >= ' ') {
          line.push(key);
          if (!hidden) output.write(key);
        }
      }
    };
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    // Raw mode comes first, because a fast typist, or a program, answers as soon as the prompt is there.
    input.setRawMode(true);
    output.write(prompt);
    input.on('data', onData);
    input.resume();
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
