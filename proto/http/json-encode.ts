/**
 * Turns messages into JSON text in the documented spelling, compiled once per message type into a list of
 * field writers. The text is built directly, without a tree of values in between. Fields that always have a
 * value (implicit presence, lists, maps) are always written, so that a client may rely on them; unset
 * `optional`, message and oneof fields are left out, and so is an enum that says "not stated".
 */
import {
  getOption,
  hasOption,
  isFieldSet,
  ScalarType,
  toJson,
  type DescField,
  type DescMessage,
  type Message,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence, type Timestamp } from '@bufbuild/protobuf/wkt';
import { shape } from '../gen/svc/options/v1/options_pb.ts';
import { fieldsOf, type Fields } from './fields.ts';
import { enumNames } from './enum-names.ts';
import { perKey } from './per-key.ts';

type ValueWriter = (value: unknown) => string;
/** `"name":value`, or '' when the field is left out. */
type FieldWriter = (message: Fields) => string;

type Encode = (message: Message) => string;

/** Returns the encoder of a message type, which is compiled on first use. */
export const encoder = perKey((desc: DescMessage): Encode => {
  if (desc.typeName === 'google.protobuf.Timestamp') return (message) => timestampText(message as Timestamp);
  // The other well-known types are rare enough to go through the library.
  if (desc.typeName.startsWith('google.protobuf.')) return (message) => JSON.stringify(toJson(desc, message));
  const bare = bareField(desc);
  return bare === undefined ? objectWriter(desc) : bareWriter(desc, bare);
});

/**
 * The bool field whose value stands for the message while nothing else of it is set (`shape.bare`), if it has
 * one.
 */
export function bareField(desc: DescMessage): DescField | undefined {
  const name = hasOption(desc, shape) ? getOption(desc, shape).bare : '';
  return name === '' ? undefined : desc.fields.find((field) => field.name === name);
}

function objectWriter(desc: DescMessage): Encode {
  let writers: readonly FieldWriter[] | undefined;
  return (message) => {
    // Compiled late, because message types may refer to each other in a circle.
    writers ??= desc.fields.map(fieldWriter);
    const fields = fieldsOf(message);
    let text = '{';
    for (const write of writers) {
      const piece = write(fields);
      if (piece !== '') text += text.length === 1 ? piece : `,${piece}`;
    }
    return `${text}}`;
  };
}

/** The bare value of one bool field while nothing else is set, an object otherwise. */
function bareWriter(desc: DescMessage, bare: DescField): Encode {
  const whole = objectWriter(desc);
  const others = desc.fields.filter((field) => field !== bare);
  return (message) =>
    others.some((field) => isFieldSet(message, field))
      ? whole(message)
      : String(fieldsOf(message)[bare.localName]);
}

/** Encodes one field's value, for a route whose body is a single response field. */
export function fieldEncoder(field: DescField): Encode {
  const read = reader(field);
  const write = fieldValueWriter(field);
  return (message) => {
    const value = read(fieldsOf(message));
    return value === undefined ? 'null' : write(value);
  };
}

function fieldWriter(field: DescField): FieldWriter {
  const key = `${JSON.stringify(field.jsonName)}:`;
  const read = reader(field);
  const write = fieldValueWriter(field);
  const skipZero = field.fieldKind === 'enum' && field.presence === FeatureSet_FieldPresence.IMPLICIT;
  return (message) => {
    const value = read(message);
    return value === undefined || (skipZero && value === 0) ? '' : key + write(value);
  };
}

function reader(field: DescField): (message: Fields) => unknown {
  const name = field.localName;
  if (field.oneof === undefined) return (message) => message[name];
  const group = field.oneof.localName;
  return (message) => {
    const chosen = message[group] as { case?: string; value?: unknown };
    return chosen.case === name ? chosen.value : undefined;
  };
}

function fieldValueWriter(field: DescField): ValueWriter {
  if (field.fieldKind === 'list') return listWriter(singleWriter(field));
  return field.fieldKind === 'map' ? mapWriter(singleWriter(field)) : singleWriter(field);
}

