/** Measures free space, for the admission of work and for diagnostics. */
import { statfs } from 'node:fs/promises';

export const MEBIBYTE = 1_048_576;

/** Free space for an unprivileged process on the disk that holds `path`, in MiB. */
export async function freeMb(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return Math.floor((bavail * bsize) / MEBIBYTE);
}
