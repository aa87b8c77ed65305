/** Commands as the shell runs them: generated ones, and hand-written ones in the same form. */
import type { ArgDef, ArgsDef, ParsedArgs } from 'citty';
import type { Client, Operation, SvcApiError } from '@svc/sdk';
import type { CommandSpec, FieldSpec } from '../command.ts';
import type { Connection } from './connection.ts';
import type { Globals } from './globals.ts';
import type { Io } from './io.ts';
import type { Output } from './output.ts';
import { camelCase } from './text.ts';

/** A field, extended by what only the command line knows. */
export interface ShellField extends FieldSpec {
  /** Its value is that of another field, which is read from there: `--value-file`. */
  readonly reads?: { readonly field: FieldSpec; readonly from: 'stdin' | 'file' };
  /** Given by the flags that read it, and never on the command line itself. */
  readonly unspoken?: true;
}

/** A generated command, extended by what only the command line knows. */
export interface Spec extends Omit<CommandSpec, 'operation' | 'positionals' | 'flags'> {
  readonly positionals: readonly ShellField[];
  readonly flags: readonly ShellField[];
  /** Absent for commands that do not stand for one API call. */
  readonly operation?: Operation;
  /** Other words for the same command: `svc runners status`. */
  readonly aliases?: readonly string[];
  /** Flags of the command itself; they never go into the request. */
  readonly locals: readonly ShellField[];
}

/** A generated command as the shell shows it. */
export type GeneratedSpec = Spec & Pick<CommandSpec, 'operation'>;

export interface Context {
  readonly spec: Spec;
  readonly globals: Globals;
  readonly io: Io;
  readonly output: Output;
  /** Request fields by JSON name, nested objects nested. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Values of the command's own arguments; typed by `ContextOf`. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Aborted by Ctrl-C, and by `--timeout` unless the command `waits`. */
  readonly signal: AbortSignal;
  /** Address and credential; looked up when first asked for. */
  connection(): Promise<Connection>;
  /** The SDK's client on that connection. */
  client(): Promise<Client>;
}

/** The context with the command's own arguments, in the types that citty has for their definitions. */
export type ContextOf<A extends ArgsDef> = Context & { readonly args: ParsedArgs<A> };

/** Fields of an object: '' is plain, '*' is anything, and all else is a message of the contracts. */
export interface AnswerShape {
  readonly [field: string]: string | AnswerShape;
}

/** Keeps a shape to the fields of a type. */
export type ShapeOf<T> = { readonly [field in keyof Required<T>]: string | AnswerShape };

/**
 * Says what a command prints as JSON: the answer of a command of the contracts, by its words, or an object of
 * its own, or '*' for anything. False is for one that prints text alone.
 */
export type AnswerSpec = string | AnswerShape | false;

interface Conduct {
  /**
   * `--timeout` is how long the command waits for an outcome, not how long the API may take; it minds it
   * itself.
   */
  readonly waits?: boolean;
  /** Exit codes that it has beside those of every command, and 8 of one that waits. */
  readonly exits?: readonly number[];
  /**
   * Runs the program behind `--`, if there is one: whatever becomes of the API, and for as long as it takes
   * to end after Ctrl-C.
   */
  readonly wraps?: boolean;
  /** Gives advice about a refusal of the API, beside its message; one line each. */
  readonly advice?: (error: SvcApiError) => readonly string[];
  /** Runs the command and resolves with its exit code; nothing stands for 0. */
  readonly run: (context: Context) => Promise<number | void>;
}

export interface Command extends Conduct {
  readonly spec: Spec;
  readonly answer: AnswerSpec;
}

/**
 * A hand-written command: what it says of itself, its own arguments as citty defines them, and what it does.
 */
export interface Own extends Partial<Omit<Spec, 'group' | 'words' | 'summary'>>, Conduct {
  readonly args?: OwnArgs;
  /** Absent where it is that of the generated command that it stands over. */
  readonly answer?: AnswerSpec;
}

/** Arguments by property: `apiKeyStdin` is `--api-key-stdin`. */
export type OwnArgs = Record<string, OwnArg>;
type OwnArg = ArgDef & {
  readonly sensitive?: true;
  readonly options?: string[];
  /** The flag, where the property is called otherwise: `teamId` takes the name of a team by `--team`. */
  readonly flag?: string;
};

export function defineOwn<const A extends OwnArgs>(
  own: Omit<Own, 'args' | 'run'> & {
    readonly args: A;
    readonly run: (context: ContextOf<A>) => Promise<number | void>;
  },
): Own {
  // The values were read by these very definitions.
  return { ...own, run: (context) => own.run(context as ContextOf<A>) };
}

/** A command that says nothing of itself. */
export const BLANK: Spec = {
  group: '',
  words: [],
  summary: '',
  description: '',
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
};

/** Arguments as the strict parser, the help and the completion know them. */
export function argFields(args: OwnArgs): {
  readonly positionals: readonly FieldSpec[];
  readonly flags: readonly FieldSpec[];
} {
  const fields = Object.entries(args).map(([name, def]) => ({ def, field: argField(name, def) }));
  return {
    positionals: fields.flatMap(({ def, field }) => (def.type === 'positional' ? [field] : [])),
    flags: fields.flatMap(({ def, field }) => (def.type === 'positional' ? [] : [field])),
  };
}

function argField(name: string, def: OwnArg): FieldSpec {
  const flag = def.flag ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return {
    ...describeFlag({
      flag,
      type: def.type === 'boolean' ? 'boolean' : def.options === undefined ? 'string' : 'enum',
      description: def.description ?? '',
    }),
    name,
    required: def.required ?? false,
    sensitive: def.sensitive ?? false,
    placeholder: def.valueHint ?? flag,
    ...('alias' in def && typeof def.alias === 'string' && { short: def.alias }),
    ...(def.options !== undefined && { values: def.options }),
  };
}

type DescribedFlag = Pick<FieldSpec, 'flag' | 'type' | 'description'> & Partial<FieldSpec>;

/** It describes a flag or positional of a request; its name is the flag in camelCase. */
export function describeFlag(field: DescribedFlag): FieldSpec {
  return {
    name: camelCase(field.flag),
    repeated: false,
    required: false,
    hidden: false,
    sensitive: false,
    placeholder: field.flag,
    ...field,
  };
}

/** It is the command's own, and no part of the request. */
export function isOwn({ operation, locals }: Spec, field: ShellField): boolean {
  return operation === undefined || locals.includes(field);
}

/** `svc runs create` */
export function commandLine(spec: Pick<Spec, 'group' | 'words'>): string {
  return ['svc', spec.group, ...spec.words].join(' ');
}
