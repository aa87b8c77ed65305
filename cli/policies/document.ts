/** `--document`: a policy's document as YAML or JSON. */
import { createReadStream } from 'node:fs';
import { readYamlValue } from '@svc/sdk/ci-definitions';
import { readUpTo } from '../shell/bytes.ts';
import type { Context, GeneratedSpec } from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { isRecord, type Json } from '../shell/paths.ts';

/** As the server has it. */
const BYTES_MAX = 65_536;

/** The request's flags without `--document`, which the command has itself. */
export const otherFlags = ({ flags }: GeneratedSpec): GeneratedSpec['flags'] =>
  flags.filter(({ name }) => name !== 'document');

export const documentArg = {
  type: 'string',
  valueHint: 'file|-',
  description:
    'Document as YAML or JSON, at most 65,536 bytes: a file, - for standard input, or the JSON itself.',
} as const;

/** `file`, `@file`, `-`, or JSON that begins with a brace. */
export async function readDocument(source: string, { io, signal }: Context): Promise<Json> {
  const text = await textOf(source, { io, signal });
  const bytes = Buffer.byteLength(text);
  if (bytes > BYTES_MAX)
    throw new UsageError(`the document of --document has more than ${BYTES_MAX} bytes, which is the limit`);
  const value = parse(text);
  if (!isRecord(value)) throw new UsageError('the document of --document must be an object, such as on: […]');
  return value;
}

async function textOf(source: string, { io, signal }: Pick<Context, 'io' | 'signal'>): Promise<string> {
  if (source === '-') return await io.stdin.readAll();
  if (source.startsWith('{')) return source;
  try {
    const path = source.replace(/^@/, '');
    return (await readUpTo(createReadStream(path, { signal }), BYTES_MAX)).toString('utf8');
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`cannot read the file of --document: ${(error as Error).message}`);
  }
}

function parse(text: string): unknown {
  try {
    return readYamlValue(text);
  } catch (error) {
    throw new UsageError(`the document of --document cannot be read: ${(error as Error).message}`);
  }
}
