/** Makes an empty folder for the tests of one block, or of a file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

export function useFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
