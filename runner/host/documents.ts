/**
 * The documents of what this runner should host, as the control plane said last. They are kept on the disk: a
 * daemon that starts while the control plane is away goes on with what it had.
 */
import { join } from 'node:path';
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
  const folder = join(dataDir, 'host');
  const path = join(folder, 'documents.json');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const all = new Map(read(path, log).map((document) => [document.environmentId, document]));
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

/** A file that cannot be read is as good as none: the control plane says all of it again. */
function read(path: string, log: Log): readonly WireHostApp[] {
  try {
    return JSON.parse(readIfThere(path) ?? '[]') as WireHostApp[];
  } catch (error) {
    log.warn({ path, problem: errorText(error) }, 'what this runner hosts is asked for anew');
    return [];
  }
}
