/** The registry that the last build was to be pushed to: what the doctor looks at when it is told no other. No credentials. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface PushedImage {
  host: string;
  /** `host/namespace/repository` */
  name: string;
}

const pathIn = (dataDir: string) => join(dataDir, 'last-registry');

/** Worth no failure of a build, and no sync. */
export async function noteRegistry(dataDir: string, { host, name }: PushedImage): Promise<void> {
  const namespace = name
    .slice(host.length + 1)
    .split('/')
    .slice(0, -1);
  await writeFile(pathIn(dataDir), `${[host, ...namespace].join('/')}\n`, { mode: 0o600 }).catch(
    () => undefined,
  );
}

/** `host[/namespace]`; undefined: no build was pushed from here yet. */
export async function lastRegistry(dataDir: string): Promise<string | undefined> {
  const text = await readFile(pathIn(dataDir), 'utf8').catch(() => '');
  return text.trim() || undefined;
}
