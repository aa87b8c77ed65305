/** Checks the package before it is packed: its size, what it needs, its version. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { SDK_VERSION } from './core/version.ts';

const run = promisify(execFile);
const here = import.meta.dirname;
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
const CORE_BYTES_MAX = 15 * 1024;

async function gzippedBundle(source: string): Promise<number> {
  const result = await build({
    stdin: { contents: source, resolveDir: here, loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
  });
  return gzipSync(result.outputFiles[0]?.contents ?? new Uint8Array(), { level: 9 }).length;
}

/** Runs the compiler; gives its complaints, empty when there are none. */
async function complaints(folder: string, ...args: string[]): Promise<string> {
  try {
    await run(process.execPath, [tsc, ...args], { cwd: folder });
    return '';
  } catch (error) {
    return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
  }
}

describe('the package', () => {
  it('has a core of at most 15 KB, minified and gzipped', async () => {
    const core = await gzippedBundle(`export * from './core/client.ts'; export * from './core/errors.ts';`);
    const whole = await gzippedBundle(`export * from './index.ts';`);
    console.log(`sdk, gzipped: core ${core} B, with all resources ${whole} B`);
    expect(core).toBeLessThanOrEqual(CORE_BYTES_MAX);
    expect(whole).toBeGreaterThan(core);
  });

  it('needs nothing of Node: it compiles against web types alone and imports no module', async () => {
    expect(await complaints(here, '-p', join(here, 'tsconfig.json'))).toBe('');
    await expect(gzippedBundle(`export * from './index.ts';`)).resolves.toBeGreaterThan(0);
  });

  it('has one version', async () => {
    const manifest: unknown = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ version: SDK_VERSION });
    expect(manifest).not.toHaveProperty('dependencies');
  });
});
