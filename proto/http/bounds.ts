/**
 * Counts before it looks at content: what a request can hold at most is read off its contract, and a body is
 * held to that before it is decoded. A body of 1 KB may unpack to a million empty values, and each of them
 * costs a microsecond or more once it is a message to be decoded and validated; to count them costs a
 * nanosecond. What passes here is decoded and validated at a price that the contract bounds.
 */
import { isAscii } from 'node:buffer';
import { getOption, hasOption, ScalarType, type DescField, type DescMessage } from '@bufbuild/protobuf';
import {
  field as fieldRules,
  type FieldRules,
  type MapRules,
  type RepeatedRules,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { refuse, type Path } from './json-path.ts';
import { JSON_ELEMENTS_MAX, type JsonBounds } from './json-text.ts';
import { perKey } from './per-key.ts';
import type { Auth } from './rpc.ts';

/**
 * Values beyond those that the contract counts, so that a mistake is told by its field and not by the count.
 */
const ELEMENTS_SPARE = 1_000;
/** Values of one free-form field (google.protobuf.Struct and the like). */
const FREE_FORM_ELEMENTS = 10_000;
/**
 * The most characters of a text without a rule of its own: no validator counts ids and what a pattern bounds.
 */
const TEXT_CHARACTERS_MAX = 1_024;
const TEXT_RULE = ['string.max_len', `must be at most ${TEXT_CHARACTERS_MAX} characters`] as const;
/** Characters of UTF-8 have up to 4 bytes. */
const CHARACTER_BYTES_MAX = 4;

export interface FieldBound {
  /** As errors name it. */
  readonly name: string;
  readonly kind: 'single' | 'list' | 'map';
  /** Items or entries at most; infinite for a single value and for what no rule bounds. */
  readonly countMax: number;
  /** Bytes of one text or byte value, beyond which no rule could accept it; infinite for other values. */
  readonly bytesMax: number;
  /** The rule behind `bytesMax`, in the validator's words. */
  readonly bytesRule: readonly [rule: string, message: string];
  /** Characters (code points) of a text that no rule of the validator bounds; infinite for other values. */
  readonly charactersMax: number;
  /** The type of a message that is the value, an item of the list, or a value of the map. */
  readonly message: DescMessage | undefined;
  /** Bytes of one item of a packed list: 4, 8, or 0 for varints. Undefined: lists of it cannot be packed. */
  readonly packedBytes: 0 | 4 | 8 | undefined;
}

export interface Bounds extends JsonBounds {
  readonly byNumber: ReadonlyMap<number, FieldBound>;
  /** It is keyed by both spellings that JSON may use. */
  readonly byName: ReadonlyMap<string, FieldBound>;
}

export const boundsOf = perKey((desc: DescMessage): Bounds => {
  const fields = desc.fields.map((field) => [field, fieldBound(field)] as const);
  return {
    elementsMax: Math.min(JSON_ELEMENTS_MAX, elementsOf(desc, []) + ELEMENTS_SPARE),
    wideTextBytesMax: longestTextBytes(desc),
    byNumber: new Map(fields.map(([field, bound]) => [field.number, bound])),
    byName: new Map(
      fields.flatMap(([field, bound]) => [[field.name, bound] as const, [field.jsonName, bound] as const]),
    ),
  };
});

/**
 * Throws `validation_failed` where a parsed JSON body holds more than its contract allows. What is wrong in
 * other ways is the decoder's to tell.
 */
export function assertJsonBounded(desc: DescMessage, value: unknown, path: Path = []): void {
  if (typeof value !== 'object' || value === null) return;
  const { byName } = boundsOf(desc);
  for (const [key, held] of Object.entries(value)) {
    const bound = byName.get(key);
    if (bound === undefined) continue;
    path.push(key);
    assertFieldBounded(bound, held, path);
    path.pop();
  }
}

/** The same for one field of a request, which is the whole body. */
export function assertFieldBounded(bound: FieldBound, value: unknown, path: Path): void {
  if (bound.kind === 'single') return assertValueBounded(bound, value, path);
  if (typeof value !== 'object' || value === null) return;
  const entries = Object.entries(value);
  if (entries.length > bound.countMax) throw tooMany(bound, path, `${entries.length} long`);
  for (const [key, item] of entries) {
    path.push(bound.kind === 'list' ? Number(key) : key);
    assertValueBounded(bound, item, path);
    path.pop();
  }
}

function assertValueBounded(bound: FieldBound, value: unknown, path: Path): void {
  if (typeof value === 'string') {
    if (bound.charactersMax < Infinity) return assertCharacters(bound, path, charactersOf(value, bound));
    // A unit of UTF-16 has at least one byte in UTF-8, so that nothing is refused that the rule would accept.
    if (value.length > bound.bytesMax) throw tooLong(bound, path, `${value.length} characters long`);
    // The validator would count the bytes of a long text one by one, in some fifty times the time.
    const bytes = bound.bytesMax > TEXT_CHARACTERS_MAX ? Buffer.byteLength(value) : 0;
    if (bytes > bound.bytesMax) throw tooLong(bound, path, `${bytes} bytes long`);
  } else if (bound.message !== undefined) assertJsonBounded(bound.message, value, path);
}

/** Further than this no text is counted that is too long: what it has beyond is not worth the time. */
const COUNTED_MAX = 65_536;
const SURROGATE = /[\ud800-\udfff]/;

/**
 * Counts code points, and no more than one beyond COUNTED_MAX. A text whose units of UTF-16 are few enough
 * cannot be too long, and is not looked at.
 */
function charactersOf(value: string, { charactersMax }: FieldBound): number {
  if (value.length <= charactersMax || !SURROGATE.test(value)) return value.length;
  let count = 0;
  for (let at = 0; at < value.length && count <= COUNTED_MAX; at++)
    if ((value.charCodeAt(at) & 0xfc00) !== 0xdc00) count++;
  return count;
}

/** Counts the same in UTF-8, by the bytes that begin a character. */
export function charactersOfBytes(value: Uint8Array): number {
  if (isAscii(value)) return value.length;
  let count = 0;
  for (let at = 0; at < value.length && count <= COUNTED_MAX; at++)
    if (((value[at] ?? 0) & 0xc0) !== 0x80) count++;
  return count;
}

export function assertCharacters(bound: FieldBound, path: Path, count: number): void {
  if (count > bound.charactersMax)
    throw tooLong(
      bound,
      path,
      `${count === COUNTED_MAX + 1 ? `more than ${COUNTED_MAX}` : count} characters long`,
    );
}

export function tooMany(bound: FieldBound, path: Path, actual: string): Error {
  return bound.kind === 'map'
    ? refuse(path, 'map.max_pairs', `map must be at most ${bound.countMax} entries, is ${actual}`)
    : refuse(path, 'repeated.max_items', `must contain no more than ${bound.countMax} item(s), is ${actual}`);
}

export function tooLong({ bytesRule: [rule, message] }: FieldBound, path: Path, actual: string): Error {
  return refuse(path, rule, `${message}, is ${actual}`);
}

export function fieldBound(field: DescField): FieldBound {
  const rules = hasOption(field, fieldRules) ? getOption(field, fieldRules) : undefined;
  const many = rules?.type.case === 'repeated' || rules?.type.case === 'map' ? rules.type.value : undefined;
  const [bytesMax, bytesRule] = bytesBound(field, many === undefined ? rules : valueRules(many));
  const isMany = field.fieldKind === 'list' || field.fieldKind === 'map';
  return {
    name: field.jsonName,
    kind: isMany ? field.fieldKind : 'single',
    countMax: many === undefined ? Infinity : countMax(many),
    bytesMax: isBase64(field) ? Math.ceil((bytesMax * 4) / 3) + 4 : bytesMax,
    bytesRule,
    charactersMax: bytesRule === TEXT_RULE ? TEXT_CHARACTERS_MAX : Infinity,
    message: field.message,
    packedBytes: packedBytes(field),
  };
}

/** Written longer in JSON than it is; on the wire the rule itself then finds the difference. */
function isBase64(field: DescField): boolean {
  return field.scalar === ScalarType.BYTES;
}

function valueRules(many: RepeatedRules | MapRules): FieldRules | undefined {
  return many.$typeName === 'buf.validate.RepeatedRules' ? many.items : many.values;
}

function countMax(many: RepeatedRules | MapRules): number {
  const most = many.$typeName === 'buf.validate.RepeatedRules' ? many.maxItems : many.maxPairs;
  return most > 0n ? Number(most) : Infinity;
}

function bytesBound(
  field: DescField,
  rules: FieldRules | undefined,
): readonly [number, FieldBound['bytesRule']] {
  const { type } = rules ?? {};
  if (type?.case === 'bytes' && type.value.maxLen > 0n)
    return [Number(type.value.maxLen), ['bytes.max_len', `must be at most ${type.value.maxLen} bytes`]];
  if (type?.case === 'string' && type.value.maxBytes > 0n)
    return [
      Number(type.value.maxBytes),
      ['string.max_bytes', `must be at most ${type.value.maxBytes} bytes`],
    ];
  if (type?.case === 'string' && type.value.maxLen > 0n) {
    const message = `must be at most ${type.value.maxLen} characters`;
    return [Number(type.value.maxLen) * CHARACTER_BYTES_MAX, ['string.max_len', message]];
  }
  return field.scalar === ScalarType.STRING
    ? [TEXT_CHARACTERS_MAX * CHARACTER_BYTES_MAX, TEXT_RULE]
    : [Infinity, ['', '']];
}

function packedBytes({ fieldKind, scalar }: DescField): FieldBound['packedBytes'] {
  if (fieldKind !== 'list') return undefined;
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return undefined;
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
    case ScalarType.FLOAT:
      return 4;
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
    case ScalarType.DOUBLE:
      return 8;
    default:
      return 0; // Enums, too, and messages, which nobody packs.
  }
}

