/** The words of one command are parsed strictly against its table, by citty. It is pure. */
import { parseArgs } from 'citty';
import type { FieldSpec } from '../command.ts';
import { addressOf } from './address.ts';
import { commandLine, isOwn, type ShellField, type Spec } from './command.ts';
import { UsageError } from './errors.ts';
import { GLOBAL_FLAGS, isFlag, type Token } from './globals.ts';
import { setPath } from './paths.ts';
import { placeFlag, placeKindOf } from './place-kind.ts';
import { oneOf, Source, sourceOf, wordOf } from './source.ts';
import { meantHints } from './suggest.ts';
import { combine, readValue } from './values.ts';

export interface Parsed {
  /** Request fields. */
  readonly input: Record<string, unknown>;
  /** The command's own arguments. */
  readonly args: Record<string, unknown>;
  /** Required ones that neither were given nor follow from the place; `--data` may still bring them. */
  readonly missing: readonly FieldSpec[];
}

/** One value of the command line, and the field that it is for. */
export interface GivenValue {
  readonly field: FieldSpec;
  /** As typed, the first one: `--state` or `<run-id>`. */
  readonly name: string;
  /** Values in order; a Source stands where the value is still to be read. */
  readonly values: readonly unknown[];
}

/** `tokens` are the words behind the command, without global flags; `rest` is what followed `--`. */
export function parseCommand(
  spec: Spec,
  tokens: readonly Token[],
  rest: readonly string[] | undefined,
): Parsed {
  return fill(spec, parseWords(spec, tokens, rest));
}

/**
 * citty tells flags, their values and other words apart; what it would let through is refused before and
 * behind it.
 */
export function parseWords(
  spec: Spec,
  tokens: readonly Token[],
  rest: readonly string[] | undefined,
): readonly GivenValue[] {
  const restField = spec.flags.find((field) => field.rest === true);
  // Without a field for it, `--` only says that no flags follow.
  const indexBehind = (tokens.at(-1)?.index ?? 0) + 2;
  const behind = (restField === undefined ? (rest ?? []) : []).map((text, at) => ({
    text,
    index: indexBehind + at,
  }));
  const words = tokens.map((token, at) =>
    isFlag(token.text) ? readFlag(spec, { token, next: tokens[at + 1] }) : { word: plainWord(token) },
  );
  const flags = words.filter((word) => 'field' in word);
  const args = parseArgs(
    [...words.map(({ word }) => word), ...behind.map(plainWord)],
    Object.fromEntries(flags.map(({ key, type }) => [key, { type }])),
  );
  const collected = new Collected();
  for (const { field, name, key } of flags) collected.add(field, valueOf(args[key]), name);
  if (restField !== undefined) for (const word of rest ?? []) collected.add(restField, word, `--`);
  takePositionals(spec, args._.map(tokenOf), collected);
  return collected.given();
}

/** Each plain word goes to citty behind its place, because it may begin with a dash without being a flag. */
function plainWord({ index, text }: Token): string {
  return `${index}:${text}`;
}

function tokenOf(word: string): Token {
  const colon = word.indexOf(':');
  return { index: Number(word.slice(0, colon)), text: word.slice(colon + 1) };
}

/** Returns the text as it was given; citty gives true or false for a switch. */
function valueOf(value: unknown): string {
  return typeof value === 'string' ? tokenOf(value).text : String(value);
}

/** Puts values where they belong in the request. */
export function fill(spec: Spec, given: readonly GivenValue[]): Parsed {
  const input: Record<string, unknown> = {};
  const args: Record<string, unknown> = {};
  for (const { field, name, values } of given) {
    const value = values.some((one) => one instanceof Source) ? values : combine(field, values, name);
    if (field.required && value === '') throw new UsageError(`${name} must not be empty`);
    setPath(isOwn(spec, field) ? args : input, field.name, value);
  }
  const isGiven = ({ flag }: FieldSpec): boolean => given.some(({ field }) => field.flag === flag);
  const all = [...spec.positionals, ...spec.flags, ...spec.locals];
  const isNeeded = (field: FieldSpec): boolean => field.required && placeKindOf(spec, field) === undefined;
  return { input, args, missing: all.filter((field) => isNeeded(field) && !isGiven(field)) };
}

