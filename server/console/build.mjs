/**
 * Bundles the console into a folder of files with hashed names, an index.html that names them, and a manifest
 * of the files.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const ASSETS = '/console/assets/';

/**
 * Everything that is served, by file name, and `manifest.json`. Source maps are made, and then served, only
 * when asked for.
 */
export async function bundleConsole({ sourcemap = false } = {}) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: here,
    entryPoints: ['main.tsx', 'styles/style.css'],
    outdir: '.',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    conditions: ['source'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    sourcemap,
    logLevel: 'warning',
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  const icon = await readFile(join(here, 'icon.svg'));
  const iconHash = createHash('sha256').update(icon).digest('hex').slice(0, 8).toUpperCase();
  files.set(`icon-${iconHash}.svg`, icon);
  const assets = [...files.keys()];
  files.set('index.html', Buffer.from(await documentOf(assets, firstScripts(metafile))));
  files.set('manifest.json', Buffer.from(JSON.stringify({ assets })));
  return files;
}

/**
 * Lists what main.tsx needs before it can run: the browser fetches it together with main.tsx, not after it.
 */
function firstScripts({ outputs }) {
  const [, main] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === 'main.tsx') ?? [];
  return main.imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => basename(path));
}

async function documentOf(assets, scripts) {
  const html = await readFile(join(here, 'index.html'), 'utf8');
  return html.replace(/\{\{([\w.]+)\}\}/g, (_, name) => {
    if (name === 'preload')
      return scripts.map((each) => `<link rel="modulepreload" href="${ASSETS}${each}" />`).join('');
    const asset = assets.find((each) => each.replace(/-[0-9A-Z]{8}(?=\.)/, '') === name);
    if (asset === undefined) throw new Error(`index.html names ${name}, which the build did not make`);
    return `${ASSETS}${asset}`;
  });
}

/**
 * Writes the manifest last: a folder that has one is complete. A server that starts meanwhile finds each file
 * whole, as it was or as it is now.
 */
export async function buildConsole({ outDir, sourcemap = false }) {
  const files = await bundleConsole({ sourcemap });
  await mkdir(outDir, { recursive: true });
  for (const [name, contents] of files) {
    const written = join(outDir, `.${name}.${randomUUID()}`);
    await writeFile(written, contents);
    await rename(written, join(outDir, name));
  }
}
