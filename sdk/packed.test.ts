/**
 * Uses the package as strangers get it: packed once, installed into an empty folder, and used from there by
 * each kind of module, under each resolution of modules, and by every runtime that the machine has.
 */
import { execFile, execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const here = import.meta.dirname;
const root = join(here, '..');
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');

let folder = '';
let project = '';
let files: readonly string[] = [];

/** Packs a copy, because `prepack` writes `dist`, which programs may be running from. */
async function pack(): Promise<string> {
  const copy = join(folder, 'packed', 'sdk');
  const isSource = (path: string): boolean => !/^(dist|node_modules)\b/.test(relative(here, path));
  await cp(here, copy, { recursive: true, filter: isSource });
  await cp(join(root, 'tsconfig.json'), join(folder, 'packed', 'tsconfig.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'packed', 'node_modules'));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: copy });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  if (packed === undefined) throw new Error(`npm pack printed ${stdout}`);
  files = packed.files.map(({ path }) => path);
  return join(folder, packed.filename);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-sdk-'));
  const tarball = await pack();
  project = join(folder, 'user');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "name": "user", "private": true }\n');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: project });
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the tarball', () => {
  const installed = (...path: string[]) => join(project, 'node_modules', '@svc', 'sdk', ...path);

  it('holds what is built, a README and licences, and no source', () => {
    const top = files.filter((path) => !path.startsWith('dist/types/'));
    expect(new Set(top)).toEqual(
      new Set([
        'LICENSE',
        'README.md',
        'package.json',
        'dist/ci-definitions.cjs',
        'dist/ci-definitions.js',
        'dist/failure-signature.cjs',
        'dist/failure-signature.js',
        'dist/index.cjs',
        'dist/index.js',
        'dist/yaml.LICENSE',
      ]),
    );
    const types = files.filter((path) => path.startsWith('dist/types/'));
    expect(types.length).toBeGreaterThan(100);
    expect(types.filter((path) => !/\.d\.ts$|cjs\/package\.json$/.test(path))).toEqual([]);
  });

  it('says what it is, and leads to files that are there', async () => {
    const manifest = JSON.parse(await readFile(installed('package.json'), 'utf8')) as {
      exports: Record<string, string | Record<'import' | 'require', Record<'types' | 'default', string>>>;
    };
    expect(manifest).toMatchObject({
      license: 'UNLICENSED',
      repository: { type: 'git', directory: 'sdk' },
      sideEffects: false,
      type: 'module',
    });
    const targets = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'string'
        ? [entry]
        : [entry.import, entry.require].flatMap(({ types, default: code }) => [types, code]),
    );
    expect(targets.length).toBe(13);
    expect(targets.filter((path) => !existsSync(installed(path)))).toEqual([]);
  });

  it('has types with their descriptions', async () => {
    for (const kind of ['esm', 'cjs']) {
      const text = await readFile(installed('dist', 'types', kind, 'gen', 'projects.d.ts'), 'utf8');
      expect(text).toContain('* Awaited, it is every item of all pages');
      expect(text).toContain('list(params?: ProjectsListParams & CallOptions');
    }
  });
});

/** The event that the programs below verify. */
const secret = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`;
const body = JSON.stringify({
  type: 'webhook.test',
  timestamp: '2027-01-15T08:00:00Z',
  data: { teamId: 't' },
});

function signed(): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`msg_1.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': 'msg_1', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

const program = (): string => `
const pages = [{ projects: [{ id: 'a' }], nextCursor: 'c' }, { projects: [{ id: 'b' }] }];
const sdk = createSvcSDK({ fetch: async () => Response.json(pages.shift()) });
const message = (work) => Promise.resolve().then(work).then(() => '', (error) => error.name + ': ' + error.message);
const headers = ${JSON.stringify(signed())};
const main = async () => ({
  ids: (await sdk.projects.list()).map(({ id }) => id),
  event: (await verifyWebhook(${JSON.stringify(body)}, new Headers(headers), ${JSON.stringify(secret)})).type,
  forged: await message(() => verifyWebhook('{}', headers, ${JSON.stringify(secret)})),
  option: await message(() => createSvcSDK({ baseURL: 'http://a' })),
  definitions: typeof ciDefinitions.parseDefinition,
});
main().then((found) => console.log(JSON.stringify(found)));
`;

