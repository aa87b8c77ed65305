/** `--data` gives a whole request body, which flags may add to. */
import type { Operation } from '@svc/sdk';
import { describeFlag, type ShellField } from './command.ts';
import { UsageError } from './errors.ts';
import { isRecord, mergeDeep, type Json } from './paths.ts';
import { WHITE_SPACE_FACTOR } from './source.ts';

/** Describes `--data`. The request takes `bodyBytesMax`; a file may have spaces and line ends beside it. */
export function dataFlag(bodyBytesMax: number): ShellField {
  return describeFlag({
    flag: 'data',
    type: 'string',
    document: 'text',
    placeholder: 'json',
    description: 'Request body as JSON. Flags win over it.',
    limit: { bytes: bodyBytesMax * WHITE_SPACE_FACTOR },
  });
}

/**
 * Reads the body. Where `isSecret`, a part of it may be secret, and the parser's message would repeat that.
 */
export function parseData(text: string, isSecret: boolean): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--data is not JSON${isSecret ? '' : `: ${(error as Error).message}`}`, {
      hints: ['a file is named by --data @file'],
    });
  }
  if (isRecord(value)) return value;
  throw new UsageError('--data must be a JSON object');
}

/** Returns the body under the fields that flags gave. */
export function withData(operation: Operation, data: Json, input: Json): Json {
  const under = operation.body === undefined || operation.body === '*' ? data : { [operation.body]: data };
  return mergeDeep(under, input);
}
