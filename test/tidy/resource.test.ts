/**
 * The plain resource of docs/contributing.md, added in a copy of the repository by what the guide says and
 * nothing else: what it touches is counted, the generators print the rest, and the types of all of it agree.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from './sources.ts';

const PACKAGES = ['proto', 'server', 'gateway', 'runner', 'sdk', 'cli'];
const AREA = 'server/operations/area.ts';
/** Printed by `npm run generate` and `npm run migration`, and committed. */
const GENERATED = /(^|\/)gen\/|^docs\/reference\/|^server\/migrations\//;

const run = (folder: string, command: string, ...args: readonly string[]): string =>
  execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** The packages of this repository are copied, with the copy's own workspaces in place of ours. */
function copyRepository(to: string): void {
  const listed = run(root, 'git', 'ls-files', '-co', '--exclude-standard', '-z').split('\0').filter(Boolean);
  for (const path of listed) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    cpSync(join(root, path), join(to, path), { force: true });
  }
  for (const folder of ['', 'proto/']) {
    const modules = join(root, folder, 'node_modules');
    mkdirSync(join(to, folder, 'node_modules/@svc'), { recursive: true });
    for (const name of readdirSync(modules))
      if (name !== '@svc') symlinkSync(join(modules, name), join(to, folder, 'node_modules', name));
  }
  for (const name of PACKAGES) symlinkSync(join(to, name), join(to, 'node_modules/@svc', name));
  run(to, 'git', 'init', '-q');
  run(to, 'git', 'add', '-A');
  run(to, 'git', '-c', 'user.name=t', '-c', 'user.email=t@example.com', 'commit', '-qm', 'as it is');
}

function addByTheGuide(folder: string): void {
  const given = new URL('./testdata/contacts/', import.meta.url).pathname;
  const put = (name: string, to: string): void => {
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    cpSync(join(given, `${name}.txt`), join(folder, to));
  };
  put('contacts.proto', 'proto/svc/contacts/v1/contacts.proto');
  for (const name of ['schema.ts', 'index.ts', 'contacts.requests.ts'])
    put(name, `server/operations/contacts/${name}`);
  const area = readFileSync(join(folder, AREA), 'utf8');
  const line = "import { contactsFeature } from './contacts/index.ts';\n";
  const listed = area
    .replace(/^(import \{)/m, `${line}$1`)
    .replace(/features: \[/, 'features: [contactsFeature, ');
  writeFileSync(join(folder, AREA), listed);
}

describe('the plain resource of the guide', () => {
  let folder: string;
  let changed: readonly (readonly [string, string])[];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-resource-'));
    copyRepository(folder);
    addByTheGuide(folder);
    run(folder, 'node', 'proto/generators/generate.mjs');
    run(folder, 'npm', 'run', '-s', 'reference');
    run(folder, 'npm', 'run', '-s', 'migration', 'expand_contacts');
    const status = run(folder, 'git', 'status', '--porcelain', '-uall', '--no-renames');
    changed = status
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(0, 2).trim(), line.slice(3)] as const);
  }, 180_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const byHand = (how: string) =>
    changed.filter(([as, path]) => as === how && !GENERATED.test(path)).map(([, path]) => path);

  it('touches one line of its area, and nothing else that is there', () => {
    expect(byHand('M')).toEqual([AREA]);
    expect(run(folder, 'git', 'diff', '--numstat', '--', AREA)).toMatch(/^2\t1\t/);
  });

  it('adds its contract, its folder and one migration', () => {
    expect(byHand('??').toSorted()).toEqual([
      'proto/svc/contacts/v1/contacts.proto',
      'server/operations/contacts/contacts.requests.ts',
      'server/operations/contacts/index.ts',
      'server/operations/contacts/schema.ts',
    ]);
    const added = changed.filter(([as, path]) => as === '??' && path.startsWith('server/migrations/'));
    expect(added).toHaveLength(1);
    expect(readFileSync(join(folder, added[0]?.[1] ?? ''), 'utf8')).toContain('CREATE TABLE "contacts"');
  });

  it('has types, SDK, commands and documents that agree', () => {
    expect(run(folder, 'npx', 'tsc', '-p', '.', '--noEmit')).toBe('');
    expect(readFileSync(join(folder, 'docs/reference/commands.md'), 'utf8')).toContain('svc contacts retire');
  }, 180_000);

  it('has its pages in the console: a list, its items, and what is done with them', () => {
    expect(run(folder, 'npx', 'tsc', '-p', 'server/console', '--noEmit')).toBe('');
    const index = readFileSync(join(folder, 'server/console/gen/index.ts'), 'utf8');
    expect(index).toMatch(/at: 'team', segments: \['contacts'\], title: 'Contacts'/);
    const page = readFileSync(join(folder, 'server/console/gen/team-contacts.ts'), 'utf8');
    for (const call of ['list', 'create', 'retire']) expect(page).toContain(`id: 'contacts.${call}'`);
  }, 180_000);
});
