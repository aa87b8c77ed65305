/**
 * Builds the package: one ESM and one CommonJS bundle, and declarations for both module kinds, because a
 * `require` in TypeScript may not be answered with the types of an ES module.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const folderOf = (name) => dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
const tsc = join(folderOf('typescript'), 'bin', 'tsc');

/**
 * Entries of the package. The readers of CI files have what they need bundled into them: the client has no
 * part in it, and the package no dependency.
 */
const ENTRIES = [
  ['index.ts', 'index'],
  ['ci-definitions/index.ts', 'ci-definitions'],
  ['failure-signature/index.ts', 'failure-signature'],
];

/**
 * Writes a module of each kind per entry and, unless `types` is false, `types/` into `outDir`, default
 * `sdk/dist`.
 */
export async function buildSdk({ outDir = join(here, 'dist'), types = true } = {}) {
  await rm(outDir, { recursive: true, force: true });
  await mkdir(outDir, { recursive: true });
  const bundles = ENTRIES.flatMap(([source, name]) => [
    bundle('esm', source, join(outDir, `${name}.js`)),
    bundle('cjs', source, join(outDir, `${name}.cjs`)),
  ]);
  // Its licence wants to be in every copy.
  const licence = cp(join(folderOf('yaml'), 'LICENSE'), join(outDir, 'yaml.LICENSE'));
  await Promise.all([...bundles, licence, ...(types ? [declare(outDir)] : [])]);
}

async function bundle(format, source, outfile) {
  await build({
    entryPoints: [join(here, source)],
    outfile,
    format,
    bundle: true,
    platform: 'neutral',
    target: 'es2022',
    logLevel: 'warning',
  });
}

async function declare(outDir) {
  const esm = join(outDir, 'types', 'esm');
  const cjs = join(outDir, 'types', 'cjs');
  const emit = [
    '--noEmit',
    'false',
    '--declaration',
    '--emitDeclarationOnly',
    '--rootDir',
    here,
    '--outDir',
    esm,
  ];
  await promisify(execFile)(process.execPath, [tsc, '-p', join(here, 'tsconfig.json'), ...emit]);
  for (const file of await readdir(esm, { recursive: true })) {
    if (!file.endsWith('.d.ts')) continue;
    const path = join(esm, file);
    // The sources import `./x.ts`; in the package there is only `./x.d.ts`, which is found under the name
    // `./x.js`.
    const text = (await readFile(path, 'utf8')).replace(/(from '\.[^']*)\.ts'/g, "$1.js'");
    await writeFile(path, text);
  }
  await cp(esm, cjs, { recursive: true });
  await writeFile(join(cjs, 'package.json'), '{ "type": "commonjs" }\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildSdk();
