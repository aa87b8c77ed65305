/**
 * This file runs a program in place of ours: its input and output are ours, signals go to it, and we end as
 * it ends.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { Interrupted, type Io } from '../shell/io.ts';
import { INTERRUPTED_AGAIN } from '../shell/process-io.ts';

/** Exit codes that shells use. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;
const SIGNALLED = 128;

export async function runProgram([file = '', ...args]: readonly string[], io: Io): Promise<number> {
  const child = spawn(file, args, { stdio: 'inherit', env: { ...io.env } });
  const pass = (reason: unknown): void => {
    const isTerm = reason instanceof Interrupted && reason.exitCode === SIGNALLED + constants.signals.SIGTERM;
    // Ctrl-C on a terminal goes to the whole group: the program has it already.
    if (isTerm || !io.stdin.isTerminal) child.kill(isTerm ? 'SIGTERM' : 'SIGINT');
  };
  const first = (): void => pass(io.interrupted.reason);
  // CI systems that cancel a job send SIGINT and soon SIGTERM: what that means is the program's to say, as
  // long as it runs.
  const again = (event: Event): void => {
    event.preventDefault();
    pass((event as CustomEvent<unknown>).detail);
  };
  io.interrupted.addEventListener('abort', first, { once: true });
  io.interrupted.addEventListener(INTERRUPTED_AGAIN, again);
  if (io.interrupted.aborted) first();
  try {
    return await new Promise<number>((resolve) => {
      let failure: number | undefined;
      child.once('error', ({ code, message }: NodeJS.ErrnoException) => {
        failure ??= code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE;
        void io.stderr.write(`svc: ${file} cannot be run: ${message}\n`);
        if (child.pid === undefined) resolve(failure);
      });
      child.once('close', (code, signal) =>
        resolve(failure ?? code ?? (signal === null ? 1 : SIGNALLED + constants.signals[signal])),
      );
    });
  } finally {
    io.interrupted.removeEventListener('abort', first);
    io.interrupted.removeEventListener(INTERRUPTED_AGAIN, again);
  }
}