/** Collects values by flag, in the order given. */
class Collected {
  readonly #given = new Map<
    string,
    { readonly field: FieldSpec; readonly name: string; values: unknown[] }
  >();

  add(field: ShellField, text: string, name: string): void {
    const { reads } = field;
    if (reads === undefined)
      this.#add(field, sourceOf(field, text, name) ?? readValue(field, text, name), name);
    else if (reads.from === 'file') this.#add(reads.field, new Source('file', name, text), name);
    else if (text === 'true') this.#add(reads.field, new Source('stdin', name), name);
  }

  #add(field: FieldSpec, value: unknown, name: string): void {
    const known = this.#given.get(field.flag);
    if (known === undefined) {
      this.#given.set(field.flag, { field, name, values: [value] });
      return;
    }
    if (!field.repeated) throw twice(field, known.name, name);
    // Two spellings of one list (a flag and `--`, say) would leave the order to chance; entries of a map have
    // none.
    if (known.name !== name && field.type !== 'map')
      throw new UsageError(`give ${flagName(field)} once: by ${known.name} or by ${name}`);
    known.values.push(value);
  }

  has({ flag }: FieldSpec): boolean {
    return this.#given.has(flag);
  }

  given(): readonly GivenValue[] {
    return [...this.#given.values()];
  }
}

function twice(field: FieldSpec, one: string, other: string): UsageError {
  return new UsageError(
    one === other || !field.sensitive
      ? `${other} is given twice`
      : `${one} and ${other} name two ${wordOf(field)}s, one is expected`,
  );
}

/** A flag as citty is told of it. */
interface GivenFlag {
  readonly field: ShellField;
  /** Name as typed. */
  readonly name: string;
  /** A name of its own, because citty keeps one value of a name: `state:3`. */
  readonly key: string;
  readonly type: 'boolean' | 'string';
  readonly word: string;
}

/** Refuses what citty would let through: unknown flags, and those without the value that they need. */
function readFlag(
  spec: Spec,
  { token, next }: { readonly token: Token; readonly next: Token | undefined },
): GivenFlag {
  const equals = token.text.indexOf('=');
  const name = equals === -1 ? token.text : token.text.slice(0, equals);
  const inline = equals === -1 ? undefined : token.text.slice(equals + 1);
  const { field, negated } = findFlag(spec, { index: token.index, name });
  const isSwitch = field.type === 'boolean' && !field.repeated;
  if (negated && inline !== undefined) throw new UsageError(`${name} takes no value`);
  // `--secret=` is where somebody may have put the secret.
  if (inline !== undefined && field.type === 'boolean' && takesSecret(spec) && !/^(true|false)$/.test(inline))
    throw new UsageError(`${name} is a switch and takes true or false alone`, { hints: secretHints(spec) });
  // A global flag may have stood in between: then the next token is not this flag's value.
  const follows = next !== undefined && next.index === token.index + 1;
  if (inline === undefined && !isSwitch && (!follows || isFlag(next.text))) {
    const value = `<${placeholderOf(field)}>`;
    throw new UsageError(`${name} needs a value: ${name} ${value}`, {
      hints: follows ? [`a value that begins with a dash goes behind "=": ${name}=${value}`] : [],
    });
  }
  const key = `${field.flag}:${token.index}`;
  const value = inline === undefined ? '' : `=${plainWord({ index: token.index, text: inline })}`;
  return {
    field,
    name,
    key,
    // A switch with a value is text until the table has been asked.
    type: isSwitch && inline === undefined ? 'boolean' : 'string',
    word: `--${negated ? 'no-' : ''}${key}${value}`,
  };
}

