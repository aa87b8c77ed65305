/** The registry that the last build was to be pushed to: the doctor's default. It holds no credentials. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface PushedImage {
  host: string;
  /** `host/namespace/repository` */
  name: string;
}

const pathIn = (dataDir: string) => join(dataDir, 'last-registry');

/** A failure to write is ignored, and the file is not synced: no build may fail for it. */
export async function noteRegistry(dataDir: string, { host, name }: PushedImage): Promise<void> {
  const namespace = name
    .slice(host.length + 1)
    .split('/')
    .slice(0, -1);
  await writeFile(pathIn(dataDir), `${[host, ...namespace].join('/')}\n`, { mode: 0o600 }).catch(
    () => undefined,
  );
}

/** Returns `host[/namespace]`; undefined when no build was pushed from here yet. */
export async function lastRegistry(dataDir: string): Promise<string | undefined> {
  const text = await readFile(pathIn(dataDir), 'utf8').catch(() => '');
  return text.trim() || undefined;
}