/** Every value that the contract allows at once; a type within itself counts as free-form. */
function elementsOf(desc: DescMessage, within: readonly DescMessage[]): number {
  if (within.includes(desc) || FREE_FORM.has(desc.typeName)) return FREE_FORM_ELEMENTS;
  let sum = 0;
  for (const field of desc.fields) {
    const { countMax } = fieldBound(field);
    const one = 1 + (field.message === undefined ? 0 : elementsOf(field.message, [...within, desc]));
    if (field.fieldKind !== 'list' && field.fieldKind !== 'map') sum += one;
    else sum += 1 + (countMax === Infinity ? FREE_FORM_ELEMENTS : countMax * (one + 2)); // A map's entry is a message on the wire.
  }
  return sum;
}

/** Shorter texts are cheap, and the rule of their field tells what is wrong. */
const WIDE_TEXT_BYTES_MIN = 65_536;

/** Bytes of the longest text that a contract allows anywhere in a message; base64 is none. */
function longestTextBytes(desc: DescMessage, within: readonly DescMessage[] = []): number {
  if (FREE_FORM.has(desc.typeName)) return Infinity;
  if (within.includes(desc)) return 0;
  const texts = desc.fields.map((field) => {
    const below = field.message === undefined ? 0 : longestTextBytes(field.message, [...within, desc]);
    const { bytesMax } = fieldBound(field);
    return isBase64(field) || bytesMax === Infinity ? below : Math.max(below, bytesMax);
  });
  return Math.max(WIDE_TEXT_BYTES_MIN, ...texts);
}

