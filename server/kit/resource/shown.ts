/**
 * This file shows a row as the contract's message, by the contract's descriptor: columns have the names of
 * fields, words of enums become their numbers (a number stays), a Date becomes a Timestamp, and null leaves
 * an optional field unset. Columns that the message does not have are left out.
 */
import {
  create,
  isFieldSet,
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  type MessageShape,
} from '@bufbuild/protobuf';
import { timestampDate, timestampFromDate, type Timestamp } from '@bufbuild/protobuf/wkt';
import { enumNames } from '@svc/proto/http/enum-names.ts';

/**
 * The columns that a row must hold to be shown as the message: required fields are columns, optional ones may
 * be null or missing.
 */
export type Row<M> = {
  readonly [K in keyof M as Stated<M, K> extends true ? K : never]: Cell<M[K]>;
} & {
  readonly [K in keyof M as Stated<M, K> extends true ? never : K]?: Cell<M[K]> | null | undefined;
};

/** Lists and maps may be left out like optional fields: they are empty then. */
type Stated<M, K extends keyof M> = K extends `$${string}`
  ? false
  : undefined extends M[K]
    ? false
    : M[K] extends Timestamp
      ? true
      : M[K] extends Uint8Array
        ? true
        : M[K] extends object
          ? false
          : true;

/** `Numbers`: a value of an enum may be its number too. */
type Cell<T, Numbers extends boolean = true> = T extends undefined
  ? never
  : T extends Timestamp
    ? Date
    : T extends Uint8Array
      ? Uint8Array
      : T extends ReadonlyArray<infer Item>
        ? ReadonlyArray<Cell<Item, Numbers>>
        : T extends Message
          ? Row<T>
          : T extends number
            ? `${number}` extends `${T}`
              ? number
              : Numbers extends true
                ? string | T
                : string
            : T extends Readonly<Record<string, infer Item>>
              ? CellsOf<T, Item>
              : T;

/** A Struct and the like are held as JSON already. */
type CellsOf<Map, Item> = Item extends Message ? Readonly<Record<string, Row<Item>>> : Map;

type Cells = Readonly<Record<string, unknown>>;
type Convert = (value: unknown) => unknown;
type Show = (row: Cells, computed?: Cells) => Message;

const shows = new WeakMap<DescMessage, Show>();

/**
 * Shows a row; `computed` has fields that are shown otherwise than the row has them. On hot paths they stand
 * here and not in a spread of the row: spreading some twenty columns and then adding to them takes ten times
 * as long as all the rest.
 */
export function shown<
  Desc extends DescMessage,
  Computed extends Partial<Row<MessageShape<Desc>>> = NonNullable<unknown>,
>(schema: Desc, row: Omit<Row<MessageShape<Desc>>, keyof Computed>, computed?: Computed): MessageShape<Desc> {
  return showOf(schema)(row as Cells, computed) as MessageShape<Desc>;
}

/** Throws for a word that the contract does not have: the column's CHECK keeps such a row out. */
export function enumNumber(schema: DescEnum, word: string): number {
  const number = enumNames(schema).byName.get(word);
  if (number === undefined) throw new Error(`${schema.typeName} has no value "${word}"`);
  return number;
}

function showOf(schema: DescMessage): Show {
  const known = shows.get(schema);
  if (known !== undefined) return known;
  // Compiled at the first row, because message types may refer to each other in a circle.
  let fields: ReadonlyArray<readonly [string, Convert | undefined]> | undefined;
  const show: Show = (row, computed) => {
    fields ??= schema.fields.map((field) => [field.localName, conversion(field)]);
    const message = create(schema) as Message & Record<string, unknown>;
    for (const [name, convert] of fields) {
      const value = computed !== undefined && name in computed ? computed[name] : row[name];
      if (value === null || value === undefined) continue;
      message[name] = convert === undefined ? value : convert(value);
    }
    return message;
  };
  shows.set(schema, show);
  return show;
}

function conversion(field: DescField): Convert | undefined {
  const one = ofOne(field);
  if (one === undefined) return undefined;
  if (field.fieldKind === 'list') return (value) => (value as readonly unknown[]).map(one);
  if (field.fieldKind !== 'map') return one;
  return (value) => Object.fromEntries(Object.entries(value as Cells).map(([key, item]) => [key, one(item)]));
}

function ofOne({ enum: words, message }: DescField): Convert | undefined {
  if (words !== undefined) {
    const { byName } = enumNames(words);
    return (value) =>
      typeof value === 'number' ? value : (byName.get(value as string) ?? enumNumber(words, String(value)));
  }
  if (message === undefined) return undefined;
  if (message.typeName === 'google.protobuf.Timestamp') return (value) => timestampFromDate(value as Date);
  // A Struct and the like are held as JSON already.
  return message.typeName.startsWith('google.protobuf.')
    ? undefined
    : (value) => showOf(message)(value as Cells);
}

/**
 * The fields of a request that are set, as a row would hold them: words of enums for numbers, a Date for a
 * Timestamp.
 */
export function given<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
): GivenFields<MessageShape<Desc>> {
  const row: Record<string, unknown> = {};
  for (const field of schema.fields) {
    if (field.oneof === undefined && isFieldSet(message, field))
      row[field.localName] = back(field, (message as Record<string, unknown>)[field.localName]);
  }
  return row as GivenFields<MessageShape<Desc>>;
}

/** Fields that `given` makes of a message, each of which may be missing. */
export type GivenFields<M> = {
  readonly [K in keyof M as K extends `$${string}` ? never : K]?: Cell<Exclude<M[K], undefined>, false>;
};

function back(field: DescField, value: unknown): unknown {
  if (field.fieldKind === 'list') return (value as readonly unknown[]).map((item) => backOne(field, item));
  if (field.fieldKind !== 'map') return backOne(field, value);
  return Object.fromEntries(Object.entries(value as Cells).map(([key, item]) => [key, backOne(field, item)]));
}

function backOne({ enum: words, message }: DescField, value: unknown): unknown {
  if (words !== undefined) return enumWord(words, value as number);
  if (message === undefined) return value;
  if (message.typeName === 'google.protobuf.Timestamp') return timestampDate(value as Timestamp);
  return message.typeName.startsWith('google.protobuf.') ? value : given(message, value as Message);
}

export function enumWord(schema: DescEnum, number: number): string {
  const word = enumNames(schema).byNumber.get(number);
  if (word === undefined) throw new Error(`${schema.typeName} has no value ${number}`);
  return word;
}
