/** Puts programs of a test before those of the machine, in the PATH of this process. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from './temp-dir.ts';
import { whenDone } from './when-done.ts';

/** Has this process look for programs there until the test is done. */
export function usePath(path: string): void {
  const before = process.env['PATH'];
  process.env['PATH'] = path;
  whenDone(() => void (process.env['PATH'] = before));
}

/** Makes a program of each script of sh. */
export function programsFirst(programs: Readonly<Record<string, string>>): void {
  usePath(`${programsIn(tempDir(), programs)}:${process.env['PATH']}`);
}

/** Makes the programs in the folder; returns it. */
export function programsIn(folder: string, programs: Readonly<Record<string, string>>): string {
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
}
