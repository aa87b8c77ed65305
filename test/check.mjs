/**
 * Runs `npm run check`, which finds everything that can be wrong without running the product. It prints one
 * line a step and the whole output of a step that failed; all steps run, so that one look shows everything.
 */
import { spawn } from 'node:child_process';

const STEPS = [
  ['format', 'npx', ['oxfmt', '--check']],
  ['lint', 'npx', ['oxlint', '--deny-warnings']],
  ['types', 'npx', ['tsc', '-p', 'tsconfig.json']],
  ['types of the SDK without Node', 'npx', ['tsc', '-p', 'sdk/tsconfig.json']],
  ['types of the console', 'npx', ['tsc', '-p', 'server/console/tsconfig.json']],
  ['generated code is fresh', 'node', ['proto/generators/generate.mjs', '--check']],
  ['reference pages are fresh', 'npm', ['run', '-s', 'reference', '--', '--check']],
  ['contracts: lint, breaking, surface', 'node', ['proto/generators/lint.mjs']],
  ['schema.ts and the migrations agree', 'npm', ['run', '-s', 'migration']],
  ['imports, tables, sizes, words', 'npx', ['vitest', 'run', 'test/tidy']],
  ['documents: commands, files, links', 'npx', ['vitest', 'run', 'test/docs.test.ts']],
];

function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    child.on('error', (error) => resolve({ code: 1, output: String(error) }));
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

let failed = 0;
for (const [name, command, args] of STEPS) {
  const startedAt = performance.now();
  const { code, output } = await run(command, args);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
  if (code !== 0) {
    failed += 1;
    console.log(output.trimEnd());
  }
}
if (failed > 0) console.log(`${failed} of ${STEPS.length} checks failed`);
process.exitCode = failed > 0 ? 1 : 0;
