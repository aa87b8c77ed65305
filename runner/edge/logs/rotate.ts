/**
 * Rotates the logs of nginx: a file that is large enough is renamed, older ones move up, the oldest goes, and
 * nginx is told to write to new files.
 */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { removeIfThere } from '../../disk/durable-file.ts';
import { logFiles, type Position } from './tail.ts';

export const FILES = { access: 'access.log', error: 'error.log' } as const;
export type LogKind = keyof typeof FILES;
export const KINDS: readonly LogKind[] = ['access', 'error'];
/** Positions of the reader in each. */
export type Ends = Partial<Record<LogKind, Position>>;

const FILE_BYTES_MAX = 50 * 1_048_576;
/** The one that is written to is among them. */
const FILES_MAX = 7;

export interface Rotating {
  /** The folder of the logs. */
  dir: string;
  /** Default 50 MB. */
  fileBytesMax?: number;
  reopen: () => void;
}

/** Says whether a file has become twice as large as one that is rotated. */
export async function isOverfull({ dir, fileBytesMax = FILE_BYTES_MAX }: Omit<Rotating, 'reopen'>) {
  const sizes = await Promise.all(KINDS.map(async (kind) => (await logFiles(dir, FILES[kind])).at(-1)?.size));
  return sizes.some((size = 0) => size >= 2 * fileBytesMax);
}

/** Returns where the reader is afterwards: one whose file is gone goes on with the next. */
export async function rotateLogs({ dir, reopen, fileBytesMax }: Rotating, ends: Ends): Promise<Ends> {
  const after = { ...ends };
  let isRotated = false;
  for (const kind of KINDS) {
    const base = join(dir, FILES[kind]);
    const files = await logFiles(dir, FILES[kind]);
    const current = files.at(-1);
    // The newest may be a part that was renamed a moment ago.
    if (current?.path !== base || current.size < (fileBytesMax ?? FILE_BYTES_MAX)) continue;
    const gone = files.slice(0, Math.max(0, files.length - FILES_MAX + 1));
    const next = files[gone.length];
    if (gone.some(({ inode }) => inode === ends[kind]?.inode) && next !== undefined)
      after[kind] = { inode: next.inode, offset: 0 };
    for (const { path } of gone) await removeIfThere(path);
    const kept = files.slice(gone.length);
    for (const [at, { path }] of kept.entries()) await rename(path, `${base}.${kept.length - at}`);
    isRotated = true;
  }
  if (isRotated) reopen();
  return after;
}
