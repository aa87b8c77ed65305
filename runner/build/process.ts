/**
 * Runs one command of a build on the host (git, the engine's client, pack): in a process group of its own,
 * with its output streamed, ended when the build is stopped. It runs without a shell, and with an explicit
 * environment instead of an inherited one.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { errorText } from '../platform/errors.ts';
import type { BuildControl } from './control.ts';

/** So much of the end of the output is kept for messages. */
const TAIL_BYTES = 8_192;

export interface ProcessOptions {
  argv: readonly string[];
  /** The name of the command in messages; without it, its program. */
  title?: string;
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Without it the output is only kept, see `stdout` and `tail`. */
  onOutput?: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => Promise<void>;
  stdin?: string;
  /** Time limit of this command alone; it is then killed and counts as failed. */
  timeoutMs?: number;
  /** When aborted, this command alone is killed; the reason is the failure. */
  abort?: AbortSignal;
  /**
   * Exchanges messages with the command over its descriptor 3. When it rejects, the command is killed and has
   * failed with that error.
   */
  started?: (child: ChildProcess) => Promise<void>;
}

export interface ProcessResult {
  /** Absent when it was ended by a signal or never started. */
  code?: number;
  /** The first 8 KiB. */
  stdout: string;
  /** The end of both streams. */
  tail: string;
  failure?: string;
}

/** Rejects with BuildStopped when the build was stopped meanwhile, after the command is gone. */
export async function runProcess(options: ProcessOptions, control: BuildControl): Promise<ProcessResult> {
  control.check();
  const [program = '', ...args] = options.argv;
  const { title = program } = options;
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...options.env },
    stdio: [
      options.stdin === undefined ? 'ignore' : 'pipe',
      'pipe',
      'pipe',
      ...(options.started === undefined ? [] : ['pipe' as const]),
    ],
    detached: true,
  });
  let failure: string | undefined;
  const fail = (problem: string) => {
    failure ??= problem;
  };
  child.stdin?.on('error', () => undefined); // A command may end without reading its input.
  child.stdin?.end(options.stdin);
  const exited = exitOf(child, (error) => fail(`${title} cannot be started: ${error.message}`));
  const unwatch = endOn({ child, fail }, options, control);
  const ready = options.started?.(child).catch((error: unknown) => {
    // The output of a command that ended by itself explains more than this error.
    if (child.exitCode === null) fail(errorText(error));
    signalGroup(child, 'SIGKILL');
  });
  const kept = { head: '', tail: Buffer.alloc(0) };
  const read = async (stream: 'stdout' | 'stderr'): Promise<void> => {
    try {
      for await (const chunk of (child[stream] ?? []) as AsyncIterable<Buffer>) {
        kept.tail = Buffer.concat([kept.tail, chunk]).subarray(-TAIL_BYTES);
        if (stream === 'stdout' && kept.head.length < TAIL_BYTES) kept.head += chunk.toString();
        await options.onOutput?.(stream, chunk);
      }
    } catch (error) {
      // Either the runner closed the pipes, or the output could not be stored: then the command must not run
      // on unrecorded.
      if (!control.term.aborted) fail(`output cannot be stored: ${String(error)}`);
      signalGroup(child, 'SIGKILL');
    }
  };
  const drained = Promise.all([read('stdout'), read('stderr')]);
  const exit = await exited;
  signalGroup(child, control.term.aborted ? 'SIGKILL' : 'SIGTERM'); // Ends the processes that it left in its group.
  await Promise.race([drained, aborted(control.kill)]);
  await ready;
  unwatch();
  control.check();
  if (exit.signal !== undefined) fail(`${title} was killed by ${exit.signal}`);
  return {
    stdout: kept.head,
    tail: kept.tail.toString(),
    ...(exit.code === undefined || failure !== undefined ? {} : { code: exit.code }),
    ...(failure === undefined ? {} : { failure }),
  };
}

async function exitOf(
  child: ChildProcess,
  onError: (error: Error) => void,
): Promise<{ code?: number; signal?: string }> {
  return await new Promise((resolve) => {
    child.once('error', (error) => {
      onError(error);
      resolve({});
    });
    child.once('exit', (code, signal) =>
      resolve({ ...(code === null ? {} : { code }), ...(signal === null ? {} : { signal }) }),
    );
  });
}

interface StartedProcess {
  child: ChildProcess;
  /** Notes why the command failed; the first reason counts. */
  fail: (problem: string) => void;
}

/** Ends the command when its time is over or the build is stopped; returns how to stop watching. */
function endOn({ child, fail }: StartedProcess, options: ProcessOptions, control: BuildControl): () => void {
  const onTerm = () => signalGroup(child, 'SIGTERM');
  const onKill = () => {
    signalGroup(child, 'SIGKILL');
    // A process that left the group may hold the pipes open: the clean-up finds it, so it is not waited for
    // here.
    child.stdout?.destroy();
    child.stderr?.destroy();
  };
  const end = (problem: string) => {
    fail(problem);
    onKill();
  };
  const { timeoutMs, abort, title = options.argv[0] } = options;
  const onAbort = () => end(String(abort?.reason));
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => end(`${title} did not end within ${Math.round(timeoutMs / 1_000)} s`), timeoutMs);
  control.term.addEventListener('abort', onTerm);
  control.kill.addEventListener('abort', onKill);
  abort?.addEventListener('abort', onAbort);
  return () => {
    clearTimeout(timer);
    control.term.removeEventListener('abort', onTerm);
    control.kill.removeEventListener('abort', onKill);
    abort?.removeEventListener('abort', onAbort);
  };
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, name);
  } catch {
    // The group is gone already.
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Returns the failure of a command for a message, which is its last lines of output. */
export function lastLines(result: ProcessResult, lines = 5): string {
  if (result.failure !== undefined) return result.failure;
  const text = result.tail.split('\n').filter((line) => line.trim() !== '');
  return text.slice(-lines).join('; ').slice(-1_500) || `exit code ${result.code}`;
}