/** A body has room for all that its contract allows, within these. */
const BODY_BYTES_MIN = 65_536;
const BODY_BYTES_MAX = 1_048_576;
/** Nobody's requests are cheap to make, and no account answers for them: their bodies are smaller. */
export const ANONYMOUS_BODY_BYTES_MAX = 32_768;
export const ANONYMOUS_AUTHS: readonly Auth[] = ['none', 'optional', 'enrollment_token'];

export function bodyBytesMaxOf(request: DescMessage, auth: Auth): number {
  const most = ANONYMOUS_AUTHS.includes(auth) ? ANONYMOUS_BODY_BYTES_MAX : BODY_BYTES_MAX;
  return Math.min(most, Math.max(BODY_BYTES_MIN, jsonBytesMax(request)));
}

/** JSON may write each character as `\u0041`. */
const ESCAPED_BYTES = 6;
/** Name, punctuation and a number or an enum's word. */
const SCALAR_BYTES = 64;
const FREE_FORM_BYTES = 262_144;

/**
 * Bytes of the longest JSON that a message's contract allows, for the limit of a body: nearly no request
 * needs a large one.
 */
function jsonBytesMax(desc: DescMessage, within: readonly DescMessage[] = []): number {
  if (within.includes(desc) || FREE_FORM.has(desc.typeName)) return FREE_FORM_BYTES;
  let sum = 0;
  for (const field of desc.fields) {
    const { bytesMax, countMax, kind } = fieldBound(field);
    const below = field.message === undefined ? 0 : jsonBytesMax(field.message, [...within, desc]);
    const one = SCALAR_BYTES + below + (bytesMax === Infinity ? 0 : bytesMax * ESCAPED_BYTES);
    sum += kind === 'single' ? one : Math.min(countMax, FREE_FORM_ELEMENTS) * one;
  }
  return sum;
}

const FREE_FORM: ReadonlySet<string> = new Set([
  'google.protobuf.Struct',
  'google.protobuf.Value',
  'google.protobuf.ListValue',
]);
