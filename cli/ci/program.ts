/** A program in place of ours: its input and output are ours, signals go to it, and how it ends is how we end. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Io } from '../shell/io.ts';
import { Interrupted } from '../shell/io.ts';

/** As shells have it. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;
const SIGNALLED = 128;

export async function runProgram([file = '', ...args]: readonly string[], io: Io): Promise<number> {
  const child = spawn(file, args, { stdio: 'inherit', env: { ...io.env } });
  const pass = (): void => {
    const { reason } = io.interrupted as { reason: unknown };
    const isTerm = reason instanceof Interrupted && reason.exitCode === SIGNALLED + constants.signals.SIGTERM;
    // Ctrl-C on a terminal goes to the whole group: the program has it already.
    if (isTerm || !io.stdin.isTerminal) child.kill(isTerm ? 'SIGTERM' : 'SIGINT');
  };
  io.interrupted.addEventListener('abort', pass, { once: true });
  if (io.interrupted.aborted) pass();
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
    io.interrupted.removeEventListener('abort', pass);
  }
}
