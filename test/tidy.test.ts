/**
 * What linters do not see: who may import whom (DESIGN 3), sizes, banned words. Each check says how many files it read,
 * because a check that silently reads nothing is green for ever.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

interface Source {
  readonly path: string;
  readonly text: string;
}

const root = new URL('..', import.meta.url).pathname;

/** Files that git tracks, or would: a file that was deleted but not committed yet is left out. */
function sources(): Source[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', '--', '*.ts', '*.tsx', '*.mjs'],
    {
      cwd: root,
    },
  )
    .toString()
    .split('\n')
    .filter((path) => path !== '' && !/(^|\/)(gen|dist|testdata|node_modules)\//.test(path));
  return listed.flatMap((path) => {
    try {
      return [{ path, text: readFileSync(join(root, path), 'utf8') }];
    } catch {
      return []; // Deleted in the working tree.
    }
  });
}

/** What one file imports: package names, or paths from the root for relative imports. Type-only imports count too. */
export function importsOf({ path, text }: Source): string[] {
  const found = [
    ...text.matchAll(
      /(?:^|[\s;])(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|^import\s+['"]([^'"]+)['"]/gm,
    ),
  ];
  return found.map((match) => {
    const target = match[1] ?? match[2] ?? match[3] ?? '';
    return target.startsWith('.') ? normalize(join(dirname(path), target)) : target;
  });
}

/** `server/console` is a program of its own that lies in the server's folder. */
const folderOf = (path: string) =>
  path.startsWith('server/console/') ? 'server/console' : (path.split('/')[0] ?? '');

/** `server/runners/store.ts` → `runners`; top-level server files are the wiring and belong to no feature. */
function featureOf(path: string): string | undefined {
  const parts = path.split('/');
  return parts[0] === 'server' && parts.length > 2 ? parts[1] : undefined;
}

const MAY_IMPORT: Record<string, readonly string[]> = {
  proto: ['proto'],
  server: ['server', 'proto'],
  gateway: ['gateway', 'proto'],
  runner: ['runner', 'proto'],
  sdk: ['sdk'],
  cli: ['cli', 'sdk'],
  // The console is a client like any other: it knows the server by the SDK alone.
  'server/console': ['server/console', 'sdk'],
  test: ['test', 'proto', 'server', 'server/console', 'gateway', 'runner', 'sdk', 'cli'],
};

const isTest = (path: string) => /\.test\.ts$|\/testing\//.test(path);

function folderOfImport(target: string): string | undefined {
  if (target.startsWith('@svc/')) return target.split('/')[1];
  const folder = folderOf(target);
  return folder in MAY_IMPORT ? folder : undefined;
}

export function importViolations(files: readonly Source[]): string[] {
  return files.flatMap((file) => {
    const allowed = MAY_IMPORT[folderOf(file.path)];
    if (allowed === undefined) return [];
    return importsOf(file).flatMap((target) => {
      const folder = folderOfImport(target);
      if (folder === undefined || allowed.includes(folder)) return [];
      // The all-in-one starter holds the gateway in its own process; units may use the shared test set-up.
      if (file.path === 'server/main.ts' && target.startsWith('@svc/gateway')) return [];
      // What `svc ci validate` reads offline the server reads by the same code, and by nothing else of the SDK.
      if (/^server\/ci\/(?:.+\/)?definitions\.ts$/.test(file.path) && target === '@svc/sdk/ci-definitions')
        return [];
      if (isTest(file.path))
        return folder === 'test' || folder === 'sdk' || folder === 'proto'
          ? []
          : [`${file.path} imports ${target}`];
      return [`${file.path} imports ${target}`];
    });
  });
}

/** Inside the server: platform imports no feature, a feature imports another one through its index (or its tables) only. */
export function featureViolations(files: readonly Source[]): string[] {
  return files.flatMap((file) => {
    const own = featureOf(file.path);
    if (own === undefined || isTest(file.path)) return [];
    return importsOf(file).flatMap((target) => {
      const other = featureOf(target);
      if (other === undefined || other === own || other === 'platform' || target.startsWith('@')) return [];
      if (own === 'platform' && /\/db\/|schema\.ts$/.test(file.path) && target.endsWith('schema.ts'))
        return [];
      if (own !== 'platform' && /\/(index|schema)\.ts$/.test(target)) return [];
      return [`${file.path} imports ${target}`];
    });
  });
}

describe('imports', () => {
  const files = sources();

  it('reads the whole tree', () => {
    expect(files.length).toBeGreaterThan(300);
  });

  it('go down only', () => {
    expect(importViolations(files)).toEqual([]);
  });

  it('cross server features through their index only', () => {
    expect(featureViolations(files)).toEqual([]);
  });

  it('sees a forbidden import', () => {
    const bad = { path: 'gateway/a.ts', text: "import { x } from '@svc/server/platform/ids.ts';" };
    expect(importViolations([bad])).toEqual(['gateway/a.ts imports @svc/server/platform/ids.ts']);
    const definitions = "import { x } from '@svc/sdk/ci-definitions';";
    expect(importViolations([{ path: 'server/ci/a/definitions.ts', text: definitions }])).toEqual([]);
    expect(importViolations([{ path: 'server/ci/a/other.ts', text: definitions }])).toHaveLength(1);
    const client = { path: 'server/ci/a/definitions.ts', text: "import { Client } from '@svc/sdk';" };
    expect(importViolations([client])).toHaveLength(1);
    const page = { path: 'server/console/a.tsx', text: "import { x } from '../platform/ids.ts';" };
    expect(importViolations([page])).toEqual(['server/console/a.tsx imports server/platform/ids.ts']);
    const api = { path: 'server/teams/a.ts', text: "import { x } from '../console/api.ts';" };
    expect(importViolations([api])).toEqual(['server/teams/a.ts imports server/console/api.ts']);
    const feature = { path: 'server/teams/a.ts', text: "import { x } from '../runners/store.ts';" };
    expect(featureViolations([feature])).toEqual(['server/teams/a.ts imports server/runners/store.ts']);
  });
});

describe('sizes', () => {
  it('keeps hand-written files under 500 lines', () => {
    const long = sources()
      .filter(({ path }) => !isTest(path) && !path.startsWith('test/'))
      .map(({ path, text }) => ({ path, lines: text.split('\n').length }))
      .filter(({ lines }) => lines > 500);
    expect(long).toEqual([]);
  });
});

const BANNED: readonly { readonly pattern: RegExp; readonly instead: string; readonly where: RegExp }[] = [
  { pattern: /\bas any\b/, instead: 'a type', where: /\.tsx?$/ },
  {
    pattern: /\b(TODO|FIXME|XXX)\b/,
    instead: 'do it, or file an issue',
    where: /^(?!test\/tidy).*\.(tsx?|mjs)$/,
  },
  {
    pattern: /\.(only|skip|todo)\(/,
    instead: 'has() of test/setup/needs.ts',
    where: /^(?!test\/tidy).*\.test\.ts$/,
  },
  {
    pattern: /process\.env\b/,
    instead: 'the configuration',
    where: /^(server|gateway|sdk)\/(?!.*(config|main)\.ts$)(?!.*\.test\.ts$)(?!.*testing\/).*\.ts$/,
  },
];

describe('words', () => {
  it('uses none of the banned ones', () => {
    const found = sources().flatMap(({ path, text }) =>
      BANNED.filter(({ where, pattern }) => where.test(path) && pattern.test(text)).map(
        ({ pattern, instead }) => `${path}: ${pattern.source} (instead: ${instead})`,
      ),
    );
    expect(found).toEqual([]);
  });
});
