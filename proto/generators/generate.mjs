// `npm run generate` [--check]: the generators are TypeScript, which this Node runs through tsx.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('./generate.ts', import.meta.url));
const { status } = spawnSync(
  process.execPath,
  ['--import', 'tsx', '--conditions=source', main, ...process.argv.slice(2)],
  { stdio: 'inherit', cwd: fileURLToPath(new URL('../..', import.meta.url)) },
);
process.exitCode = status ?? 1;
