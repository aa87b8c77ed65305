/** Reads scalars of the JSON spelling, from parsed JSON and from the text of a path or query. */
import { ScalarType } from '@bufbuild/protobuf';
import { kindOf, refuse, shown, type Path } from './json-path.ts';
import { textProblem } from './json-text.ts';

export type ValueReader = (value: unknown, path: Path) => unknown;

const FLOAT_MAX = 3.4028234663852886e38;
interface Range<T> {
  readonly min: T;
  readonly max: T;
}

const INT32: Range<number> = { min: -0x8000_0000, max: 0x7fff_ffff };
const UINT32: Range<number> = { min: 0, max: 0xffff_ffff };
const INT64: Range<bigint> = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const UINT64: Range<bigint> = { min: 0n, max: 2n ** 64n - 1n };

export function scalarReader(type: ScalarType): ValueReader {
  switch (type) {
    case ScalarType.STRING:
      return readText;
    case ScalarType.BOOL:
      return readBool;
    case ScalarType.BYTES:
      return readBytes;
    case ScalarType.DOUBLE:
      return (value, path) => readDouble(value, path, Number.MAX_VALUE);
    case ScalarType.FLOAT:
      return (value, path) => readDouble(value, path, FLOAT_MAX);
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return (value, path) => readInteger(value, path, INT32);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return (value, path) => readInteger(value, path, UINT32);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return (value, path) => readLong(value, path, INT64);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return (value, path) => readLong(value, path, UINT64);
  }
}

/** The JSON value that a text in a path or query stands for; the reader of the type then checks it. */
export function textToJson(type: ScalarType, text: string): unknown {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return text;
    case ScalarType.BOOL:
      return text === 'true' ? true : text === 'false' ? false : text;
    default:
      // 64-bit values stay text: a number would lose digits.
      if (isLong(type)) return text;
      return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
  }
}

function isLong(type: ScalarType): boolean {
  return (
    type === ScalarType.INT64 ||
    type === ScalarType.UINT64 ||
    type === ScalarType.SINT64 ||
    type === ScalarType.FIXED64 ||
    type === ScalarType.SFIXED64
  );
}

function readText(value: unknown, path: Path): string {
  if (typeof value !== 'string') throw refuse(path, 'type', `expected a string, got ${kindOf(value)}`);
  const wrong = textProblem(value);
  if (wrong !== undefined) throw refuse(path, 'text', wrong);
  return value;
}

function readBool(value: unknown, path: Path): boolean {
  if (typeof value !== 'boolean') throw refuse(path, 'type', `expected true or false, got ${shown(value)}`);
  return value;
}

function readInteger(value: unknown, path: Path, { min, max }: Range<number>): number {
  if (typeof value !== 'number') throw refuse(path, 'type', `expected a number, got ${shown(value)}`);
  if (!Number.isInteger(value)) throw refuse(path, 'type', `expected a whole number, got ${value}`);
  if (value < min || value > max) throw refuse(path, 'range', `${value} is outside of ${min} to ${max}`);
  // -0 is 0.
  return value + 0;
}

function readDouble(value: unknown, path: Path, max: number): number {
  if (value === 'NaN') return Number.NaN;
  if (value === 'Infinity') return Number.POSITIVE_INFINITY;
  if (value === '-Infinity') return Number.NEGATIVE_INFINITY;
  if (typeof value !== 'number') throw refuse(path, 'type', `expected a number, got ${shown(value)}`);
  // JSON.parse reads 1e400 as Infinity.
  if (!(Math.abs(value) <= max)) throw refuse(path, 'range', `the number is too large, at most ${max}`);
  return value;
}

function readLong(value: unknown, path: Path, { min, max }: Range<bigint>): bigint {
  const exact =
    typeof value === 'string' && /^-?(0|[1-9]\d{0,19})$/.test(value)
      ? BigInt(value)
      : Number.isSafeInteger(value)
        ? BigInt(value as number)
        : undefined;
  if (exact === undefined)
    throw refuse(path, 'type', `expected a whole number as a string, got ${shown(value)}`);
  if (exact < min || exact > max) throw refuse(path, 'range', `${exact} is outside of ${min} to ${max}`);
  return exact;
}

/**
 * Standard and URL-safe alphabet, padded or not. The decoder passes over what is not of them, so that its
 * answer is too short; beyond ASCII it looks at half of the character. Both are asked instead of an
 * expression over the text, which takes twice as long as to decode it.
 */
function readBytes(value: unknown, path: Path): Uint8Array {
  if (typeof value !== 'string') throw refuse(path, 'type', `expected base64 text, got ${kindOf(value)}`);
  const padding = value.endsWith('==') ? 2 : value.endsWith('=') ? 1 : 0;
  const digits = value.length - padding;
  const mayBe =
    digits % 4 !== 1 &&
    (padding === 0 || value.length % 4 === 0) &&
    Buffer.byteLength(value) === value.length;
  const bytes = mayBe ? Buffer.from(value, 'base64') : undefined;
  if (bytes === undefined || bytes.length !== Math.floor((digits * 3) / 4))
    throw refuse(path, 'base64', `${shown(value)} is not base64`);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const RFC3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

/** Seconds and nanoseconds of an RFC 3339 time within the years 0001 to 9999, or nothing. */
export function parseTimestamp(text: string): { seconds: bigint; nanos: number } | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const ms = Date.parse(`${match[1]}${match[3]}`);
  if (Number.isNaN(ms) || ms < -62_135_596_800_000 || ms > 253_402_300_799_000) return undefined;
  // Date.parse rolls some impossible days over (31 February); the written day must be the read one.
  const offset = match[3] === 'Z' ? 0 : minutesOf(match[3] ?? '');
  if (new Date(ms + offset * 60_000).toISOString().slice(0, 10) !== match[1]?.slice(0, 10)) return undefined;
  return { seconds: BigInt(ms / 1000), nanos: Number((match[2] ?? '').padEnd(9, '0')) };
}

function minutesOf(offset: string): number {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6));
  return offset.startsWith('-') ? -minutes : minutes;
}
