/**
 * `npm run generate` writes everything that is generated from the contracts. With `--check` it says what is
 * stale, and writes nothing.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OUTPUT_FOLDERS, type Outputs, filesBelow, generate } from './outputs.ts';

export interface Drift {
  readonly path: string;
  readonly kind: 'missing' | 'changed' | 'superfluous';
}

/** It lists the differences between the outputs and the files on disk. */
export function drift(root: string, outputs: Outputs): Drift[] {
  const found: Drift[] = [];
  for (const [path, text] of outputs) {
    const current = readIfThere(join(root, path));
    if (current !== text) found.push({ path, kind: current === undefined ? 'missing' : 'changed' });
  }
  for (const folder of OUTPUT_FOLDERS) {
    for (const file of filesBelow(join(root, folder))) {
      const path = `${folder}/${file}`;
      if (!outputs.has(path)) found.push({ path, kind: 'superfluous' });
    }
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

export function write(root: string, outputs: Outputs, changes: readonly Drift[]): void {
  for (const { path, kind } of changes) {
    const file = join(root, path);
    if (kind === 'superfluous') {
      rmSync(file);
      continue;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, outputs.get(path) ?? '');
  }
}

/** It is what the command line runs. */
export async function main(root: string, args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) => arg !== '--check');
  if (unknown !== undefined) {
    console.error(`unknown argument "${unknown}"; allowed is --check`);
    return 2;
  }
  const outputs = await generate(root);
  const changes = drift(root, outputs);
  if (!args.includes('--check')) {
    write(root, outputs, changes);
    console.log(`generated ${outputs.size} files, ${changes.length} changed`);
    return 0;
  }
  if (changes.length === 0) {
    console.log(`generated code is fresh (${outputs.size} files)`);
    return 0;
  }
  console.error(`${changes.length} generated files are stale; run "npm run generate" and commit:`);
  for (const { path, kind } of changes) console.error(`  ${kind.padEnd(11)} ${path}`);
  return 1;
}
