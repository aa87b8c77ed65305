/** Strict parsing of one command's words against its table. Pure. */
import type { FieldSpec } from '../command.ts';
import { commandLine, type Spec } from './command.ts';
import { UsageError } from './errors.ts';
import { GLOBAL_FLAGS, isFlag, type Token } from './globals.ts';
import { setPath } from './paths.ts';
import { nearest } from './suggest.ts';
import { combine, readValue } from './values.ts';

export interface Parsed {
  /** Request fields. */
  readonly input: Record<string, unknown>;
  /** The command's own arguments. */
  readonly args: Record<string, unknown>;
  /** Required ones that were not given; `--data` may still bring them. */
  readonly missing: readonly FieldSpec[];
}

/** `tokens` are the words behind the command, without global flags; `rest` is what followed `--`. */
export function parseCommand(
  spec: Spec,
  tokens: readonly Token[],
  rest: readonly string[] | undefined,
): Parsed {
  const collected = new Collected();
  const restField = spec.flags.find((field) => field.rest === true);
  const positionals: string[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token === undefined) continue;
    if (isFlag(token.text)) at += takeFlag(spec, { token, next: tokens[at + 1] }, collected);
    else positionals.push(token.text);
  }
  if (restField !== undefined && rest !== undefined) {
    for (const word of rest) collected.add(restField, word, `--`);
  } else {
    // Without a field for it, `--` only says that no flags follow.
    positionals.push(...(rest ?? []));
  }
  takePositionals(spec, positionals, collected);
  return collected.parsed(spec);
}

/** Values by field, in the order given. */
class Collected {
  readonly #values = new Map<FieldSpec, { readonly name: string; readonly values: unknown[] }>();

  add(field: FieldSpec, text: string, name: string): void {
    const known = this.#values.get(field);
    if (known === undefined) {
      this.#values.set(field, { name, values: [readValue(field, text, name)] });
      return;
    }
    if (!field.repeated) throw new UsageError(`${name} is given twice`);
    // Two spellings of one list (a flag and `--`, say) would leave the order to chance.
    if (known.name !== name)
      throw new UsageError(`give ${flagName(field)} once: by ${known.name} or by ${name}`);
    known.values.push(readValue(field, text, name));
  }

  has(field: FieldSpec): boolean {
    return this.#values.has(field);
  }

  parsed(spec: Spec): Parsed {
    const input: Record<string, unknown> = {};
    const args: Record<string, unknown> = {};
    for (const [field, { name, values }] of this.#values) {
      const value = combine(field, values, name);
      if (field.required && value === '') throw new UsageError(`${name} must not be empty`);
      const isOwn = spec.operation === undefined || spec.locals.includes(field);
      setPath(isOwn ? args : input, field.name, value);
    }
    const all = [...spec.positionals, ...spec.flags, ...spec.locals];
    return { input, args, missing: all.filter((field) => field.required && !this.has(field)) };
  }
}

/** Returns the number of further tokens that the flag took. */
function takeFlag(
  spec: Spec,
  { token, next }: { readonly token: Token; readonly next: Token | undefined },
  collected: Collected,
): number {
  const equals = token.text.indexOf('=');
  const name = equals === -1 ? token.text : token.text.slice(0, equals);
  const inline = equals === -1 ? undefined : token.text.slice(equals + 1);
  const { field, negated } = findFlag(spec, name);
  if (negated && inline !== undefined) throw new UsageError(`${name} takes no value`);
  if (inline !== undefined) {
    collected.add(field, inline, name);
    return 0;
  }
  if (field.type === 'boolean' && !field.repeated) {
    collected.add(field, negated ? 'false' : 'true', name);
    return 0;
  }
  // A global flag may have stood in between: then the next token is not this flag's value.
  if (next === undefined || next.index !== token.index + 1 || isFlag(next.text)) {
    const dash = next !== undefined && next.index === token.index + 1;
    throw new UsageError(`${name} needs a value: ${name} <${placeholderOf(field)}>`, {
      hints: dash ? [`a value that begins with a dash goes behind "=": ${name}=${next.text}`] : [],
    });
  }
  collected.add(field, next.text, name);
  return 1;
}

function findFlag(spec: Spec, name: string): { readonly field: FieldSpec; readonly negated: boolean } {
  const fields = [...spec.flags, ...spec.locals, ...spec.positionals];
  const field = name.startsWith('--')
    ? fields.find(({ flag }) => name === `--${flag}`)
    : fields.find(({ short }) => short !== undefined && name === `-${short}`);
  if (field !== undefined) return { field, negated: false };
  const negated = fields.find(({ flag, type }) => type === 'boolean' && name === `--no-${flag}`);
  if (negated !== undefined) return { field: negated, negated: true };
  const known = [...fields.filter(({ hidden }) => !hidden), ...GLOBAL_FLAGS].map(({ flag }) => `--${flag}`);
  const meant = nearest(name, known);
  throw new UsageError(`unknown flag ${name} for "${commandLine(spec)}"`, {
    hints: [...(meant === undefined ? [] : [`did you mean ${meant}?`]), helpHint(spec)],
  });
}

function takePositionals(spec: Spec, words: readonly string[], collected: Collected): void {
  const left = [...words];
  for (const field of spec.positionals) {
    const name = `<${field.placeholder}>`;
    if (field.repeated) for (const word of left.splice(0)) collected.add(field, word, name);
    else if (!collected.has(field)) {
      const word = left.shift();
      if (word !== undefined) collected.add(field, word, name);
    }
  }
  const [extra] = left;
  if (extra === undefined) return;
  const restField = spec.flags.find((field) => field.rest === true);
  throw new UsageError(`unexpected argument "${extra}" for "${commandLine(spec)}"`, {
    hints: [
      ...(restField === undefined
        ? []
        : [`the ${restField.placeholder} goes behind "--": ${commandLine(spec)} … -- ${left.join(' ')}`]),
      helpHint(spec),
    ],
  });
}

/** One error for all that is missing. */
export function missingError(spec: Spec, missing: readonly FieldSpec[]): UsageError {
  const names = missing.map((field) => {
    if (spec.positionals.includes(field)) return `<${field.placeholder}>`;
    return field.rest === true ? `-- <${field.placeholder}>` : flagName(field);
  });
  return new UsageError(`"${commandLine(spec)}" needs ${names.join(', ')}`, { hints: [helpHint(spec)] });
}

export function helpHint(spec: Pick<Spec, 'group' | 'words'>): string {
  return `run "${commandLine(spec)} --help" for its arguments and flags`;
}

export function placeholderOf(field: FieldSpec): string {
  if (field.values !== undefined) return field.values.join('|');
  return field.format ?? field.placeholder;
}

function flagName(field: FieldSpec): string {
  return `--${field.flag}`;
}
