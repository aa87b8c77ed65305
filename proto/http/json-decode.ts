/**
 * Turns JSON values into messages, compiled once per message type. Strict where the protobuf JSON mapping is
 * lenient, so that a mistake is told instead of ignored: unknown fields, numbers as strings, unknown enum
 * values and half surrogate pairs are refused, each with its JSON path. `null` stands for an absent field, as
 * in protobuf.
 */
import {
  create,
  fromJson,
  ScalarType,
  type DescField,
  type DescMessage,
  type DescOneof,
  type JsonValue,
  type Message,
} from '@bufbuild/protobuf';
import { fieldsOf, type Fields } from './fields.ts';
import { withArticle } from './article.ts';
import { enumNames } from './enum-names.ts';
import { wordsText } from './enum-words.ts';
import { bareField, isBareStruct, isWrapped } from './json-encode.ts';
import { kindOf, refuse, shown, type Path } from './json-path.ts';
import { parseTimestamp, scalarReader, type ValueReader } from './json-scalar.ts';
import { textProblem } from './json-text.ts';
import { perKey } from './per-key.ts';

interface FieldSlot {
  readonly field: DescField;
  readonly set: (message: Fields, value: unknown, path: Path) => void;
}

interface Layout {
  readonly slots: ReadonlyMap<string, FieldSlot>;
  /**
   * Fields that two keys could name: by JSON and by proto name, or as members of one oneof. Most messages
   * have none.
   */
  readonly mayRepeat: boolean;
}

type Decode = (value: unknown, path?: Path) => Message;

/** Returns the decoder of a message type, which is compiled on first use. */
export const decoder = perKey((desc: DescMessage): Decode => wellKnownDecoder(desc) ?? messageDecoder(desc));

function messageDecoder(desc: DescMessage): Decode {
  let layout: Layout | undefined;
  const bare = bareField(desc);
  return (value, path = []) => {
    // As it is written, so that every answer can be read back.
    if (bare !== undefined && typeof value === 'boolean') return create(desc, { [bare.localName]: value });
    // Compiled late, because message types may refer to each other in a circle.
    layout ??= layoutOf(desc);
    const message = create(desc);
    writeMembers(layout, fieldsOf(message), { members: asObject(value, path), path });
    return message;
  };
}

function layoutOf(desc: DescMessage): Layout {
  const slots = new Map<string, FieldSlot>();
  for (const field of desc.fields) {
    const slot = { field, set: fieldSetter(field) };
    slots.set(field.name, slot);
    slots.set(field.jsonName, slot);
  }
  return { slots, mayRepeat: slots.size > desc.fields.length || desc.oneofs.length > 0 };
}

function writeMembers(
  layout: Layout,
  message: Fields,
  { members, path }: { readonly members: Readonly<Record<string, unknown>>; readonly path: Path },
): void {
  const seen = layout.mayRepeat ? new Set<unknown>() : undefined;
  for (const key of Object.keys(members)) {
    path.push(key);
    const slot = layout.slots.get(key);
    if (slot === undefined) throw refuse(path, 'unknown_field', 'is not a field of the request');
    if (seen !== undefined) assertFirst(seen, slot.field, { value: members[key], path });
    slot.set(message, members[key], path);
    path.pop();
  }
}

function assertFirst(
  seen: Set<unknown>,
  field: DescField,
  { value, path }: { readonly value: unknown; readonly path: Path },
): void {
  if (seen.has(field)) throw refuse(path, 'duplicate_field', 'names the same field as another key');
  seen.add(field);
  if (field.oneof === undefined || value === null) return;
  assertOnlyOne(seen, field.oneof, path);
}

/** Throws where another member of the oneof was seen before. */
export function assertOnlyOne(seen: Set<unknown>, oneof: DescOneof, path: Path): void {
  if (seen.has(oneof)) {
    const names = oneof.fields.map(({ jsonName }) => jsonName).join(', ');
    throw refuse(path, 'oneof', `cannot stand together: one of ${names} is allowed`);
  }
  seen.add(oneof);
}

/** Writes one field of a message from its JSON value. */
export function fieldSetter(field: DescField): (message: Fields, value: unknown, path: Path) => void {
  const read = fieldReader(field);
  const nullIsValue = takesNull(field);
  const name = field.localName;
  const group = field.oneof?.localName;
  return (message, value, path) => {
    if (value === null && !nullIsValue) return;
    const decoded = read(value, path);
    if (group === undefined) message[name] = decoded;
    else message[group] = { case: name, value: decoded };
  };
}

/** Only these types have a value that JSON writes as null. */
function takesNull(field: DescField): boolean {
  if (field.fieldKind !== 'message' && field.fieldKind !== 'enum') return false;
  return (
    field.message?.typeName === 'google.protobuf.Value' ||
    field.enum?.typeName === 'google.protobuf.NullValue'
  );
}

