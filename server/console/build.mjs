/**
 * Bundles the console into a folder of files with hashed names, an index.html that names them, and a manifest of the addresses that
 * the page is served at: one for each folder in pages/.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));

/** Everything that is served, by file name, and `manifest.json`. Source maps are made, and then served, only when asked for. */
export async function bundleConsole({ sourcemap = false } = {}) {
  const { outputFiles } = await build({
    entryPoints: [join(here, 'main.tsx'), join(here, 'styles', 'style.css')],
    outdir: here,
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    write: false,
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
  const files = new Map(outputFiles.map(({ path, contents }) => [path.slice(here.length + 1), contents]));
  const icon = await readFile(join(here, 'icon.svg'));
  const iconHash = createHash('sha256').update(icon).digest('hex').slice(0, 8).toUpperCase();
  files.set(`icon-${iconHash}.svg`, icon);
  let html = await readFile(join(here, 'index.html'), 'utf8');
  for (const name of files.keys()) {
    html = html.replace(`{{${name.replace(/-[0-9A-Z]{8}(?=\.)/, '')}}}`, `/console/assets/${name}`);
  }
  const folders = await readdir(join(here, 'pages'), { withFileTypes: true });
  const pages = folders.filter((each) => each.isDirectory() && each.name !== 'home').map(({ name }) => name);
  const assets = [...files.keys()];
  files.set('index.html', Buffer.from(html));
  files.set('manifest.json', Buffer.from(JSON.stringify({ pages: pages.sort(), assets })));
  return files;
}

/** Writes the manifest last: a folder that has one is complete. */
export async function buildConsole({ outDir, sourcemap = false }) {
  const files = await bundleConsole({ sourcemap });
  await mkdir(outDir, { recursive: true });
  for (const [name, contents] of files) await writeFile(join(outDir, name), contents);
}
