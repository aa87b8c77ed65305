/**
 * From bytes to a JSON value, refusing what JSON.parse would swallow. JSON.parse stays the parser because it is several times
 * faster than anything written in JavaScript; one pass over the text before it finds the depth and counts the members, and
 * when the parsed value holds fewer members than the text, a key was written twice.
 */
import { apiError, type ApiError } from './errors.ts';

/** Deepest nesting of objects and arrays in a body; the contracts need 5. */
export const JSON_DEPTH_MAX = 64;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** `field`: JSON path, empty for the body itself. `rule`: stable word that names what was broken. */
export interface FieldProblem {
  readonly field: string;
  readonly rule: string;
  readonly message: string;
}

/** The error of a request that does not fit its contract. The text names the first problem, the details all of them. */
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

/** An empty body is an empty object. Throws `validation_failed`. */
export function parseJson(body: Uint8Array | string): unknown {
  const text = typeof body === 'string' ? body : decodeUtf8(body);
  if (text === '') return {};
  const { members, depth } = measure(text);
  if (depth > JSON_DEPTH_MAX) {
    throw problem('', 'json_depth', `the JSON is nested ${depth} deep, at most ${JSON_DEPTH_MAX} is read`);
  }
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

function decodeUtf8(body: Uint8Array): string {
  try {
    return decoder.decode(body);
  } catch {
    throw problem('', 'json_utf8', 'the body is not UTF-8');
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Number of `:` and depth of brackets outside of strings. Right for any valid JSON, of no consequence for any other. */
function measure(text: string): { members: number; depth: number } {
  let members = 0;
  let open = 0;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(text, i + 1);
    } else if (code === 0x3a) {
      members++;
    } else if (code === 0x7b || code === 0x5b) {
      if (++open > depth) depth = open;
    } else if (code === 0x7d || code === 0x5d) {
      open--;
    }
  }
  return { members, depth };
}

/** Index of the closing quote of a string that begins at `from`, or the end of the text. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH && end - 1 - slashes >= from) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
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

/** Any surrogate or NUL: almost no text has one, so the exact test below runs seldom. */
const SUSPECT = /[\0\ud800-\udfff]/;
const UNPAIRED = /\p{Surrogate}/u;

/** What is wrong with a text, or nothing. PostgreSQL stores neither NUL nor half of a surrogate pair. */
export function textProblem(text: string): string | undefined {
  if (!SUSPECT.test(text)) return undefined;
  if (text.includes('\0')) return 'holds the character U+0000, which cannot be stored';
  return UNPAIRED.test(text) ? 'holds half of a surrogate pair, which is no text' : undefined;
}
