/**
 * The package as its users get it: its size, its two module kinds, and types that hold under each resolution.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSdk } from './build.mjs';
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

describe('a project that uses the built package', () => {
  let project = '';
  const usage = `
    const sdk: SvcSDK = createSvcSDK({ baseUrl: 'http://localhost:1', maxRetries: 0 });
    export async function names(): Promise<string[]> {
      const all: string[] = [];
      for await (const project of sdk.projects.list()) all.push(project.name);
      const { data, requestId } = await sdk.projects.get('p', { signal: AbortSignal.timeout(1) }).withResponse();
      all.push(data.name, requestId ?? '');
      try {
        await sdk.projects.get('p');
      } catch (error) {
        if (error instanceof SvcApiError) all.push(error.code);
      }
      return all;
    }
    // @ts-expect-error: options are checked
    createSvcSDK({ baseUrl: 1 });
  `;

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'svc-sdk-'));
    const installed = join(project, 'node_modules', '@svc', 'sdk');
    await mkdir(installed, { recursive: true });
    await buildSdk({ outDir: join(installed, 'dist') });
    await cp(join(here, 'package.json'), join(installed, 'package.json'));
    await writeFile(
      join(project, 'esm.mts'),
      `import { createSvcSDK, SvcApiError, type SvcSDK } from '@svc/sdk';${usage}`,
    );
    await writeFile(
      join(project, 'cjs.cts'),
      `import { createSvcSDK, SvcApiError, type SvcSDK } from '@svc/sdk';${usage}`,
    );
  });
  afterAll(() => rm(project, { recursive: true, force: true }));

  const strict = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--noUncheckedIndexedAccess',
    '--target',
    'es2022',
  ];
  const web = ['--lib', 'es2023,dom,dom.iterable,dom.asynciterable', '--types', ''];
  it.each([
    ['node16, as ES module and as CommonJS', ['esm.mts', 'cjs.cts'], ['--module', 'node16']],
    ['nodenext', ['esm.mts'], ['--module', 'nodenext']],
    ['bundler', ['esm.mts'], ['--module', 'esnext', '--moduleResolution', 'bundler']],
  ])('compiles it under %s, libraries checked too', async (_name, files, resolution) => {
    const args = [...strict, ...web, ...resolution, '--skipLibCheck', 'false', ...files];
    expect(await complaints(project, ...args)).toBe('');
  });

  it.each([
    [
      'import',
      [
        '--input-type=module',
        '-e',
        `import { createSvcSDK } from '@svc/sdk'; console.log(typeof createSvcSDK().projects.list);`,
      ],
    ],
    ['require', ['-e', `console.log(typeof require('@svc/sdk').createSvcSDK().projects.list);`]],
  ])('runs it with %s', async (_name, args) => {
    expect((await run(process.execPath, args, { cwd: project })).stdout.trim()).toBe('function');
  });
});
