/**
 * What linters do not see: who may import whom (DESIGN 3), sizes, banned words. Each check says how many files it read,
 * because a check that silently reads nothing is green for ever.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AREAS, isTest, placeOf, root, sources } from './sources.ts';
import type { Source } from './sources.ts';

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

const MAY_IMPORT: Record<string, readonly string[]> = {
  proto: ['proto'],
  server: ['server', 'proto'],
  gateway: ['gateway', 'proto'],
  runner: ['runner', 'proto'],
  sdk: ['sdk'],
  cli: ['cli', 'sdk'],
  // The console is a client like any other: it knows the server by the SDK alone.
  'server/console': ['server/console', 'sdk'],
  // Prints the reference pages from what the programs declare.
  docs: ['docs', 'proto', 'server', 'gateway', 'runner', 'cli'],
  test: ['test', 'docs', 'proto', 'server', 'server/console', 'gateway', 'runner', 'sdk', 'cli'],
};

/** Folders of the runner, each above those that it may import. Tests lie beside what they test and may wire the rest to it. */
const RUNNER_FOLDERS = [
  'platform',
  'control-plane',
  'disk',
  'output',
  'executor',
  'network',
  'work',
  'build',
  'deploy',
  'daemon',
  'doctor',
  'commands',
];

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
      if (
        /^server\/connect\/ci\/(?:.+\/)?definitions\.ts$/.test(file.path) &&
        target === '@svc/sdk/ci-definitions'
      )
        return [];
      // The runner and `svc` read the proxies of their environment alike.
      if (folderOf(file.path) === 'cli' && target.startsWith('@svc/proto/proxy/')) return [];
      if (isTest(file.path))
        return folder === 'test' || folder === 'sdk' || folder === 'proto'
          ? []
          : [`${file.path} imports ${target}`];
      return [`${file.path} imports ${target}`];
    });
  });
}

/** Inside the server: platform imports no area, an area those before it, a feature another one through its index (or its tables) only. */
export function areaViolations(files: readonly Source[]): string[] {
  return files.flatMap((file) => {
    const own = placeOf(file.path);
    if (own === undefined || isTest(file.path) || own.area === 'door' || own.area === 'console') return [];
    return importsOf(file).flatMap((target) => {
      const other = placeOf(target);
      const wrong = [`${file.path} imports ${target}`];
      if (other === undefined) return /^server\/(?!config\.ts$)/.test(target) ? wrong : [];
      if (other.area === 'platform' || other.feature === own.feature) return [];
      if (other.area !== own.area && !(AREAS[own.area] ?? []).includes(other.area)) return wrong;
      // Tables refer to each other; whoever reads or writes them goes by their owner, or is declared (tables.ts).
      const open = file.path.endsWith('/schema.ts') ? /\/(index|schema)\.ts$/ : /\/index\.ts$/;
      return open.test(target) ? [] : wrong;
    });
  });
}

/** Features that import each other, directly or through others, each with its way back. Tables refer to each other in an order of their own, which the linter checks. */
export function featureCircles(files: readonly Source[]): string[] {
  const next = new Map<string, Set<string>>();
  for (const file of files) {
    const own = placeOf(file.path);
    if (own === undefined || isTest(file.path) || !(own.area in AREAS) || file.path.endsWith('/schema.ts'))
      continue;
    for (const target of importsOf(file)) {
      const other = placeOf(target);
      if (other === undefined || !(other.area in AREAS) || other.feature === own.feature) continue;
      next.set(own.feature, (next.get(own.feature) ?? new Set()).add(other.feature));
    }
  }
  return circles(next);
}

/** Files of the server that import each other, directly or through others, types too: a reader of one would need them all. */
export function fileCircles(files: readonly Source[]): string[] {
  const own = files.filter(({ path }) => placeOf(path) !== undefined && !isTest(path));
  return circles(new Map(own.map((file) => [file.path, new Set(importsOf(file))])));
}

/** Each place from which a way leads back to it, with that way. */
function circles(next: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const wayBack = (start: string, at: string, seen: Set<string>): string[] | undefined => {
    for (const to of next.get(at) ?? []) {
      if (to === start) return [at, to];
      if (seen.has(to)) continue;
      seen.add(to);
      const rest = wayBack(start, to, seen);
      if (rest !== undefined) return [at, ...rest];
    }
    return undefined;
  };
  return [...next.keys()].flatMap((start) => wayBack(start, start, new Set())?.join(' → ') ?? []);
}

