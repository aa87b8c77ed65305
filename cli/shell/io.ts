/** Everything that a command needs from the process, so that tests can be a terminal, a pipe or a clock. */

export interface Sink {
  readonly isTerminal: boolean;
  /** Width of the terminal; undefined when unknown or not a terminal. */
  readonly columns: number | undefined;
  /** Settles when it was taken; rejects with ClosedPipeError when nobody reads any more. */
  write(text: string | Uint8Array): Promise<void>;
}

export interface Source {
  readonly isTerminal: boolean;
  /** Reads all of it, until its end, or a part that is longer than `bytesMax`. */
  readAll(bytesMax: number): Promise<Buffer>;
  /**
   * Reads one line typed by a person, after `prompt` on standard error; `hidden` shows nothing while typing.
   */
  ask(prompt: string, options?: { readonly hidden?: boolean }): Promise<string>;
}

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeFolder: string;
  /** Folder in which the command was typed. */
  readonly workFolder: string;
  readonly stdin: Source;
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Starts the browser at an address, and tells if there is one. */
  readonly browse: (url: string) => Promise<boolean>;
  /** It returns milliseconds since 1970. */
  readonly now: () => number;
  /** Settles after `ms`, or at once when `signal` is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Aborted by SIGINT and SIGTERM; the reason is an Interrupted. */
  readonly interrupted: AbortSignal;
}

/** The reader of standard output went away (`svc … | head`): no error of ours, and nobody to tell. */
export class ClosedPipeError extends Error {
  override readonly name = 'ClosedPipeError';
}

/** It stands for Ctrl-C, or for a polite kill. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  /** Exit code of the process: 128 and the number of the signal. */
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('interrupted');
    this.exitCode = exitCode;
  }
}