describe('a program that uses the installed package', () => {
  const isThere = (runtime: string): boolean => {
    try {
      execFileSync(runtime, ['--version'], { stdio: 'ignore', timeout: 10_000 });
      return true;
    } catch {
      return false; // It is not on this machine, or does not start.
    }
  };
  const esm = `import { createSvcSDK, verifyWebhook } from '@svc/sdk';
import * as ciDefinitions from '@svc/sdk/ci-definitions';`;
  const cjs = `const { createSvcSDK, verifyWebhook } = require('@svc/sdk');
const ciDefinitions = require('@svc/sdk/ci-definitions');`;

  const runs = async (command: string, args: readonly string[], head: string): Promise<void> => {
    const name = args.at(-1) ?? '';
    await writeFile(join(project, name), `${head}${program()}`);
    const { stdout } = await run(command, [...args], { cwd: project });
    expect(JSON.parse(stdout)).toEqual({
      ids: ['a', 'b'],
      event: 'webhook.test',
      forged: expect.stringMatching(/^SvcWebhookError: no v1 signature/) as string,
      option: 'TypeError: createSvcSDK: unknown option "baseURL", did you mean "baseUrl"?',
      definitions: 'function',
    });
  };

  it('runs as an ES module', async () => runs(process.execPath, ['use.mjs'], esm));
  it('runs as CommonJS', async () => runs(process.execPath, ['use.cjs'], cjs));
  // The package needs neither of them: where one is missing, there is nothing to skip.
  it.each(['bun', 'deno'].filter(isThere))('runs with %s', async (runtime) =>
    runs(runtime, ['run', `${runtime}.mjs`], esm),
  );
});

const usage = `
import { createSvcSDK, SvcApiError, SvcWebhookError, verifyWebhook } from '@svc/sdk';
import type { Build, CallOptions, ProjectsListParams, SvcSDK, SvcSDKOptions, WebhookEvent } from '@svc/sdk';
import { parseDefinition } from '@svc/sdk/ci-definitions';

const options: SvcSDKOptions = { baseUrl: 'http://localhost:1', maxRetries: 0 };
const sdk: SvcSDK = createSvcSDK(options);
const call: CallOptions = { signal: AbortSignal.timeout(1), idempotencyKey: 'k' };
const params: ProjectsListParams = { limit: 5 };

export async function names(): Promise<string[]> {
  const all: string[] = (await sdk.projects.list({ ...params, ...call })).map(({ name }) => name);
  for await (const project of sdk.projects.list()) all.push(project.name);
  for await (const { items, nextCursor = '' } of sdk.compliance.list('t', { limit: 3 }).pages())
    all.push(nextCursor, ...items.map(({ id }) => id));
  const { projects, nextCursor } = await sdk.projects.listPage({ limit: 5 }, call);
  const builds: Build[] = [...(await sdk.builds.list('e', 2)), ...(await sdk.builds.list('e', { limit: 2 }))];
  const { data, requestId } = await sdk.projects.get('p', call).withResponse();
  all.push(data.name, requestId ?? '', nextCursor ?? '', ...projects.map(({ id }) => id), ...builds.map(({ id }) => id));
  try {
    for await (const event of sdk.builds.streamLogs('e', 'b', { follow: false })) all.push(event.text ?? '');
  } catch (error) {
    if (error instanceof SvcApiError) all.push(error.code);
  }
  return all;
}

export async function take(request: Request): Promise<string> {
  const event: WebhookEvent = await verifyWebhook(await request.text(), request.headers, 'whsec_');
  const of = { 'webhook-id': 'a', accept: ['b', 'c'], other: undefined };
  await verifyWebhook(new Uint8Array(), of, 'whsec_').catch((error: unknown) => {
    if (error instanceof SvcWebhookError) return error.code === 'signature_invalid';
    throw error;
  });
  return event.type === 'run.finished' ? event.data.teamId : typeof parseDefinition;
}

// @ts-expect-error: options are checked
createSvcSDK({ baseURL: 'http://localhost:1' });
// @ts-expect-error: parameters are checked
void sdk.projects.list({ limit: '5' });
// @ts-expect-error: what may be left out may not be undefined
void sdk.projects.list({ limit: undefined });
`;

describe('TypeScript that uses the installed package', () => {
  const strict =
    '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck false --target es2022';
  const web = '--lib es2023,dom,dom.iterable,dom.asynciterable --types';
  const node = `--lib es2023 --types node --typeRoots ${join(root, 'node_modules', '@types')}`;
  it.each([
    ['nodenext with the types of Node alone', node, '--module nodenext'],
    ['bundler with those of browsers alone', `${web} `, '--module preserve --moduleResolution bundler'],
  ])(
    'compiles under %s, strictly, as ES module and as CommonJS, libraries too',
    async (_name, lib, resolution) => {
      for (const file of ['use.mts', 'use.cts']) await writeFile(join(project, file), usage);
      const args = [...strict.split(' '), ...lib.split(' '), ...resolution.split(' ')];
      const complaints = await run(process.execPath, [tsc, ...args, 'use.mts', 'use.cts'], {
        cwd: project,
      }).then(
        () => '',
        (error: unknown) =>
          error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error),
      );
      expect(complaints).toBe('');
    },
  );
});