/** Inside the runner: a folder imports those before it in the list; `main.ts` beside them may import all, and nothing imports it. */
export function runnerViolations(files: readonly Source[]): string[] {
  const rankOf = (path: string) => {
    const [program, folder, file] = path.split('/');
    if (program !== 'runner' || folder === undefined) return undefined;
    return file === undefined ? RUNNER_FOLDERS.length : RUNNER_FOLDERS.indexOf(folder);
  };
  return files.flatMap((file) => {
    const own = rankOf(file.path);
    if (own === undefined || !file.path.endsWith('.ts') || isTest(file.path)) return [];
    if (own === -1) return [`${file.path} is in a folder that RUNNER_FOLDERS does not name`];
    return importsOf(file)
      .filter((target) => (rankOf(target) ?? -1) > own)
      .map((target) => `${file.path} imports ${target}`);
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

  it('follow the order of areas, and cross features through their index only', () => {
    expect(areaViolations(files)).toEqual([]);
  });

  it('form no circle of features', () => {
    expect(featureCircles(files)).toEqual([]);
  });

  it('form no circle of files', () => {
    expect(fileCircles(files)).toEqual([]);
  });

  it('go one way between the folders of the runner', () => {
    expect(files.filter(({ path }) => path.startsWith('runner/')).length).toBeGreaterThan(150);
    expect(runnerViolations(files)).toEqual([]);
    const up = { path: 'runner/disk/a.ts', text: "import { x } from '../daemon/b.ts';" };
    expect(runnerViolations([up])).toEqual(['runner/disk/a.ts imports runner/daemon/b.ts']);
    const stray = { path: 'runner/other/a.ts', text: '' };
    expect(runnerViolations([stray])).toHaveLength(1);
  });

  it('sees a forbidden import', () => {
    const bad = { path: 'gateway/a.ts', text: "import { x } from '@svc/server/base/ids.ts';" };
    expect(importViolations([bad])).toEqual(['gateway/a.ts imports @svc/server/base/ids.ts']);
    const definitions = "import { x } from '@svc/sdk/ci-definitions';";
    expect(importViolations([{ path: 'server/connect/ci/a/definitions.ts', text: definitions }])).toEqual([]);
    expect(importViolations([{ path: 'server/connect/ci/a/other.ts', text: definitions }])).toHaveLength(1);
    const client = {
      path: 'server/connect/ci/a/definitions.ts',
      text: "import { Client } from '@svc/sdk';",
    };
    expect(importViolations([client])).toHaveLength(1);
    const page = { path: 'server/console/a.tsx', text: "import { x } from '../base/ids.ts';" };
    expect(importViolations([page])).toEqual(['server/console/a.tsx imports server/base/ids.ts']);
    const api = { path: 'server/access/teams/a.ts', text: "import { x } from '../../console/api.ts';" };
    expect(importViolations([api])).toEqual(['server/access/teams/a.ts imports server/console/api.ts']);
  });

  it('sees an import against the order of areas, past an index, and out of the platform', () => {
    const of = (path: string, target: string) => ({ path, text: `import { x } from '${target}';` });
    const upwards = of('server/access/teams/a.ts', '../../engine/runners/index.ts');
    const past = of('server/engine/builds/a.ts', '../runners/store.ts');
    const out = of('server/base/a.ts', '../access/teams/index.ts');
    const wiring = of('server/access/teams/a.ts', '../../system.ts');
    const fine = of('server/engine/runners/a.ts', '../../access/teams/index.ts');
    expect(areaViolations([upwards, past, out, wiring, fine])).toEqual([
      'server/access/teams/a.ts imports server/engine/runners/index.ts',
      'server/engine/builds/a.ts imports server/engine/runners/store.ts',
      'server/base/a.ts imports server/access/teams/index.ts',
      'server/access/teams/a.ts imports server/system.ts',
    ]);
  });

  it('sees a circle of features and one of files', () => {
    const of = (from: string, to: string) => ({
      path: `server/engine/${from}/a.ts`,
      text: `import { x } from '../${to}/index.ts';`,
    });
    const circle = featureCircles([of('builds', 'work'), of('work', 'runners'), of('runners', 'builds')]);
    expect(circle).toContain('engine/builds → engine/work → engine/runners → engine/builds');
    expect(featureCircles([of('builds', 'work'), of('runners', 'work')])).toEqual([]);
    const file = (from: string, to: string) => ({
      path: `server/engine/builds/${from}.ts`,
      text: `import type { X } from './${to}.ts';`,
    });
    const [way] = fileCircles([file('a', 'b'), file('b', 'c'), file('c', 'a')]);
    expect(way?.split(' → ')).toHaveLength(4);
    expect(fileCircles([file('a', 'b'), file('b', 'c')])).toEqual([]);
  });
});

describe('packages', () => {
  it('name the siblings that their sources import, and those of their tests too', () => {
    const names = ['proto', 'server', 'gateway', 'runner', 'sdk', 'cli'];
    const files = sources();
    const missing = names.flatMap((name) => {
      const manifest = JSON.parse(readFileSync(join(root, name, 'package.json'), 'utf8')) as {
        dependencies?: Record<string, string>;
        devDependencies?: Record<string, string>;
      };
      const own = files.filter(({ path }) => path.startsWith(`${name}/`));
      return own.flatMap((file) => {
        const declared = { ...manifest.dependencies, ...(isTest(file.path) ? manifest.devDependencies : {}) };
        return importsOf(file)
          .flatMap((target) => /^@svc\/[a-z]+/.exec(target) ?? [])
          .filter((sibling) => sibling !== `@svc/${name}` && !(sibling in declared))
          .map((sibling) => `${file.path} imports ${sibling}`);
      });
    });
    expect(missing).toEqual([]);
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
