/**
 * Takes one run from its start to a clean host, the same for every kind of sandbox.
 *
 * prepare -> started -> (exit | stop: SIGTERM -> grace -> SIGKILL) -> output drained -> verdict -> cleaned up
 * -> done
 *
 * These race: the process's own exit, the deadline, kill() from the daemon, the memory watchdog, a failing
 * consumer. They all write one variable, `cause`, through `claim`; the first writer wins and nobody
 * overwrites it, so "timeout" and "exit" in the same tick give one of the two, never a mix. This function
 * owns that variable, the deadline timer and the signalling loop. It must always hold that `done` resolves,
 * cleanup has been attempted, and no timer is left behind.
 */
import type { Readable } from 'node:stream';
import type { EndReason, KillReason, OnOutput, Outcome, Running } from './executor.ts';
import { pumpOutput, type OutputPump } from './output-pump.ts';
import { errorText } from '../platform/errors.ts';
import { constants } from 'node:os';

export const GRACE_MS = 5_000;
/** SIGTERM may come before the engine knows the container; it is tried again after this time. */
const TERM_RETRY_MS = 200;
const KILL_RETRY_MS = 1_000;
/** After so long without an effect of SIGKILL the engine is taken for dead and the run is given up. */
const ABANDON_MS = 20_000;
/** The last output of a killed run may take so long to be stored; the lease may be somebody else's by now. */
const DRAIN_AFTER_KILL_MS = 10_000;

export interface ProcessExit {
  code?: number;
  signal?: string;
}

/** A failure that is not the task's fault: it becomes the outcome `engine_error` with this message. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
}

export interface StartedProcess {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<ProcessExit>;
  /** Last resort when SIGKILL through the sandbox does not help: make `exited` resolve whatever happens. */
  abandon(): void;
}

export interface Verdict {
  reason: 'exit' | 'memory' | 'engine_error';
  exitCode?: number;
  signal?: string;
  message?: string;
}

/** Ends the run from inside the sandbox's own machinery (watchdog, probe). */
export type Abort = (reason: 'memory' | 'engine_error', message: string) => void;

/** The operations of one kind of sandbox for one run; every method has its own time limit. */
export interface Sandbox {
  prepare(): Promise<void>;
  start(abort: Abort): Promise<StartedProcess>;
  /** Rejects when the signal could not be delivered yet; it is then called again. */
  signal(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  verdict(exit: ProcessExit): Promise<Verdict>;
  /** Removes everything, also after a failed prepare; rejects with a message about what is left. */
  cleanup(): Promise<void>;
}

export interface SuperviseOptions {
  timeoutSeconds: number;
  outputBytes: number;
  onOutput: OnOutput;
  log: (message: string, fields?: object) => void;
}

export function supervise(sandbox: Sandbox, options: SuperviseOptions): Running {
  const run = new Run(sandbox, options);
  return { done: run.whole(), kill: (reason, graceMs) => run.stop(reason, graceMs ?? GRACE_MS) };
}

class Run {
  readonly #sandbox: Sandbox;
  readonly #options: SuperviseOptions;
  readonly #startedAt = performance.now();
  #cause: EndReason | undefined;
  #message: string | undefined;
  #killAt = Infinity;
  #termSent = false;
  #exited = false;
  #abandoned = false;
  #lastSignalError: string | undefined;
  /** Resolved and replaced at every change that the signalling loop or the drain must look at. */
  #changed = signalFlag();
  #stopping = signalFlag();

  constructor(sandbox: Sandbox, options: SuperviseOptions) {
    this.#sandbox = sandbox;
    this.#options = options;
  }

  async whole(): Promise<Outcome> {
    let outcome: Outcome;
    try {
      outcome = await this.#execute();
    } catch (error) {
      this.#claim('engine_error');
      outcome = this.#outcome({ reason: 'engine_error', message: messageOf(error) }, this.#elapsedMs());
    }
    try {
      await this.#sandbox.cleanup();
    } catch (error) {
      this.#options.log('sandbox not cleaned up, the next reap tries again', { error: messageOf(error) });
    }
    return outcome;
  }

