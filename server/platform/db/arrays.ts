/**
 * One-dimensional PostgreSQL arrays as text, `{a,"b \"c\"",NULL}`. The driver can find out about array types by itself, with a
 * query on each new connection; when that connection dies at that moment its failure is nobody's and ends the process. So the
 * types that are used here are told to it, and that query is switched off.
 */

export function encodeArray(items: readonly unknown[], textOf: (item: unknown) => string): string {
  const parts = items.map((item) =>
    item === null || item === undefined
      ? 'NULL'
      : `"${textOf(item).replace(/[\\"]/g, (char) => `\\${char}`)}"`,
  );
  return `{${parts.join(',')}}`;
}

export function decodeArray<T>(text: string, parse: (item: string) => T): Array<T | null> {
  if (!text.startsWith('{') || text.startsWith('{{'))
    throw new Error(`only one-dimensional arrays are read, got ${text.slice(0, 40)}`);
  const items: Array<T | null> = [];
  for (let at = 1; at < text.length && text[at] !== '}'; at += 1) {
    const quoted = text[at] === '"';
    let item = '';
    if (quoted) {
      for (at += 1; text[at] !== '"'; at += 1) {
        if (text[at] === '\\') at += 1;
        item += text[at] ?? '';
      }
      at += 1; // closing quote
    } else {
      const end = text.slice(at).search(/[,}]/) + at;
      item = text.slice(at, end);
      at = end;
    }
    items.push(!quoted && item === 'NULL' ? null : parse(item));
    if (text[at] === '}') break;
  }
  return items;
}

interface ArrayType {
  readonly to: number;
  readonly from: number[];
  readonly serialize: (value: unknown) => string;
  readonly parse: (text: string) => unknown;
}

/** A string is an array literal already: drizzle makes those. */
function arrayType(
  oid: number,
  textOf: (item: unknown) => string,
  parse: (item: string) => unknown,
): ArrayType {
  return {
    to: oid,
    from: [oid],
    serialize: (value) =>
      typeof value === 'string' ? value : encodeArray(value as readonly unknown[], textOf),
    parse: (text) => decodeArray(text, parse),
  };
}

const dateText = (item: unknown): string => (item instanceof Date ? item.toISOString() : String(item));
const bytesText = (item: unknown): string => `\\x${Buffer.from(item as Uint8Array).toString('hex')}`;

/** By the oid of the array type, which is fixed for built-in types. */
export const ARRAY_TYPES = {
  boolArray: arrayType(
    1000,
    (item) => (item === true ? 't' : 'f'),
    (item) => item === 't',
  ),
  byteaArray: arrayType(1001, bytesText, (item) => Buffer.from(item.slice(2), 'hex')),
  int2Array: arrayType(1005, String, Number),
  int4Array: arrayType(1007, String, Number),
  textArray: arrayType(1009, String, (item) => item),
  varcharArray: arrayType(1015, String, (item) => item),
  int8Array: arrayType(1016, String, Number),
  float8Array: arrayType(1022, String, Number),
  timestamptzArray: arrayType(1185, dateText, (item) => new Date(item)),
  uuidArray: arrayType(2951, String, (item) => item),
};
