// The generators are TypeScript, which this Node runs through tsx in a process of its own.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * It runs a TypeScript file of this folder at the root of the repository, with the arguments of this process.
 */
export function runTypeScript(file) {
  const { status } = spawnSync(
    process.execPath,
    [
      '--import',
      'tsx',
      '--conditions=source',
      fileURLToPath(new URL(file, import.meta.url)),
      ...process.argv.slice(2),
    ],
    { stdio: 'inherit', cwd: fileURLToPath(new URL('../..', import.meta.url)) },
  );
  process.exitCode = status ?? 1;
}