function singleWriter(field: DescField): ValueWriter {
  if (field.message !== undefined) {
    if (isWrapped(field)) return scalarWriter(field.message.fields[0]?.scalar ?? ScalarType.STRING);
    if (isBareStruct(field)) return (value) => JSON.stringify(value);
    const encode = encoder(field.message);
    return (value) => encode(value as Message);
  }
  if (field.enum !== undefined) {
    const names = enumNames(field.enum).byNumber;
    const texts = new Map([...names].map(([number, name]) => [number, JSON.stringify(name)]));
    return (value) => texts.get(value as number) ?? String(value);
  }
  return scalarWriter(field.scalar as ScalarType);
}

/** A singular wrapper field (`google.protobuf.StringValue`) outside of a oneof holds the bare value. */
export function isWrapped(field: DescField): boolean {
  const desc = field.message;
  return (
    field.fieldKind === 'message' &&
    field.oneof === undefined &&
    desc !== undefined &&
    WRAPPERS.has(desc.typeName)
  );
}

const WRAPPERS = new Set(
  ['Double', 'Float', 'Int64', 'UInt64', 'Int32', 'UInt32', 'Bool', 'String', 'Bytes'].map(
    (name) => `google.protobuf.${name}Value`,
  ),
);

/** A Struct field holds a plain JSON object. */
export function isBareStruct(field: DescField): boolean {
  return (
    field.message?.typeName === 'google.protobuf.Struct' && field.parent.typeName !== 'google.protobuf.Value'
  );
}

function listWriter(write: ValueWriter): ValueWriter {
  return (value) => {
    let text = '[';
    for (const item of value as unknown[]) text += text.length === 1 ? write(item) : `,${write(item)}`;
    return `${text}]`;
  };
}

function mapWriter(write: ValueWriter): ValueWriter {
  return (value) => {
    const map = value as Record<string, unknown>;
    let text = '{';
    for (const key of Object.keys(map)) {
      const pair = `${quote(key)}:${write(map[key])}`;
      text += text.length === 1 ? pair : `,${pair}`;
    }
    return `${text}}`;
  };
}

function scalarWriter(type: ScalarType): ValueWriter {
  switch (type) {
    case ScalarType.STRING:
      return (value) => quote(value as string);
    case ScalarType.BOOL:
      return (value) => (value === true ? 'true' : 'false');
    case ScalarType.BYTES:
      return (value) => `"${base64(value as Uint8Array)}"`;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value) => (Number.isFinite(value) ? String(value) : `"${String(value)}"`);
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.SINT32:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return (value) => String(value);
    default:
      // 64-bit integers exceed what a JSON number holds exactly.
      return (value) => `"${String(value)}"`;
  }
}

/**
 * Characters that JSON.stringify would escape. Texts are mostly plain and short, where this test is the
 * cheaper way.
 */
const ESCAPED = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

function quote(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

const SECONDS_MIN = -62_135_596_800;
const SECONDS_MAX = 253_402_300_799;

function timestampText(value: Timestamp): string {
  const seconds = Number(value.seconds);
  if (seconds < SECONDS_MIN || seconds > SECONDS_MAX || value.nanos < 0 || value.nanos > 999_999_999) {
    throw new Error(
      `cannot write the time ${value.seconds} s ${value.nanos} ns as JSON: years 0001 to 9999 only`,
    );
  }
  const day = Math.floor(seconds / 86_400);
  const inDay = seconds - day * 86_400;
  const hour = Math.floor(inDay / 3600);
  const minute = Math.floor(inDay / 60) % 60;
  return `"${dayText(day)}T${TWO[hour]}:${TWO[minute]}:${TWO[inDay % 60]}${fraction(value.nanos)}Z"`;
}

const TWO = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));

/**
 * The times of one answer mostly share their day, and Date.toISOString is the dearest part of writing a time.
 */
let lastDay = Number.NaN;
let lastDayText = '';

function dayText(day: number): string {
  if (day !== lastDay) {
    lastDay = day;
    lastDayText = new Date(day * 86_400_000).toISOString().slice(0, 10);
  }
  return lastDayText;
}

/** Writes three, six or nine digits, or none. */
function fraction(nanos: number): string {
  if (nanos === 0) return '';
  const digits = String(nanos).padStart(9, '0');
  if (digits.endsWith('000000')) return `.${digits.slice(0, 3)}`;
  return digits.endsWith('000') ? `.${digits.slice(0, 6)}` : `.${digits}`;
}
