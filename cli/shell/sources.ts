/**
 * Reads values that a command line only names: documents by `@path`, by a plain path where the flag is a
 * file, or by `-` for standard input; secrets by `--…-file`, `--…-stdin` or `-`. Reading is bounded by the
 * limit of the contract.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { FieldSpec } from '../command.ts';
import { readUpTo } from './bytes.ts';
import { canAsk } from './confirm.ts';
import type { Context } from './command.ts';
import { valuesOf } from './contents.ts';
import { UsageError } from './errors.ts';
import type { GivenValue } from './parse.ts';
import { isAsked, Source, WHITE_SPACE_FACTOR, wordOf } from './source.ts';
import { neutraliseLine } from './text.ts';

type Reading = Pick<Context, 'io' | 'globals' | 'signal'>;

/** Returns the same values with what they name in place of the names. */
export async function readSources(
  given: readonly GivenValue[],
  reading: Reading,
): Promise<readonly GivenValue[]> {
  const named = given.flatMap(({ values }) => values.filter((value) => value instanceof Source));
  const [first, second] = named.filter(({ kind }) => kind === 'stdin');
  if (first !== undefined && second !== undefined)
    throw new UsageError(
      `standard input can be read once, and is named twice: by ${first.name} and by ${second.name}`,
    );
  const read: GivenValue[] = [];
  for (const { field, name, values } of given) {
    const inPlace: unknown[] = [];
    for (const value of values)
      inPlace.push(...(value instanceof Source ? await readSource(field, value, reading) : [value]));
    read.push({ field, name, values: inPlace });
  }
  return read;
}

/** Returns one value, or several where a file holds a list of them. */
async function readSource(field: FieldSpec, source: Source, reading: Reading): Promise<readonly unknown[]> {
  const { io, globals } = reading;
  // A person types it, and must not see what they type.
  if (source.kind === 'stdin' && isAsked(field) && canAsk(io, globals)) return [await ask(field, io)];
  return await valuesOf(field, source, await readBytes(field, source, reading));
}

/** Nothing of it shows while it is typed. */
export async function ask(field: FieldSpec, io: Context['io']): Promise<string> {
  const word = wordOf(field);
  const secret = await io.stdin.ask(`${word.charAt(0).toUpperCase()}${word.slice(1)}: `, { hidden: true });
  if (secret === '') throw new UsageError(`the ${word} is empty`);
  return secret;
}

async function readBytes(field: FieldSpec, source: Source, { io, signal }: Reading): Promise<Buffer> {
  if (source.kind === 'text') return Buffer.from(source.text);
  const bytesMax = bytesMaxOf(field);
  const bytes =
    source.kind === 'stdin'
      ? await io.stdin.readAll(bytesMax)
      : await readFile(field, source, { bytesMax, signal });
  if (bytes.length > bytesMax)
    throw new UsageError(`${source.label} has more than ${bytesMax} bytes, which is the limit`);
  return bytes;
}

const UTF8_BYTES_MAX = 4;

function bytesMaxOf({ limit, type, format }: FieldSpec): number {
  if (limit === undefined) throw new Error('the tables give every document and secret a limit');
  if ('characters' in limit) return limit.characters * UTF8_BYTES_MAX;
  // JSON is sent without its white space: what is sent is measured when it has been read.
  return limit.bytes * (type === 'json' && format !== 'yaml' ? WHITE_SPACE_FACTOR : 1);
}

async function readFile(
  { sensitive }: FieldSpec,
  { name, text: path }: Source,
  { bytesMax, signal }: { readonly bytesMax: number; readonly signal: AbortSignal },
): Promise<Buffer> {
  // Somebody may have given the secret itself where its file was asked for.
  const shown = sensitive || path.length > PATH_SHOWN_MAX ? '' : `: ${neutraliseLine(path)}`;
  const refuse = (why: string): UsageError =>
    new UsageError(`cannot read the file of ${name}: ${why}${shown}`);
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw refuse('it is a folder');
    if (found.isFile() && found.size > bytesMax)
      throw new UsageError(
        `the file of ${name} has ${found.size} bytes, more than ${bytesMax} bytes, which is the limit`,
      );
    return await readUpTo(createReadStream(path, { signal }), bytesMax);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    signal.throwIfAborted();
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw refuse(REASONS[code] ?? code);
  }
}

const PATH_SHOWN_MAX = 200;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'ENOENT, there is no such file',
  ENOTDIR: 'ENOTDIR, there is no such file',
  EACCES: 'EACCES, you may not read it',
  EPERM: 'EPERM, you may not read it',
};
