/**
 * Files that survive a crash: a write that has resolved is on the disk, and a reader sees the old text or the
 * new one, never half.
 */
import { readFileSync } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from '../platform/errors.ts';

/**
 * The file is replaced as a whole: its new text is written beside it, synced and renamed, and the folder is
 * synced, so that the name itself is durable.
 */
export async function writeDurably(path: string, text: string | Uint8Array, mode = 0o600): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = await open(temporary, 'w', mode);
  try {
    // The umask may have taken bits, and an older temporary file may have had more.
    await file.chmod(mode);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/** Deletes a file if it exists. */
export async function removeDurably(path: string): Promise<void> {
  await removeIfThere(path);
  await syncFolder(dirname(path));
}

export async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Renames and deletions in a folder are durable only after the folder itself was synced. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Reads a text; undefined stands for a file that is not there. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
