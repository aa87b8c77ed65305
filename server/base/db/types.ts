/**
 * Values that the driver does not know by itself. Arrays have one dimension and travel as text, `{a,"b
 * \"c\"",NULL}`; the driver would find out about their types with a query on each new connection, see
 * connection.ts.
 */

type TextOf = (item: unknown) => string;

export function encodeArray(items: readonly unknown[], textOf: TextOf): string {
  const quoted = (item: unknown): string => `"${textOf(item).replace(/[\\"]/g, '\\$&')}"`;
  return `{${items.map((item) => (item === null || item === undefined ? 'NULL' : quoted(item))).join(',')}}`;
}

/** An item in quotation marks, or one without. */
const ITEM = /"((?:[^"\\]|\\.)*)"|([^,]+)/gs;

export function decodeArray<T>(text: string, parse: (item: string) => T): Array<T | null> {
  if (!text.startsWith('{') || text.startsWith('{{'))
    throw new Error(`only one-dimensional arrays are read, got ${text.slice(0, 40)}`);
  return Array.from(text.slice(1, -1).matchAll(ITEM), ([, quoted, plain = '']) => {
    if (quoted !== undefined) return parse(quoted.replace(/\\(.)/gs, '$1'));
    return plain === 'NULL' ? null : parse(plain);
  });
}

interface Type {
  readonly to: number;
  readonly from: number[];
  readonly serialize: (value: unknown) => string;
  readonly parse: (text: string) => unknown;
}

function arrayOf(oid: number, parse: (item: string) => unknown = String, textOf: TextOf = String): Type {
  return {
    to: oid,
    from: [oid],
    // A string is an array literal already: drizzle makes those.
    serialize: (value) => (typeof value === 'string' ? value : encodeArray(value as unknown[], textOf)),
    parse: (text) => decodeArray(text, parse),
  };
}

const dateText: TextOf = (item) => (item instanceof Date ? item.toISOString() : String(item));
const bytesText: TextOf = (item) => `\\x${Buffer.from(item as Uint8Array).toString('hex')}`;
const boolText: TextOf = (item) => (item === true ? 't' : 'f');

/** The oids of built-in types are fixed. */
export const TYPES: Readonly<Record<string, Type>> = {
  bigint: {
    to: 20,
    from: [20],
    serialize: String,
    parse: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)),
  },
  json: {
    to: 114,
    from: [114, 3802],
    // drizzle hands over JSON text, `sql.json` a value: the text must not be encoded a second time.
    serialize: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
    parse: (text) => JSON.parse(text) as unknown,
  },
  boolArray: arrayOf(1000, (item) => item === 't', boolText),
  byteaArray: arrayOf(1001, (item) => Buffer.from(item.slice(2), 'hex'), bytesText),
  int2Array: arrayOf(1005, Number),
  int4Array: arrayOf(1007, Number),
  textArray: arrayOf(1009),
  varcharArray: arrayOf(1015),
  int8Array: arrayOf(1016, Number),
  float8Array: arrayOf(1022, Number),
  timestamptzArray: arrayOf(1185, (item) => new Date(item), dateText),
  uuidArray: arrayOf(2951),
};