function findFlag(
  spec: Spec,
  { index, name }: { readonly index: number; readonly name: string },
): { readonly field: ShellField; readonly negated: boolean } {
  const fields: readonly ShellField[] = [...spec.flags, ...spec.locals, ...spec.positionals];
  const spoken = fields.filter(({ unspoken }) => unspoken !== true);
  const field = name.startsWith('--')
    ? (spoken.find(({ flag }) => name === `--${flag}`) ??
      spoken.find(({ name: of }) => name === placeFlag(of)))
    : spoken.find(({ short }) => short !== undefined && name === `-${short}`);
  if (field !== undefined) return { field, negated: false };
  const negated = spoken.find(({ flag, type }) => type === 'boolean' && name === `--no-${flag}`);
  if (negated !== undefined) return { field: negated, negated: true };
  const known = [...spoken.filter(({ hidden }) => !hidden), ...GLOBAL_FLAGS].map(({ flag }) => `--${flag}`);
  const meant = meantHints(name, known);
  const isKnown = meant.length > 0 || fields.some(({ flag }) => name === `--${flag}`);
  if (!isKnown && takesSecret(spec))
    throw new UsageError(`unknown flag for "${commandLine(spec)}": ${hiddenWord(index)}`, {
      hints: [...secretHints(spec), helpHint(spec)],
    });
  throw new UsageError(`unknown flag ${name} for "${commandLine(spec)}"`, {
    hints: [...meant, helpHint(spec)],
  });
}

/** Free text among its values is secret: a word that the command does not know may be a part of one. */
export function takesSecret({ positionals, flags, locals }: Spec): boolean {
  return [...positionals, ...flags, ...locals].some(
    ({ sensitive, type }) => sensitive && (type === 'string' || type === 'map'),
  );
}

function hiddenWord(index: number): string {
  return `word ${index + 1} of the command line, which is not shown because it may be a secret`;
}

function secretHints(spec: Spec): string[] {
  return spec.locals.flatMap(({ flag, hidden, reads }) =>
    reads?.from === 'stdin' && !hidden
      ? [`${oneOf(reads.field)} comes from --${flag} or --${reads.field.flag}-file, whatever it begins with`]
      : [],
  );
}

function takePositionals(spec: Spec, words: readonly Token[], collected: Collected): void {
  const left = [...words];
  for (const field of [...spec.positionals, ...addressOf(spec)]) {
    const name = `<${field.placeholder}>`;
    if (field.repeated) for (const { text } of left.splice(0)) collected.add(field, text, name);
    else if (!collected.has(field)) {
      const word = left.shift();
      if (word !== undefined) collected.add(field, word.text, name);
    }
  }
  const [extra] = left;
  if (extra === undefined) return;
  const isHidden = takesSecret(spec);
  const shown = isHidden ? `: ${hiddenWord(extra.index)}` : ` "${extra.text}"`;
  const restField = spec.flags.find((field) => field.rest === true);
  const behind = isHidden ? `<${restField?.placeholder}>...` : left.map(({ text }) => text).join(' ');
  throw new UsageError(
    isHidden
      ? `unexpected argument for "${commandLine(spec)}"${shown}`
      : `unexpected argument${shown} for "${commandLine(spec)}"`,
    {
      hints: [
        ...(restField === undefined
          ? []
          : [`the ${restField.placeholder} goes behind "--": ${commandLine(spec)} … -- ${behind}`]),
        ...secretHints(spec),
        helpHint(spec),
      ],
    },
  );
}

export function helpHint(spec: Pick<Spec, 'group' | 'words'>): string {
  return `run "${commandLine(spec)} --help" for its arguments and flags`;
}

export function placeholderOf(field: FieldSpec): string {
  if (field.values !== undefined) return field.values.join('|');
  if (field.document === 'file') return 'file|-';
  return field.format ?? field.placeholder;
}

function flagName(field: FieldSpec): string {
  return `--${field.flag}`;
}
