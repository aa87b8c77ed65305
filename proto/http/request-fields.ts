/** Reads request fields that arrive as text: path variables, query parameters and Last-Event-ID. */
import { create, type DescField, type DescMessage, type Message, type ScalarType } from '@bufbuild/protobuf';
import { fieldsOf, type Fields } from './fields.ts';
import { isWrapped } from './json-encode.ts';
import { assertOnlyOne, singleReader } from './json-decode.ts';
import { refuse, type Path } from './json-path.ts';
import { textToJson } from './json-scalar.ts';
import { problem } from './json-text.ts';
import { perKey } from './per-key.ts';

/** A field below the request, reached through singular message fields. */
export interface FieldPath {
  /** Fields from the request down; the last one is the field itself. */
  readonly chain: readonly DescField[];
  readonly field: DescField;
  /** Local names joined by dots; equal for every spelling of the same field. */
  readonly id: string;
}

/** It returns the fields by JSON, proto and local name. */
const fieldNames = perKey(
  ({ fields }: DescMessage): ReadonlyMap<string, DescField> =>
    new Map(
      fields.flatMap((field) =>
        [field.name, field.localName, field.jsonName].map((name) => [name, field] as const),
      ),
    ),
);

/** `limits.cpus` in any of its spellings, or nothing when there is no such field. */
export function findField(desc: DescMessage, name: string): FieldPath | undefined {
  const chain: DescField[] = [];
  let at: DescMessage | undefined = desc;
  for (const part of name.split('.')) {
    const field: DescField | undefined = at === undefined ? undefined : fieldNames(at).get(part);
    if (field === undefined) return undefined;
    chain.push(field);
    at = field.fieldKind === 'message' ? field.message : undefined;
  }
  const field = chain.at(-1);
  return field === undefined
    ? undefined
    : { chain, field, id: chain.map((step) => step.localName).join('.') };
}

const TEXT_MESSAGES = new Set([
  'google.protobuf.Timestamp',
  'google.protobuf.Duration',
  'google.protobuf.FieldMask',
]);

/** Returns true if one text can stand for the field's value (or for one item of it). */
export function takesText(field: DescField): boolean {
  if (field.fieldKind === 'map') return false;
  if (field.message === undefined) return true;
  return isWrapped(field) || TEXT_MESSAGES.has(field.message.typeName);
}

/** Turns a text into the value of the field, or into one item when it is a list. */
export function textReader(field: DescField): (text: string, path: Path) => unknown {
  const read = singleReader(field);
  if (field.enum !== undefined)
    return (text, path) => read(/^-?\d{1,10}$/.test(text) ? Number(text) : text, path);
  const type = isWrapped(field) ? field.message?.fields[0]?.scalar : field.scalar;
  return type === undefined ? read : (text, path) => read(textToJson(type as ScalarType, text), path);
}

/** Writes a value into the message, making the messages on the way. A list field is added to. */
export function writeField(message: Message, { chain, field }: FieldPath, value: unknown): void {
  let at = fieldsOf(message);
  for (const step of chain.slice(0, -1)) at = enter(at, step);
  const name = field.localName;
  if (field.fieldKind === 'list') (at[name] as unknown[]).push(value);
  else if (field.oneof === undefined) at[name] = value;
  else at[field.oneof.localName] = { case: name, value };
}

function enter(at: Fields, step: DescField): Fields {
  const known = step.oneof === undefined ? at[step.localName] : oneofValue(at, step);
  if (known !== undefined) return known as Fields;
  const made = fieldsOf(create(step.message as DescMessage));
  if (step.oneof === undefined) at[step.localName] = made;
  else at[step.oneof.localName] = { case: step.localName, value: made };
  return made;
}

function oneofValue(at: Fields, step: DescField): unknown {
  const chosen = at[step.oneof?.localName ?? ''] as { case?: string; value?: unknown };
  return chosen.case === step.localName ? chosen.value : undefined;
}

/**
 * Decodes a path variable. `text` is percent-encoded still; in a `**` an encoded slash stays encoded, because
 * it is data there.
 */
export function decodePathText(text: string, multi: boolean, field: string): string {
  if (!text.includes('%')) return text;
  try {
    if (!multi) return decodeURIComponent(text);
    return text
      .split(/(%2f)/i)
      .map((part) => (/^%2f$/i.test(part) ? part : decodeURIComponent(part)))
      .join('');
  } catch {
    throw problem(
      field,
      'percent_encoding',
      'the path holds a % that is not followed by the code of a UTF-8 character',
    );
  }
}

/** Decoded pairs in order. Empty parts (`a=1&&b=2`) are nothing. */
export function parseQuery(query: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (const part of query.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const key = decodeQueryText(equals === -1 ? part : part.slice(0, equals), '');
    pairs.push([key, equals === -1 ? '' : decodeQueryText(part.slice(equals + 1), key)]);
  }
  return pairs;
}

function decodeQueryText(text: string, key: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw problem(
      key,
      'percent_encoding',
      'the query holds a % that is not followed by the code of a UTF-8 character',
    );
  }
}

/** Fields that a query must not name, because another part of the request gives them. */
export interface TakenFields {
  /** Ids. */
  readonly byPath: ReadonlySet<string>;
  /** The one field that is the body; everything below it is taken too. */
  readonly byBody: DescField | undefined;
}

/** Writes every query parameter into the message. */
export function writeQuery(
  message: Message,
  desc: DescMessage,
  { pairs, taken }: { readonly pairs: readonly [string, string][]; readonly taken: TakenFields },
): void {
  const seen = new Set<unknown>();
  for (const [key, text] of pairs) {
    const found = findField(desc, key);
    const path: Path = key.split('.');
    if (found === undefined) throw refuse(path, 'unknown_parameter', 'is not a parameter of this request');
    if (taken.byPath.has(found.id)) throw refuse(path, 'bound_by_path', 'is given by the path already');
    if (found.chain[0] === taken.byBody) throw refuse(path, 'bound_by_body', 'is given by the body');
    const { field } = found;
    if (!takesText(field))
      throw refuse(
        path,
        'not_a_parameter',
        `cannot be given in the query; send it in the body where the operation has one`,
      );
    if (field.fieldKind !== 'list' && seen.has(found.id))
      throw refuse(path, 'repeated_parameter', 'is given twice and takes one value');
    seen.add(found.id);
    if (field.oneof !== undefined) assertOnlyOne(seen, field.oneof, path);
    writeField(message, found, textReader(field)(text, path));
  }
}
