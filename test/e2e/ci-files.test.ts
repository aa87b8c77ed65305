/**
 * Files of CI systems as they come: `ci validate` in a working tree and discovery at the repository's host
 * say the same of each, and what one team's repositories hold delays nobody else.
 */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../cli/shell/run.ts';
import { fakeIo } from '../../cli/testing/fake-io.ts';
import { has } from '../setup/needs.ts';
import { stranger } from '../setup/people.ts';
import { startBackground, type Background } from '../setup/forges/background.ts';
import { fakeRepository, type FakeFile } from '../setup/forges/fake-repository.ts';
import { githubTrees } from '../setup/forges/github-trees.ts';
import { waitFor } from '../setup/wait-for.ts';

const BYTES_MAX = 512 * 1024;
const CI = 'on: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n';
const utf16 = (text: string): Uint8Array => Buffer.from(text, 'utf16le');
/** A comment first, so that the file has so many bytes. */
const sized = (bytes: number, char = 'x'): Uint8Array => {
  const filler = char.repeat(Math.floor((bytes - CI.length - 2) / Buffer.byteLength(char)));
  return Buffer.from(`#${filler}${'x'.repeat(bytes - CI.length - 2 - Buffer.byteLength(filler))}\n${CI}`);
};

const FILES: Readonly<Record<string, FakeFile>> = {
  '.github/workflows/good.yml': CI,
  '.github/workflows/zero.yml': `${CI}# \0\n`,
  '.github/workflows/utf16.yml': utf16(CI),
  '.github/workflows/utf16-mark.yml': utf16(`\uFEFF${CI}`),
  '.github/workflows/latin1.yml': Buffer.from(`# caf\u00e9\n${CI}`, 'latin1'),
  '.github/workflows/empty.yml': '',
  '.github/workflows/limit.yml': sized(BYTES_MAX),
  '.github/workflows/limit-wide.yml': sized(BYTES_MAX, '\u20ac'),
  '.github/workflows/over.yml': sized(BYTES_MAX + 1),
  '.github/workflows/over-wide.yml': sized(BYTES_MAX + 3, '\u20ac'),
  '.github/workflows/link.yml': { link: 'good.yml' },
  '.github/workflows/twice.yml': CI.replace('on: push', 'on: push\non: push'),
  '.github/workflows/commas.yml': `on: [${','.repeat(500_000)}`,
  '.github/workflows/deep.yml': `on: push\na: ${'['.repeat(70)}`,
  '.buildkite': { link: '.github' },
  '.circleci/helper.yml': 'a: b\n',
  '.gitlab-ci.yml': { link: 'README.md' },
  'odd\u00e9.yml': Buffer.from([0x61, 0, 0xff]),
  'huge.yml': Buffer.alloc(BYTES_MAX + 1, 0x61),
  Jenkinsfile: "node {\n  sh 'make'\n",
  'Jenkinsfile.release': "node {\n  sh 'make'\n}\n",
  'azure-pipelines.yml':
    'steps:\n- script: x\n  ${{ if a }}: {b: c}\n  ${{ else }}: {b: c}\n  displayName: &x y\n',
  'README.md': { link: 'elsewhere' },
};

