/**
 * Writes files for the owner's eyes alone, replaced as a whole by a rename: whoever reads sees the old one or
 * the new one, also after a crash in the middle and with several processes at it.
 */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Counts drafts: several writes at once in one process have a draft of their own each. */
let drafts = 0;

/** Rejects with the error of the file system, and the old file is then still there. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  drafts += 1;
  const draft = `${path}.${process.pid}.${drafts}.tmp`;
  await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
  try {
    // A left-over draft may have any mode, and `mode` counts for new files only.
    await rm(draft, { force: true });
    await writeFile(draft, text, { mode: FILE_MODE, flag: 'wx' });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
