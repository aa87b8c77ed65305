/**
 * The folders of the edge, all below `<dataDir>/edge`, which is closed to other users. The one in which nginx
 * runs lets its workers through, who are another user where root starts them.
 */
import { chmod, mkdir } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PRIVATE = 0o700;
const PASSABLE = 0o711;
/** Users under whom distributions run nginx; the last one is on every machine. */
const USERS = ['www-data', 'nginx', 'nobody'];

export type Folders = Awaited<ReturnType<typeof makeFolders>>;

export async function makeFolders(dataDir: string) {
  const edge = join(dataDir, 'edge');
  const nginx = join(edge, 'nginx');
  const below = (name: string) => join(edge, name);
  const closed = { acme: below('acme'), certificates: below('certificates'), proofs: below('proofs') };
  for (const folder of [edge, ...Object.values(closed)]) await make(folder, PRIVATE);
  for (const folder of [nginx, ...['logs', 'temp', 'challenges'].map((name) => join(nginx, name))])
    await make(folder, PASSABLE);
  return { edge, nginx, ...closed };
}

async function make(folder: string, mode: number): Promise<void> {
  await mkdir(folder, { recursive: true, mode });
  // The umask may have taken bits.
  await chmod(folder, mode);
}

/** Undefined where the daemon is not root: the workers then are who it is. */
export function workerUser(): string | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const known = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':')[0]);
  return USERS.find((user) => known.includes(user));
}
