/** Reads a file or standard input as the value of one request field. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FieldSpec } from '../command.ts';
import { UsageError } from './errors.ts';
import { isRecord } from './paths.ts';
import { wordOf, type Source } from './source.ts';
import { readJson, readValue } from './values.ts';

/** Returns one value, or of a field that takes several those of a list. */
export async function valuesOf(field: FieldSpec, source: Source, bytes: Buffer): Promise<readonly unknown[]> {
  const { type, sensitive } = field;
  const { label, name } = source;
  if (type === 'bytes' && bytes.length > 0) return [bytes.toString('base64')];
  if (field.packedAbove !== undefined && (isGzip(bytes) || bytes.length > field.packedAbove))
    return [await packed(bytes, field.packedAbove, label)];
  const text = sensitive && type !== 'map' ? ofOneLine(textOf(bytes, label)) : textOf(bytes, label);
  if (text === '' && (field.required || type !== 'string'))
    throw new UsageError(`${sensitive ? `the ${wordOf(field)}` : label} is empty`);
  if (type === 'map') return entriesOf(withoutMark(text), label);
  if (type === 'json') {
    const value = await readDocument(field, withoutMark(text), name);
    return field.repeated && Array.isArray(value) ? value : [value];
  }
  if (type !== 'string') return [readValue(field, text.trim(), name)];
  checkLength(field, text, label);
  return [text];
}

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/** Returns base64 of the gzip, which takes a moment. */
async function packed(bytes: Buffer, bytesMax: number, label: string): Promise<string> {
  const zipped = isGzip(bytes) ? bytes : await promisify(gzip)(bytes);
  const text = zipped.toString('base64');
  if (text.length <= bytesMax) return text;
  throw new UsageError(
    `${label} has ${bytes.length} bytes, and ${text.length} as base64 of its gzip, more than ${bytesMax} bytes, which is the limit`,
  );
}

/** Reads JSON, or YAML where the field takes it. */
async function readDocument(field: FieldSpec, text: string, name: string): Promise<unknown> {
  const value = field.format === 'yaml' ? await readYaml(text, name) : readJson(field, text, name);
  checkLength(field, field.format === 'yaml' ? text : JSON.stringify(value), `the document of ${name}`);
  return value;
}

async function readYaml(text: string, name: string): Promise<unknown> {
  const { readYamlValue } = await import('@svc/sdk/ci-definitions');
  let value: unknown;
  try {
    value = readYamlValue(text);
  } catch (error) {
    throw new UsageError(`the document of ${name} cannot be read: ${(error as Error).message}`);
  }
  if (isRecord(value)) return value;
  throw new UsageError(`the document of ${name} must be an object, such as on: […]`);
}

/** Takes off the byte-order mark that some editors write. */
function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

function textOf(bytes: Buffer, label: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`${label} is not UTF-8 text`);
  }
}

/**
 * The line end behind a single line belongs to the file. Of several lines, such as those of a key, the last
 * one ends like the others.
 */
function ofOneLine(text: string): string {
  return /^[^\n]*\n$/.test(text) ? text.replace(/\r?\n$/, '') : text;
}

function checkLength({ limit }: FieldSpec, text: string, label: string): void {
  if (limit === undefined) return;
  const [length, most, unit] =
    'bytes' in limit
      ? [Buffer.byteLength(text), limit.bytes, 'bytes']
      : [Array.from(text).length, limit.characters, 'characters'];
  if (length > most)
    throw new UsageError(`${label} has ${length} ${unit}, more than ${most} ${unit}, which is the limit`);
}

/**
 * Reads lines of `key=value` as they are, without quotes, empty ones and those behind `#` left out; or a JSON
 * object.
 */
function entriesOf(text: string, label: string): (readonly [string, string])[] {
  if (/^\s*\{/.test(text)) return entriesOfJson(text, label);
  return text.split(/\r?\n/).flatMap((line, index): (readonly [string, string])[] => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const cut = line.indexOf('=');
    if (cut < 1) throw new UsageError(`line ${index + 1} of ${label} is not key=value (not shown)`);
    return [[line.slice(0, cut), line.slice(cut + 1)]];
  });
}

function entriesOfJson(text: string, label: string): (readonly [string, string])[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message repeats a part of the text.
    throw new UsageError(`${label} begins with a brace and is not JSON`);
  }
  return Object.entries(isRecord(value) ? value : {}).map(([key, entry]) => {
    if (typeof entry === 'string') return [key, entry] as const;
    throw new UsageError(`${label} must hold texts alone, and "${key}" is none`);
  });
}
