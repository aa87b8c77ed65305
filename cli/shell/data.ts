/** `--data`: a whole request body, which flags may add to. */
import { readFile } from 'node:fs/promises';
import type { Operation } from '@svc/sdk';
import { UsageError } from './errors.ts';
import type { Io } from './io.ts';
import { isRecord, mergeDeep, type Json } from './paths.ts';

/** `@file`, `-` for standard input, or the JSON itself. */
export async function readData(text: string, io: Pick<Io, 'stdin'>): Promise<Json> {
  const body = await readSource(text, io);
  try {
    const value: unknown = JSON.parse(body);
    if (isRecord(value)) return value;
  } catch (error) {
    throw new UsageError(`--data is not JSON: ${(error as Error).message}`, {
      hints: ['a file is named by --data @file'],
    });
  }
  throw new UsageError('--data must be a JSON object');
}

async function readSource(text: string, io: Pick<Io, 'stdin'>): Promise<string> {
  if (text === '-') return io.stdin.readAll();
  if (!text.startsWith('@')) return text;
  const path = text.slice(1);
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read the file of --data: ${(error as Error).message}`);
  }
}

/** The body under the fields that flags gave. */
export function withData(operation: Operation, data: Json, input: Json): Json {
  const under = operation.body === undefined || operation.body === '*' ? data : { [operation.body]: data };
  return mergeDeep(under, input);
}
