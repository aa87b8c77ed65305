/**
 * Reads text of the command line as the value of one request field. It is pure, and every refusal says what
 * would be right.
 */
import type { FieldSpec } from '../command.ts';
import { UsageError } from './errors.ts';
import { meantHints } from './suggest.ts';
import { parseTime } from './time.ts';

/** `name` is what the user wrote, such as `--state` or `<run-id>`. */
export function readValue(field: FieldSpec, text: string, name: string): unknown {
  switch (field.type) {
    case 'string':
      return text;
    case 'integer':
      return readInteger(field, text, name);
    case 'number':
      if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text)))
        return Number(text);
      throw refusal(field, { name, text }, 'a number');
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true';
      throw refusal(field, { name, text }, 'true or false');
    case 'enum':
      return readEnum(field, text, name);
    case 'timestamp':
      if (parseTime(text) !== undefined) return text;
      throw refusal(field, { name, text }, 'a time such as 2026-11-20T08:00:00Z');
    case 'map':
      return readEntry(field, text, name);
    case 'json':
      return readJson(field, text, name);
    case 'bytes':
      return Buffer.from(text).toString('base64');
  }
}

/** It combines the values of a field's flags and positionals. */
export function combine(field: FieldSpec, values: readonly unknown[], name: string): unknown {
  if (field.type === 'map') return readMap(values as readonly (readonly [string, string])[], name);
  return field.repeated ? values : values[0];
}

function readInteger(field: FieldSpec, text: string, name: string): number {
  const value = Number(text);
  if (/^[+-]?\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw refusal(field, { name, text }, 'a whole number');
}

function readEnum(field: FieldSpec, text: string, name: string): string {
  const values = field.values ?? [];
  if (values.includes(text)) return text;
  const { message } = refusal(field, { name, text }, `one of ${values.join(', ')}`);
  throw new UsageError(message, { hints: meantHints(text, values) });
}

function readEntry(field: FieldSpec, text: string, name: string): readonly [string, string] {
  const cut = text.indexOf('=');
  if (cut > 0) return [text.slice(0, cut), text.slice(cut + 1)];
  throw refusal(field, { name, text }, 'key=value');
}

function readMap(entries: readonly (readonly [string, string])[], name: string): Record<string, string> {
  const seen = new Set<string>();
  for (const [key] of entries) {
    if (seen.has(key)) throw new UsageError(`${name} sets "${key}" twice`);
    seen.add(key);
  }
  // The map is not made by assignment, because a key may be called __proto__.
  return Object.fromEntries(entries);
}

export function readJson(field: FieldSpec, text: string, name: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    // The parser's message repeats a part of the text.
    const reason = field.sensitive ? '' : `: ${(error as Error).message}`;
    throw new UsageError(`${name} must be JSON${reason}`);
  }
}

function refusal(
  field: FieldSpec,
  { name, text }: { readonly name: string; readonly text: string },
  wanted: string,
): UsageError {
  const got = field.sensitive ? 'something else (not shown)' : `"${text}"`;
  return new UsageError(`${name} must be ${wanted}, got ${got}`);
}
