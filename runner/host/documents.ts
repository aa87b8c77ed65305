/**
 * The documents of what this runner should host, as the control plane said last. They are kept on the disk: a
 * daemon that starts while the control plane is away goes on with what it had.
 */
import { dirname, join } from 'node:path';
import { mkdirSync } from 'node:fs';
import type { WireHostApp } from '../control-plane/wire.ts';
import { readIfThere, writeDurably } from '../disk/durable-file.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';

export interface Documents {
  readonly all: ReadonlyMap<string, WireHostApp>;
  /** Resolves when the change is on the disk. */
  change(put: readonly WireHostApp[], remove?: readonly string[]): Promise<void>;
}

export function openDocuments(dataDir: string, log: Log): Documents {
  const path = pathOf(dataDir);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const all = new Map(read(dataDir, log).map((document) => [document.environmentId, document]));
  return {
    all,
    async change(put, remove = []) {
      if (put.length === 0 && !remove.some((id) => all.has(id))) return;
      for (const document of put) all.set(document.environmentId, document);
      for (const id of remove) all.delete(id);
      await writeDurably(path, JSON.stringify([...all.values()]));
    },
  };
}

const pathOf = (dataDir: string): string => join(dataDir, 'host', 'documents.json');

/** Throws for a file that cannot be read; one that is not there is empty. */
export function readDocuments(dataDir: string): readonly WireHostApp[] {
  return JSON.parse(readIfThere(pathOf(dataDir)) ?? '[]') as WireHostApp[];
}

/** A file that cannot be read is as good as none: the control plane says all of it again. */
function read(dataDir: string, log: Log): readonly WireHostApp[] {
  try {
    return readDocuments(dataDir);
  } catch (error) {
    log.warn(
      { path: pathOf(dataDir), problem: errorText(error) },
      'what this runner hosts is asked for anew',
    );
    return [];
  }
}
