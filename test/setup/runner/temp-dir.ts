/** Makes a folder for one test, or for what a file shares, which is removed afterwards. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedByFile, whenDone } from './when-done.ts';

export function tempDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-runner-'));
  chmodSync(path, 0o700);
  whenDone(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Makes one folder for all tests of the describe block or file. */
export const sharedDir = (): (() => string) => sharedByFile(async () => tempDir());

/** Makes a folder on a disk of 64 KiB; the test is skipped where none can be mounted. */
export function smallDisk(skip: (note: string) => never): string {
  const folder = tempDir();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    skip('a small disk needs the right to mount a tmpfs');
  }
  whenDone(() => void execFileSync('umount', ['-l', folder]));
  return folder;
}
