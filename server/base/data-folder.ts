/** DATA_DIR before anything is kept there: what is wrong with it is said once, by its name. */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError } from '@svc/proto/process/settings.ts';

/** Makes the folder where it is missing, and writes there. Throws a ConfigError. */
export function prepareDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir);
    const probe = join(dataDir, `.probe.${process.pid}`);
    writeFileSync(probe, 'x', { mode: 0o600 });
    rmSync(probe);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError([
      `DATA_DIR is "${dataDir}", expected a folder that this server can make and write: ${why}`,
    ]);
  }
}

/** Makes one level after the other, because `recursive` of Node never ends below /proc. */
function makeFolder(folder: string): void {
  const missing: string[] = [];
  let at = folder;
  for (; !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.unshift(at);
  if (!statSync(at).isDirectory()) throw new Error(`${at} is no folder`);
  for (const each of missing) {
    try {
      mkdirSync(each, { mode: 0o711 });
    } catch (error) {
      // Another server may make it at the same time.
      if (!existsSync(each) || !statSync(each).isDirectory()) throw error;
    }
  }
}

/**
 * The database that the server starts takes its log in pieces of this size, and ends where there is no room
 * for one.
 */
const ROOM_BYTES_MIN = 16 * 1024 * 1024;

/** Says so while the disk of the server's own database is full. */
export async function fullDisk({
  databaseUrl,
  dataDir,
}: {
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
}): Promise<string | undefined> {
  if (databaseUrl !== undefined) return undefined;
  const { bavail, bsize } = await statfs(dataDir);
  const bytes = bavail * bsize;
  return bytes < ROOM_BYTES_MIN
    ? `the disk of DATA_DIR is full: ${bytes} bytes are free, the database needs ${ROOM_BYTES_MIN}`
    : undefined;
}
