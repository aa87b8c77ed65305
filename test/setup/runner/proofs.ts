/**
 * The proofs that builds and apps are contained on this machine, each of which costs as much as a build. The
 * data folders of one run of the tests share them, as the starts of one daemon do; a proof names what it is
 * of (kernel, engine, users), and another machine or engine makes its own.
 */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whenDone } from './when-done.ts';

const NAMES = ['containment.json', 'app-containment.json'];
/** It goes with the run (test/setup/worlds.ts). */
const FOLDER = join(tmpdir(), `${process.env['SVC_TEST_RUN']}_proofs`);

export function shareProofs(dataDir: string): void {
  if (process.env['SVC_TEST_RUN'] === undefined) return;
  copyProofs(FOLDER, dataDir);
  whenDone(() => copyProofs(dataDir, FOLDER));
}

function copyProofs(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of NAMES) if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name));
}