describe.skipIf(!(await has('postgres')))('files of CI systems', () => {
  let background: Background;
  let tree: string;
  beforeAll(async () => {
    background = await startBackground();
    tree = await mkdtemp(join(tmpdir(), 'svc-ci-files-'));
  });
  afterAll(async () => {
    await background.server.stop();
    await rm(tree, { recursive: true, force: true });
  });

  const connected = async (path: string, files: Readonly<Record<string, FakeFile>>): Promise<string> => {
    const forge = await background.startForge(githubTrees([repositoryOf(path, files)]));
    return await background.connect({
      provider: 'generic',
      host: 'github.com',
      path,
      token: 'x',
      apiUrl: forge.url,
    });
  };
  const repositoryOf = (path: string, files: Readonly<Record<string, FakeFile>>) => {
    const repository = fakeRepository(path, files);
    repository.token = 'x';
    return repository;
  };

  it('are the same to discovery and to ci validate', async () => {
    for (const [path, file] of Object.entries(FILES)) {
      await mkdir(dirname(join(tree, path)), { recursive: true });
      if (typeof file === 'object' && 'link' in file) await symlink(file.link, join(tree, path));
      else await writeFile(join(tree, path), file as string | Uint8Array);
    }
    const io = fakeIo({ env: { NO_COLOR: '1' } });
    expect(await run(['ci', 'validate', '--dir', tree, '--json'], io)).toBe(1);
    const { files, failed } = JSON.parse(io.out());
    type Said = { path: string; severity: string; message: string; line: number };
    const here = files.flatMap(({ path, problems }: { path: string; problems: readonly Said[] }) =>
      problems.map(({ severity, message }) => `${path} ${severity}: ${message}`),
    );

    const id = await connected('acme/files', FILES);
    await background.call(`POST /ci/connections/${id}/discover`, {});
    await background.work();
    const { body } = await background.call(`GET /ci/connections/${id}/discovery`);
    expect(body['state']).toBe('succeeded');
    const problems = body['problems'] as { path: string; message: string; fatal: boolean }[];
    const there = problems.map(
      ({ path, message, fatal }) => `${path} ${fatal ? 'error' : 'warning'}: ${message}`,
    );
    // Where the host tells the size, it is told; where it does not, or here, that there are more bytes than
    // the limit.
    const plain = (said: readonly string[]): readonly string[] =>
      said.map((one) => one.replace(/has (?:\d+|more than \d+) bytes/, 'has too many bytes')).sort();
    expect(plain(here)).toEqual(plain(there));
    const paths = (list: readonly { path: string }[]) => [...new Set(list.map(({ path }) => path))].sort();
    expect(paths(failed.map((path: string) => ({ path })))).toEqual(
      paths(problems.filter(({ fatal }) => fatal)),
    );
    const defined = files.filter(({ pipelines }: { pipelines: unknown[] }) => pipelines.length > 0);
    expect(paths(defined)).toEqual(paths(body['pipelines'] as { path: string }[]));
    expect(paths(defined)).toEqual([
      '.github/workflows/good.yml',
      '.github/workflows/latin1.yml',
      '.github/workflows/limit-wide.yml',
      '.github/workflows/limit.yml',
      'Jenkinsfile.release',
    ]);
    await background.clean();
  });

  it(
    'of one team delay neither other requests nor the discovery of another team',
    { timeout: 120_000 },
    async () => {
      const { server } = background;
      const pieces = [',', '"""', '*a *a ', '&x &x ', '{? ,', '[],', 'a: - ', '!a '];
      const hostile = Object.fromEntries(
        Array.from({ length: 16 }, (_, n) => {
          const piece = pieces[n % pieces.length] ?? ',';
          const bytes = [500_000, 110_000, 55_000][n % 3] ?? 500_000;
          return [`.github/workflows/h${n}.yml`, `on: [${piece.repeat(bytes / piece.length)}`];
        }),
      );
      const first = await connected('acme/hostile', hostile);
      const { token, teamId } = await stranger(server);
      const made = await server.call(`POST /teams/${teamId}/ci/connections`, {
        as: token,
        body: { provider: 'github', repositoryHost: 'github.com', repositoryPath: 'other/app' },
      });
      const second = String(made.body['id']);
      const forge = await background.startForge(
        githubTrees([repositoryOf('other/app', { '.github/workflows/ci.yml': CI })]),
      );
      await server.call(`PUT /ci/connections/${second}/token`, {
        as: token,
        body: { token: 'x', apiUrl: forge.url },
      });
      // The hostile one begins, then the other one.
      await background.call(`POST /ci/connections/${first}/discover`, {});
      const hostileWork = background.work();
      await server.call(`POST /ci/connections/${second}/discover`, { as: token, body: {} });
      let isOver = false;
      const began = performance.now();
      const asking = (async () => {
        const tookMs: number[] = [];
        while (!isOver) {
          const askedAt = performance.now();
          const { status } = await fetch(`${server.baseUrl}/healthz`);
          tookMs.push(status === 200 ? performance.now() - askedAt : Number.POSITIVE_INFINITY);
        }
        return tookMs;
      })();
      // Either worker may have taken it.
      await background.work();
      const discovery = async () =>
        (await server.call(`GET /ci/connections/${second}/discovery`, { as: token })).body;
      const hasEnded = ({ state }: Readonly<Record<string, unknown>>) =>
        state !== 'queued' && state !== 'running';
      const other = await waitFor('the other discovery', discovery, { holds: hasEnded });
      expect(other).toMatchObject({ state: 'succeeded', pipelines: [{}] });
      await hostileWork;
      isOver = true;
      const tookMs = await asking;
      expect(tookMs.length).toBeGreaterThan(20);
      // On the event loop of the server one file alone would take a tenth of it, and all of them nearly all.
      expect(tookMs.toSorted((a, b) => b - a)[1]).toBeLessThan((performance.now() - began) / 3);
      const { body } = await background.call(`GET /ci/connections/${first}/discovery`);
      expect(body).toMatchObject({ state: 'succeeded', pipelines: [] });
      expect(body['problems']).toHaveLength(16);
      // The other one did not wait for the end of the hostile one.
      expect(String(other['finishedAt']) < String(body['finishedAt']), `${other['finishedAt']}`).toBe(true);
      await background.clean();
    },
  );
});
