/**
 * Everything in the data folder has one format with a number: journal, outbox, spool, config. A newer daemon
 * that changes one of them so that an older one would misread it raises the number; an older daemon then
 * refuses the folder instead of losing the results in it. A newer one reads all older formats.
 */
import { join } from 'node:path';
import { readIfThere, writeDurably } from './durable-file.ts';
import { SetupError } from './identity.ts';
import { VERSION } from '../platform/version.ts';

export const DATA_FORMAT = 1;

interface FormatFile {
  format: number;
  writtenBy: string;
}

/** Refuses a folder of a newer format, and marks it with this one. The caller holds the folder's lock. */
export async function openDataFormat(dataDir: string): Promise<void> {
  const path = join(dataDir, 'format.json');
  const found = readFormat(path);
  if (found !== undefined && found.format > DATA_FORMAT)
    throw new SetupError(
      `${dataDir} has format ${found.format}, written by svc-runner ${found.writtenBy}; this is svc-runner ${VERSION}, which knows formats up to ${DATA_FORMAT} ` +
        `and would lose results that wait there: start svc-runner ${found.writtenBy} or newer`,
    );
  if (found?.format === DATA_FORMAT && found.writtenBy === VERSION) return;
  await writeDurably(path, `${JSON.stringify({ format: DATA_FORMAT, writtenBy: VERSION })}\n`);
}

/** Returns undefined for a folder from before there was such a file, which is format 1. */
function readFormat(path: string): FormatFile | undefined {
  const text = readIfThere(path);
  if (text === undefined) return undefined;
  const { format, writtenBy } = parse(text, path);
  if (typeof format !== 'number')
    throw new SetupError(
      `${path} names no format; remove it if svc-runner ${VERSION} or older wrote this folder`,
    );
  return { format, writtenBy: typeof writtenBy === 'string' ? writtenBy : 'of a later release' };
}

function parse(text: string, path: string): Partial<FormatFile> {
  try {
    return (JSON.parse(text) as Partial<FormatFile> | null) ?? {};
  } catch {
    throw new SetupError(
      `${path} is unreadable; remove it if svc-runner ${VERSION} or older wrote this folder`,
    );
  }
}
