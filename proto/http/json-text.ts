/**
 * Reads a JSON value from bytes, and refuses what JSON.parse would swallow. JSON.parse stays the parser
 * because it is several times faster than anything written in JavaScript; one pass over the text before it
 * finds the depth and counts the members, and when the parsed value holds fewer members than the text, a key
 * was written twice.
 */
import { isAscii, isUtf8, transcode } from 'node:buffer';
import { apiError, type ApiError } from './errors.ts';

/** Deepest nesting of objects and arrays in a body; the contracts need 5. */
export const JSON_DEPTH_MAX = 64;

/** `field`: JSON path, empty for the body itself. `rule`: stable word that names what was broken. */
export interface FieldProblem {
  readonly field: string;
  readonly rule: string;
  readonly message: string;
}

/**
 * The error of a request that does not fit its contract. The text names the first problem, the details all of
 * them.
 */
export function validationError(fields: readonly FieldProblem[]): ApiError {
  const first = fields[0];
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : '';
  const at = first === undefined || first.field === '' ? '' : `${first.field}: `;
  return apiError('validation_failed', `${at}${first?.message ?? 'the request is not valid'}${more}`, {
    details: { fields },
  });
}

export function problem(field: string, rule: string, message: string): ApiError {
  return validationError([{ field, rule, message }]);
}

/** Limit of a body whose contract is not known: some ten times what the largest real request holds. */
export const JSON_ELEMENTS_MAX = 50_000;

/** It says how much a body may hold. Contracts say it for theirs, see bounds.ts. */
export interface JsonBounds {
  /** Members and items in all, those within others included. */
  readonly elementsMax: number;
  /**
   * Bytes of the longest text that is not ASCII. Longer strings can only be base64, and what is beyond ASCII
   * takes several times as long to decode.
   */
  readonly wideTextBytesMax?: number;
}

const ANY_BODY: JsonBounds = { elementsMax: JSON_ELEMENTS_MAX };

/** An empty body is an empty object. Throws `validation_failed`. */
export function parseJson(body: Uint8Array | string, bounds: JsonBounds = ANY_BODY): unknown {
  const bytes = typeof body === 'string' ? Buffer.from(body) : bufferOf(body);
  if (body.length === 0) return {};
  const members = measureJson(bytes, bounds);
  const text = typeof body === 'string' ? body : decodeUtf8(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // V8 quotes the input in its message; a body may hold secrets, so only the position is told.
    const position =
      error instanceof SyntaxError ? /at position \d+|end of JSON input/.exec(error.message)?.[0] : undefined;
    throw problem(
      '',
      'json_syntax',
      `the body is not JSON${position === undefined ? '' : `: error ${position}`}`,
    );
  }
  if (countMembers(value) !== members)
    throw problem('', 'json_duplicate_key', 'an object of the body has the same key twice');
  return value;
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Most bodies are ASCII, whose text is its bytes; of any other the general decoder takes twice as long as the
 * way by UTF-16.
 */
function decodeUtf8(body: Buffer): string {
  if (isAscii(body)) return body.toString('latin1');
  if (!isUtf8(body)) throw problem('', 'json_utf8', 'the body is not UTF-8');
  const bytes = body.subarray(0, BOM.length).equals(BOM) ? body.subarray(BOM.length) : body;
  return transcode(bytes, 'utf8', 'utf16le').toString('utf16le');
}

const SPACE = 0x20;
/** A multiple of four. */
const SPACES_FEW = 64;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export function tooManyElements(elementsMax: number): ApiError {
  return problem(
    '',
    'elements',
    `the body holds more than ${elementsMax} values, more than the request can have`,
  );
}

/**
 * It counts `:` outside of strings. The number is right for any valid JSON, and of no consequence for any
 * other. Brackets and values, each told by what stands before it (a comma or the bracket that holds it), are
 * held to their limits on the way: an empty object of two characters costs JSON.parse a hundred times what it
 * costs here.
 */
export function measureJson(text: Buffer, { elementsMax, wideTextBytesMax = Infinity }: JsonBounds): number {
  let members = 0;
  let elements = 0;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text[i] as number;
    if (code <= SPACE) {
      i = endOfSpace(text, i + 1) - 1;
    } else if (code === QUOTE) {
      const end = endOfString(text, i + 1);
      if (end - i - 1 > wideTextBytesMax) assertAscii(text, { from: i + 1, end, bytesMax: wideTextBytesMax });
      i = end;
    } else if (code === 0x3a) {
      members++;
    } else if (code === 0x2c) {
      elements++;
    } else if (code === 0x7b || code === 0x5b) {
      elements++;
      if (++depth > JSON_DEPTH_MAX)
        throw problem('', 'json_depth', `the JSON is nested more than ${JSON_DEPTH_MAX} deep`);
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    }
    if (elements > elementsMax) throw tooManyElements(elementsMax);
  }
  return members;
}

/**
 * Index of the first byte that is not white space. Many are looked at four at a time, because a body may be
 * nothing else; few are not worth a view.
 */
function endOfSpace(text: Buffer, from: number): number {
  const { buffer, byteOffset, length } = text;
  const aligned = Math.min(length, from + SPACES_FEW - ((byteOffset + from) % 4));
  let at = from;
  while (at < aligned && (text[at] as number) <= SPACE) at += 1;
  if (at < aligned || at === length) return at;
  const words = new Int32Array(buffer, byteOffset + at, (length - at) >> 2);
  let n = 0;
  while (n < words.length && isSpaces(words[n] as number)) n += 1;
  at += n * 4;
  while (at < length && (text[at] as number) <= SPACE) at += 1;
  return at;
}

/** Each of the four bytes is 0x20, or below 0x10: of these only white space is JSON. */
const isSpaces = (four: number): boolean =>
  (four & 0xd0d0d0d0) === 0 && (four & (((four >>> 5) & 0x01010101) * 0x0f)) === 0;

/** Index of the closing quote of a string that begins at `from`, or the end of the text. */
function endOfString(text: Buffer, from: number): number {
  for (let end = text.indexOf(QUOTE, from); end !== -1; end = text.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === BACKSLASH && end - 1 - slashes >= from) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/** Key of the string that begins behind the text, where it has a short one. */
const KEY = /"(\w{1,64})"\s{0,8}:\s{0,8}"$/;
const KEY_BYTES = 100;
/** Escapes such as `\u001b` write one byte in six. */
const ESCAPED = 6;

function assertAscii(
  text: Buffer,
  { from, end, bytesMax }: { readonly from: number; readonly end: number; readonly bytesMax: number },
): void {
  const string = text.subarray(from, end);
  const textMax = string.includes(BACKSLASH) ? bytesMax * ESCAPED : bytesMax;
  if (string.length <= textMax || isAscii(string)) return;
  const key = KEY.exec(text.toString('latin1', Math.max(0, from - KEY_BYTES), from))?.[1] ?? '';
  throw problem(key, 'text_length', `must be at most ${textMax} bytes, is ${string.length} bytes long`);
}

/** The depth of `value` is known to be small here, so recursion is safe. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') members += countMembers(item);
    return members;
  }
  const record = value as Record<string, unknown>;
  for (const key of Object.keys(record)) {
    members++;
    const item = record[key];
    if (typeof item === 'object') members += countMembers(item);
  }
  return members;
}

/** Says what is wrong with a text, or nothing. PostgreSQL stores neither NUL nor half of a surrogate pair. */
export function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'holds the character U+0000, which cannot be stored';
  return text.isWellFormed() ? undefined : 'holds half of a surrogate pair, which is no text';
}