function fieldReader(field: DescField): ValueReader {
  if (field.fieldKind === 'list') return listReader(singleReader(field));
  if (field.fieldKind === 'map') return mapReader(field.mapKey, singleReader(field));
  return singleReader(field);
}

/** Reads one value of a field: the field itself, an item of the list, a value of the map. */
export function singleReader(field: DescField): ValueReader {
  if (field.message !== undefined) {
    const decode = decoder(field.message);
    if (isWrapped(field)) return (value, path) => fieldsOf(decode(value, path))['value'];
    if (isBareStruct(field)) return (value, path) => checkTree(asObject(value, path), path);
    return decode;
  }
  if (field.enum !== undefined) return enumReader(field, field.enum);
  return scalarReader(field.scalar as ScalarType);
}

function enumReader(field: DescField, desc: NonNullable<DescField['enum']>): ValueReader {
  if (desc.typeName === 'google.protobuf.NullValue') return () => 0;
  const { byName, byNumber } = enumNames(desc);
  return (value, path) => {
    const number = typeof value === 'string' ? byName.get(value) : value;
    if (typeof number === 'number' && byNumber.has(number)) return number;
    throw refuse(path, 'enum', `${shown(value)} is none of its values: ${wordsText(field)}`);
  };
}

function listReader(read: ValueReader): ValueReader {
  return (value, path) => {
    if (!Array.isArray(value)) throw refuse(path, 'type', `expected an array, got ${kindOf(value)}`);
    const items: unknown[] = [];
    for (let i = 0; i < value.length; i++) {
      path.push(i);
      if (value[i] === null) throw refuse(path, 'type', 'an item must not be null');
      items.push(read(value[i], path));
      path.pop();
    }
    return items;
  };
}

function mapReader(keyType: ScalarType, read: ValueReader): ValueReader {
  const readKey = mapKeyReader(keyType);
  return (value, path) => {
    const members = asObject(value, path);
    const map: Record<string, unknown> = {};
    for (const key of Object.keys(members)) {
      path.push(key);
      if (members[key] === null) throw refuse(path, 'type', 'a value must not be null');
      const name = readKey(key, path);
      if (Object.hasOwn(map, name))
        throw refuse(path, 'duplicate_field', 'names the same entry as another key');
      map[name] = read(members[key], path);
      path.pop();
    }
    return map;
  };
}

function mapKeyReader(type: ScalarType): (key: string, path: Path) => string {
  if (type === ScalarType.STRING) {
    return (key, path) => {
      // Messages hold maps as plain objects, where this name is not a key.
      if (key === '__proto__') throw refuse(path, 'map_key', 'is not a possible key');
      const wrong = textProblem(key);
      if (wrong !== undefined) throw refuse(path, 'text', `the key ${wrong}`);
      return key;
    };
  }
  if (type === ScalarType.BOOL) {
    return (key, path) => {
      if (key !== 'true' && key !== 'false') throw refuse(path, 'type', 'expected the key true or false');
      return key;
    };
  }
  const read = scalarReader(type);
  return (key, path) => {
    if (!/^-?(0|[1-9]\d{0,19})$/.test(key)) throw refuse(path, 'type', 'expected a whole number as key');
    const number = Number(key);
    return String(read(Number.isSafeInteger(number) ? number : key, path));
  };
}

function wellKnownDecoder(desc: DescMessage): Decode | undefined {
  if (!desc.typeName.startsWith('google.protobuf.')) return undefined;
  if (desc.typeName === 'google.protobuf.Timestamp') {
    return (value, path = []) => {
      const time = typeof value === 'string' ? parseTimestamp(value) : undefined;
      if (time === undefined)
        throw refuse(
          path,
          'timestamp',
          `${shown(value)} is not an RFC 3339 time such as 2026-11-20T12:00:00Z`,
        );
      return create(desc, time);
    };
  }
  return (value, path = []) => {
    checkTree(value, path);
    try {
      return fromJson(desc, value as JsonValue);
    } catch {
      // The library's text names its own types; the field and what it is are what the caller can use.
      throw refuse(path, 'type', `${shown(value)} is not ${withArticle(desc.name)}`);
    }
  };
}

/** It checks the texts and keys of a free-form value; its depth is bounded already. */
function checkTree<T>(value: T, path: Path): T {
  if (typeof value === 'string') {
    const wrong = textProblem(value);
    if (wrong !== undefined) throw refuse(path, 'text', wrong);
  } else if (typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value)) {
      path.push(key);
      if (key === '__proto__') throw refuse(path, 'map_key', 'is not a possible key');
      checkTree(key, path);
      checkTree((value as Fields)[key], path);
      path.pop();
    }
  }
  return value;
}

function asObject(value: unknown, path: Path): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw refuse(path, 'type', `expected an object, got ${kindOf(value)}`);
}
