/**
 * Checks what the documents say exists: every `svc` and `svc-runner` command with its flags, every script,
 * every file, every link with its anchor. Each check says how much it read, because a check that reads
 * nothing is green for ever.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { problemOf } from './docs/commands.ts';
import { anchorsOf, blocksOf, linksOf, spansOf, type Page } from './docs/markdown.ts';
import { commandsOf } from './docs/shell-words.ts';

const root = new URL('..', import.meta.url).pathname;
const SCRIPTS = Object.keys(
  (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }).scripts,
);

function pages(): readonly Page[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', '*.md'], { cwd: root });
  return listed
    .toString()
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

const isDocument = ({ path }: Page) => path === 'README.md' || path.startsWith('docs/');
const isGenerated = ({ path }: Page) => path.startsWith('docs/reference/');

/**
 * Returns the commands that are shown by a page and are those of `svc` and `svc-runner`. Those of a workflow
 * file stand behind a key, as in `run: svc ci report …`.
 */
function commandsShownIn(page: Page) {
  const shown = [
    ...blocksOf(page).map((code) => ({ ...code, whole: true })),
    ...spansOf(page).map((code) => ({ ...code, whole: false })),
  ];
  return shown.flatMap(({ line, text, info, whole }) =>
    commandsOf(info === 'yaml' ? text.replaceAll(/^[ -]*[\w-]+: (?=\S)/gm, '') : text)
      .filter(({ words: [program] }) => program === 'svc' || program === 'svc-runner')
      .map(({ words }) => ({ line, words, whole })),
  );
}

async function wrongCommands(page: Page): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { line, ...shown } of commandsShownIn(page)) {
    const problem = await problemOf(shown);
    if (problem !== undefined) found.push(`${page.path}:${line}: ${problem}`);
  }
  return found;
}

function unknownScripts(page: Page): readonly string[] {
  return [...blocksOf(page), ...spansOf(page)].flatMap(({ line, text }) =>
    [...text.matchAll(/\bnpm run (?:-s )?([\w-]+)/g)]
      .filter(([, name = '']) => !SCRIPTS.includes(name))
      .map(([, name = '']) => `${page.path}:${line}: package.json has no script "${name}"`),
  );
}

/**
 * Files of this repository that sentences name: `server/config.ts`. A name with a placeholder in it names
 * none.
 */
function absentFiles(page: Page): readonly string[] {
  return spansOf(page)
    .filter(({ text }) =>
      /^(?:cli|docs|gateway|proto|runner|sdk|server|test)\/[\w./-]+\.(?:ts|tsx|mjs|md|proto|json|yaml)$/.test(
        text,
      ),
    )
    .filter(({ text }) => !existsSync(join(root, text)))
    .map(({ line, text }) => `${page.path}:${line}: there is no ${text}`);
}

function deadLinks(page: Page, all: readonly Page[]): readonly string[] {
  return linksOf(page).flatMap(({ line, target }) => {
    if (/^(https?|mailto):/.test(target)) return [];
    const [file = '', anchor] = target.split('#');
    const path = file === '' ? page.path : normalize(join(dirname(page.path), file));
    const other = all.find((one) => one.path === path);
    if (other === undefined && !existsSync(join(root, path)))
      return [`${page.path}:${line}: ${target} leads nowhere`];
    if (anchor === undefined || (other !== undefined && anchorsOf(other).has(anchor))) return [];
    return [`${page.path}:${line}: ${path} has no heading #${anchor}`];
  });
}

describe('the documents', () => {
  const all = pages();
  const written = all.filter((page) => isDocument(page) && !isGenerated(page));

  it('show only commands and flags that there are', async () => {
    expect(written.flatMap(commandsShownIn).length).toBeGreaterThan(60);
    expect((await Promise.all(written.map(wrongCommands))).flat()).toEqual([]);
  });

  it('name only scripts and files that there are', () => {
    expect(written.flatMap((page) => [...unknownScripts(page), ...absentFiles(page)])).toEqual([]);
  });

  it('have no dead link', () => {
    expect(all.flatMap(linksOf).length).toBeGreaterThan(20);
    expect(all.flatMap((page) => deadLinks(page, all))).toEqual([]);
  });
});

