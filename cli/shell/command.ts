/** What the shell runs: a generated command, or a hand-written one in the same form. */
import type { Client, Operation, SvcApiError } from '@svc/sdk';
import type { CommandSpec, FieldSpec } from '../command.ts';
import type { Connection } from './connection.ts';
import type { Globals } from './globals.ts';
import type { Io } from './io.ts';
import type { Output } from './output.ts';

/** A generated command, extended by what only the command line knows. */
export interface Spec extends Omit<CommandSpec, 'operation'> {
  /** Absent for commands that do not stand for one API call. */
  readonly operation?: Operation;
  /** Flags of the command itself; they never go into the request. */
  readonly locals: readonly FieldSpec[];
}

export interface Context {
  readonly spec: Spec;
  readonly globals: Globals;
  readonly io: Io;
  readonly output: Output;
  /** Request fields by JSON name, nested objects nested. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Values of `spec.locals` by name. */
  readonly locals: Readonly<Record<string, unknown>>;
  /** Aborted by Ctrl-C, and by `--timeout` unless the command `waits`. */
  readonly signal: AbortSignal;
  /** Where to and who as; looked up when first asked for. */
  connection(): Promise<Connection>;
  /** The SDK's client on that connection. */
  client(): Promise<Client>;
}

export interface Command {
  readonly spec: Spec;
  /** `--timeout` is how long the command waits for an outcome, not how long the API may take; it minds it itself. */
  readonly waits?: boolean;
  /** Runs the program behind `--`, if there is one: whatever becomes of the API, and for as long as it takes to end after Ctrl-C. */
  readonly wraps?: boolean;
  /** What to do about a refusal of the API, beside what its message says; one line each. */
  readonly advice?: (error: SvcApiError) => readonly string[];
  /** Resolves with the exit code; nothing is 0. */
  readonly run: (context: Context) => Promise<number | void>;
}

type Described = Pick<Spec, 'group' | 'words' | 'summary'> & Partial<Spec>;

/** A hand-written command from scratch. */
export function describeCommand(spec: Described): Spec {
  return {
    description: `${spec.summary}.`,
    positionals: [],
    flags: [],
    locals: [],
    destructive: false,
    stream: false,
    empty: false,
    columns: [],
    secrets: [],
    examples: [],
    auth: 'none',
    stability: 'stable',
    deprecated: false,
    ...spec,
  };
}

type DescribedFlag = Pick<FieldSpec, 'flag' | 'type' | 'description'> & Partial<FieldSpec>;

/** A hand-written flag or positional; its name is the flag in camelCase. */
export function describeFlag(field: DescribedFlag): FieldSpec {
  return {
    name: field.flag.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
    repeated: false,
    required: false,
    hidden: false,
    sensitive: false,
    placeholder: field.flag,
    ...field,
  };
}

/** `svc runs create` */
export function commandLine(spec: Pick<Spec, 'group' | 'words'>): string {
  return ['svc', spec.group, ...spec.words].join(' ');
}
