/** Makes a folder for one test, or for what a file shares, which is removed afterwards. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whenDone } from './when-done.ts';

export function tempDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-runner-'));
  chmodSync(path, 0o700);
  whenDone(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