describe('the checks', () => {
  const page = (text: string, path = 'docs/a.md'): Page => ({ path, text });
  const block = (text: string, info = 'sh') => page(`# A\n\n\`\`\`${info}\n${text}\n\`\`\`\n`);

  it('see an unknown command, group and flag, in blocks and in sentences', async () => {
    expect(await wrongCommands(block('npx svc runs lst --team team_1'))).toEqual([
      expect.stringMatching(/^docs\/a\.md:4: unknown command "svc runs lst"/),
    ]);
    expect(await wrongCommands(page('Say `svc rnners list`.'))).toEqual([
      expect.stringMatching(/^docs\/a\.md:1: unknown command "svc rnners"; did you mean "svc runners"/),
    ]);
    expect(await wrongCommands(page('Say\n`svc runs get --jsn run_1`.'))).toEqual([
      expect.stringMatching(/^docs\/a\.md:2: unknown flag --jsn/),
    ]);
  });

  it('see what a whole command lacks, and let a sentence show the beginning of one', async () => {
    expect(await wrongCommands(block('svc runs get'))).toEqual([
      'docs/a.md:4: "svc runs get" needs --run-id',
    ]);
    expect(await wrongCommands(block('svc runs'))).toEqual(['docs/a.md:4: "svc runs" names no command']);
    expect(await wrongCommands(page('See `svc runs list`, `svc runs`, `svc` and `svc --help`.'))).toEqual([]);
  });

  it('find commands behind pipes, substitutions, assignments and keys of a workflow file', async () => {
    const unknown = [expect.stringContaining('unknown command "svc nope"')];
    for (const text of [
      'echo hello | svc nope',
      'id=$(svc nope)',
      'echo "it is $(npx svc nope)"',
      'SVC_API_KEY=<key> svc nope',
      'true && \\\n  svc nope > file.txt',
      'if svc nope; then true; fi',
    ])
      expect(await wrongCommands(block(text)), text).toEqual(unknown);
    expect(await wrongCommands(block('steps:\n  - run: npx svc nope', 'yaml'))).toEqual(unknown);
    expect(await wrongCommands(block("echo 'svc nope' # svc nope\nls svc nope"))).toEqual([]);
  });

  it('take placeholders, redirections and everything behind "--"', async () => {
    const text =
      'svc registries add --team <team_id> --host ghcr.io --password-stdin < password.txt 2>&1\n' +
      'svc runs create --team "$TEAM" --follow -- sh -c "svc nope; exit 3"';
    expect(commandsOf(text)).toHaveLength(2);
    expect(await wrongCommands(block(text))).toEqual([]);
  });

  it('see unknown commands and flags of svc-runner', async () => {
    expect(await wrongCommands(block('svc-runner start'))).toEqual([
      'docs/a.md:4: unknown command "svc-runner start"',
    ]);
    expect(await wrongCommands(block('sudo svc-runner run --slot 2'))).toEqual([
      'docs/a.md:4: unknown flag --slot; did you mean --slots?',
    ]);
    expect(await wrongCommands(block('svc-runner run --slots'))).toEqual([
      'docs/a.md:4: --slots needs a value: --slots <n>',
    ]);
    expect(await wrongCommands(block('svc-runner service install --user build --slots 4'))).toEqual([]);
  });

  it('see unknown scripts and absent files', () => {
    expect(unknownScripts(page('Run `npm run demoo`, or `npm run demo`.'))).toEqual([
      'docs/a.md:1: package.json has no script "demoo"',
    ]);
    expect(
      absentFiles(page('See `server/nowhere.ts`, `server/main.ts` and `server/<feature>/index.ts`.')),
    ).toEqual(['docs/a.md:1: there is no server/nowhere.ts']);
  });

  it('see a dead link and a dead anchor', () => {
    const other = page('# Title\n\n## What it costs, and why\n\n## Twice\n\n## Twice\n', 'docs/b.md');
    const links = (text: string) => deadLinks(page(text), [page(text), other]);
    expect(
      links('See [b](b.md), [b](b.md#what-it-costs-and-why), [b](b.md#twice-1), [w](https://a.b).'),
    ).toEqual([]);
    expect(links('See\n[c](c.md).')).toEqual(['docs/a.md:2: c.md leads nowhere']);
    expect(links('See [b](b.md#cost).')).toEqual(['docs/a.md:1: docs/b.md has no heading #cost']);
    expect(links('See [here](#there).')).toEqual(['docs/a.md:1: docs/a.md has no heading #there']);
    expect(links('`[c](c.md)`\n```\n[c](c.md)\n```')).toEqual([]);
  });
});
