/** Makes a folder for one test, which is removed afterwards. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export function tempDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-runner-'));
  chmodSync(path, 0o700);
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