  /** The first reason stands; a later call can only shorten the grace. */
  stop(reason: KillReason | 'timeout' | 'memory' | 'engine_error', graceMs: number, message?: string): void {
    if (this.#claim(reason)) this.#message = message;
    this.#killAt = Math.min(this.#killAt, performance.now() + graceMs);
    this.#stopping.set();
    this.#change();
  }

  async #execute(): Promise<Outcome> {
    await this.#sandbox.prepare();
    if (this.#cause !== undefined) return this.#outcome(undefined, this.#elapsedMs());
    const process = await this.#sandbox.start((reason, message) => this.stop(reason, 0, message));
    const deadline = setTimeout(() => this.stop('timeout', GRACE_MS), this.#options.timeoutSeconds * 1000);
    const pump = pumpOutput({
      stdout: process.stdout,
      stderr: process.stderr,
      outputBytes: this.#options.outputBytes,
      onOutput: this.#options.onOutput,
      onSinkError: (error) =>
        this.stop('engine_error', GRACE_MS, `output could not be stored: ${error.message}`),
    });
    const signalling = this.#signalUntilGone(process);
    const exit = await process.exited;
    clearTimeout(deadline);
    this.#claim('exit');
    this.#exited = true;
    this.#change();
    const durationMs = this.#elapsedMs();
    await signalling;
    await this.#drain(pump);
    return this.#outcome(await this.#sandbox.verdict(exit), durationMs);
  }

  /**
   * The only place that sends signals. It sleeps until the cause is set, then escalates until the process is
   * gone.
   */
  async #signalUntilGone(process: StartedProcess): Promise<void> {
    while (!this.#exited) {
      const changed = this.#changed;
      const now = performance.now();
      if (this.#killAt === Infinity) {
        await changed.promise;
      } else if (now < this.#killAt) {
        if (!this.#termSent) this.#termSent = await this.#send('SIGTERM');
        const waitMs = this.#killAt - performance.now();
        await settledWithin(changed.promise, this.#termSent ? waitMs : Math.min(waitMs, TERM_RETRY_MS));
      } else if (now < this.#killAt + ABANDON_MS) {
        await this.#send('SIGKILL');
        await settledWithin(changed.promise, KILL_RETRY_MS);
      } else {
        this.#abandoned = true;
        process.abandon();
        await changed.promise;
      }
    }
  }

  async #send(signal: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
    if (this.#exited) return true;
    try {
      await this.#sandbox.signal(signal);
      return true;
    } catch (error) {
      this.#lastSignalError = `${signal}: ${messageOf(error)}`;
      return false;
    }
  }

  async #drain(pump: OutputPump): Promise<void> {
    const late = this.#stopping.promise.then(() => settledWithin(pump.drained, DRAIN_AFTER_KILL_MS));
    await Promise.race([pump.drained, late]);
    pump.stop();
  }

  #outcome(verdict: Verdict | undefined, durationMs: number): Outcome {
    const cause = this.#cause ?? 'engine_error';
    const message = this.#message ?? verdict?.message;
    const reason = this.#abandoned
      ? 'engine_error'
      : cause === 'exit' && verdict !== undefined
        ? verdict.reason
        : cause;
    return {
      reason,
      durationMs,
      ...(verdict?.exitCode === undefined ? {} : { exitCode: verdict.exitCode }),
      ...(verdict?.signal === undefined ? {} : { signal: verdict.signal }),
      ...(this.#abandoned
        ? {
            message: `the run did not end within ${ABANDON_MS / 1000} s of SIGKILL (${this.#lastSignalError ?? 'no error reported'})`,
          }
        : message === undefined
          ? {}
          : { message }),
    };
  }

  #claim(cause: EndReason): boolean {
    if (this.#cause !== undefined) return false;
    this.#cause = cause;
    return true;
  }

  #change(): void {
    const changed = this.#changed;
    this.#changed = signalFlag();
    changed.set();
  }

  #elapsedMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }
}

function signalFlag(): { promise: Promise<void>; set: () => void } {
  let set: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => (set = resolve));
  return { promise, set };
}

/** Resolves with the promise or after `ms`, and leaves no timer behind. */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, Math.max(0, ms))));
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

export function messageOf(error: unknown): string {
  return errorText(error);
}

/** Exit codes above 128 read as a shell reads them; a task that itself exits with 137 looks the same. */
export function signalOfExitCode(code: number | undefined): string | undefined {
  return code === undefined ? undefined : SIGNALS[code - 128];
}

const SIGNALS: Readonly<Record<number, string>> = Object.fromEntries(
  'HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ SYS'
    .split(' ')
    .map((name) => [constants.signals[`SIG${name}` as NodeJS.Signals], `SIG${name}`]),
);
