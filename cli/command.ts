/**
 * Types that describe one command of `svc` as plain data. The tables in cli/gen/ are printed from the
 * contracts; the shell parses, completes, documents and runs commands from these values alone.
 */
import type { Operation } from '@svc/sdk';

export type FieldType =
  | 'string'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'enum'
  /** RFC 3339. */
  | 'timestamp'
  /** `key=value`; the flag may be given several times, each adds an entry. */
  | 'map'
  /** JSON text; when `repeated`, each flag is one item, or a list of them. */
  | 'json'
  /** Bytes as they are in a file; in the request they are base64. */
  | 'bytes';

/** One positional or one flag. */
export interface FieldSpec {
  /**
   * Place of the value in the request: a JSON field name, dotted for a field of a nested object
   * (`limits.memoryMb`).
   */
  readonly name: string;
  /** Name without dashes: `memory-mb`. For a positional, the flag that may be used instead of it. */
  readonly flag: string;
  /** One letter. */
  readonly short?: string;
  readonly type: FieldType;
  /** Values of an enum, in the spelling of the API. */
  readonly values?: readonly string[];
  /** Given several times, the values make a list. A repeated positional takes all that is left. */
  readonly repeated: boolean;
  readonly required: boolean;
  /** Accepted, but left out of help and completion. */
  readonly hidden: boolean;
  /** Never echoed, never in debug output. */
  readonly sensitive: boolean;
  /** Name of the value in help, without brackets: `runner-id`. */
  readonly placeholder: string;
  /** Text of the proto comment, which may hold several lines. */
  readonly description: string;
  /** Takes everything after `--`. */
  readonly rest?: true;
  /** Text form of a value that is not plain, such as `key=value`. */
  readonly format?: string;
  /**
   * `file`: the value is a path. `text`: it is the document itself, or `@path`. Either may be `-`, which is
   * standard input.
   */
  readonly document?: 'file' | 'text';
  /** Longest document or secret. */
  readonly limit?: { readonly bytes: number } | { readonly characters: number };
  /**
   * Most bytes that are sent of a document: a longer one, and one that is gzipped already, is sent as base64
   * of its gzip.
   */
  readonly packedAbove?: number;
}

export interface CommandSpec {
  /** `runners` */
  readonly group: string;
  /**
   * Words after the group: `['request-diagnostics']`, `['runs', 'list']`; empty when the group itself is the
   * command.
   */
  readonly words: readonly string[];
  /** First sentence of the description, without its full stop. */
  readonly summary: string;
  /** Text of the whole proto comment, whose paragraphs are separated by an empty line. */
  readonly description: string;
  readonly operation: Operation;
  readonly positionals: readonly FieldSpec[];
  /** Sorted: required ones first, then by name. */
  readonly flags: readonly FieldSpec[];
  /** Longest body in bytes; absent where there is none. */
  readonly bodyBytesMax?: number;
  /** Ask a person at a terminal before running. */
  readonly destructive: boolean;
  /** The answer is an event stream. */
  readonly stream: boolean;
  /** The answer is bytes: `--output` names a file for them. */
  readonly raw?: true;
  /** The answer is one page of `operation.items`. */
  readonly page?: { readonly maxLimit: number };
  /** The answer has no body. */
  readonly empty: boolean;
  /** Response field with the rows of a table: the paged items, or the one list of the response. */
  readonly rows?: string;
  /** JSON paths in one row (or in the answer itself when there are no rows). Empty: the shell chooses. */
  readonly columns: readonly string[];
  /** Response fields whose values are secrets, as JSON paths; shown to the caller, never in debug output. */
  readonly secrets: readonly string[];
  readonly examples: readonly { readonly title: string; readonly cli: string }[];
  /** Platform feature that must be enabled. */
  readonly feature?: string;
  /** People who are shown that feature when it is enabled. `public`: everybody; `internal`: staff alone. */
  readonly visibility?: 'public' | 'internal';
  readonly auth: 'none' | 'optional' | 'required' | 'session' | 'staff';
  /** It takes no API key. */
  readonly sessionOnly?: boolean;
  readonly stability: 'stable' | 'preview' | 'experimental';
  readonly deprecated: boolean;
}

/** Fields of a message, each with the message that it holds; nothing is a plain value, `*` is anything. */
export type ShapeSpec = Readonly<Record<string, string>>;

/** A kind of thing, and how one of them is found by its name. */
export interface KindSpec {
  /** `runner group` */
  readonly word: string;
  /** Beginning of its ids, in front of the dash: `rnr`. */
  readonly prefix?: string;
  /** Field of a listed thing that holds its id. */
  readonly id: string;
  /** Fields of a listed thing that people know it by. */
  readonly names: readonly string[];
  /** Request fields that hold the id of such a thing wherever they stand. */
  readonly fields: readonly string[];
  /** Lists all of them. */
  readonly list: Operation;
  /** Address of one of them below that of the console, with the variables `id`, `teamId` and so on. */
  readonly page?: string;
}

/** Part of the product; help lists commands by it. */
export interface AreaSpec {
  readonly area: string;
  readonly title: string;
  readonly summary: string;
}

/** One command group: enough for `svc --help` and for finding a command, without loading its table. */
export interface GroupSpec {
  readonly group: string;
  /** One of the areas. */
  readonly area: string;
  readonly summary: string;
  readonly commands: readonly { readonly words: readonly string[]; readonly summary: string }[];
  /** Lines with the one verb of a thing, each with that of the contract: `get` is `status`. */
  readonly verbs: Readonly<Record<string, string>>;
  readonly load: () => Promise<readonly CommandSpec[]>;
}

/** A field as cli/gen/ has it. What is absent follows from the rest: tables.ts says how. */
export type PrintedField = Pick<FieldSpec, 'name'> & Partial<FieldSpec>;

/** Parts of a command that stand in the index, or that the operation tells. */
type Derived = 'group' | 'words' | 'summary' | 'raw' | 'page' | 'rows';

/** A command as cli/gen/ has it, with what is not as usual. */
export interface PrintedCommand extends Partial<
  Omit<CommandSpec, Derived | 'operation' | 'positionals' | 'flags'>
> {
  readonly operation: Operation;
  readonly positionals?: readonly PrintedField[];
  readonly flags?: readonly PrintedField[];
  /** The most items of one page. */
  readonly limitMax?: number;
}

/** A group as cli/gen/ has it; feature and visibility are those of all its commands that name no other. */
export interface PrintedGroup
  extends Pick<GroupSpec, 'area' | 'summary'>, Pick<CommandSpec, 'feature' | 'visibility'> {
  /** Summaries by the words of the command. */
  readonly commands: Readonly<Record<string, string>>;
  readonly verbs?: Readonly<Record<string, string>>;
  readonly load: () => Promise<{ readonly commands: Readonly<Record<string, PrintedCommand>> }>;
}
