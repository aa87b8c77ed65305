/**
 * These checks see what linters do not: who may import whom (DESIGN 3), sizes, banned words. Each check says
 * how many files it read, because a check that silently reads nothing is green for ever.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AREAS } from '../../server/areas.ts';
import { BELOW, importsOf, isTest, placeOf, root, sources, type Source } from './sources.ts';
import { haveOneSchema, storeysOf, type Storeys } from './storeys.ts';

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

/** Entries of the SDK that read text and ask nobody. */
const PURE_ENTRIES = ['@svc/sdk/ci-definitions', '@svc/sdk/failure-signature'];

/**
 * Folders of the runner, each above those that it may import. Tests lie beside what they test and may wire
 * the rest to it.
 */
const RUNNER_FOLDERS = [
  'platform',
  'control-plane',
  'disk',
  'output',
  'executor',
  'network',
  'edge',
  'work',
  'build',
  'deploy',
  'database',
  'host',
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
      // Pure functions that clients have too are entries of their own: the server has them, and no client.
      if (folderOf(file.path) === 'server' && PURE_ENTRIES.includes(target)) return [];
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

/**
 * Inside the server: base imports base, kit also kit, and a feature also what it stands on, through its index
 * alone. A schema.ts refers to tables of others. `area.ts` lists its features.
 */
export function storeyViolations(files: readonly Source[], storeys: Storeys): string[] {
  return files.flatMap((file) => {
    const own = placeOf(file.path);
    if (own === undefined || isTest(file.path)) return [];
    const isLow = BELOW.includes(own);
    return importsOf(file).flatMap((target) => {
      const wrong = [`${file.path} imports ${target}`];
      const other = placeOf(target);
      if (other === undefined) return target.startsWith('server/') ? wrong : [];
      if (other === own) return [];
      if (BELOW.includes(other)) return isLow && BELOW.indexOf(other) > BELOW.indexOf(own) ? wrong : [];
      if (isLow) return wrong;
      const isSchema = file.path.endsWith('/schema.ts');
      if (!storeys.below(own).has(other) && !(isSchema && haveOneSchema(own, other))) return wrong;
      return (isSchema ? /\/(index|schema)\.ts$/ : /\/index\.ts$/).test(target) ? [] : wrong;
    });
  });
}

/**
 * Files of the server that import each other, directly or through others, types too: a reader of one would
 * need them all.
 */
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

/**
 * Inside the runner: a folder imports those before it in the list; `main.ts` beside them may import all, and
 * nothing imports it.
 */
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
  const storeys = storeysOf();

  it('reads the whole tree', () => {
    expect(files.length).toBeGreaterThan(300);
  });

  it('go down only', () => {
    expect(importViolations(files)).toEqual([]);
  });

  it('stay within what a feature stands on, and cross features through their index only', () => {
    expect(storeyViolations(files, storeys)).toEqual([]);
  });

  it('are of features that are declared where they lie, by the name of their folder', () => {
    const lying = new Set(files.flatMap(({ path }) => (isTest(path) ? [] : (placeOf(path) ?? []))));
    expect([...lying].filter((place) => !BELOW.includes(place)).toSorted()).toEqual(
      storeys.places.toSorted(),
    );
    for (const { name } of AREAS) expect(name).toMatch(/^[a-z]+$/);
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
    const of = (target: string) => ({ path: 'server/connect/a.ts', text: `import { x } from '${target}';` });
    expect(PURE_ENTRIES.flatMap((target) => importViolations([of(target)]))).toEqual([]);
    expect(importViolations([of('@svc/sdk')])).toHaveLength(1);
    expect(importViolations([of('@svc/sdk/core/client.ts')])).toHaveLength(1);
    const page = { path: 'server/console/a.tsx', text: "import { x } from '../base/ids.ts';" };
    expect(importViolations([page])).toEqual(['server/console/a.tsx imports server/base/ids.ts']);
    const api = { path: 'server/access/teams/a.ts', text: "import { x } from '../../console/api.ts';" };
    expect(importViolations([api])).toEqual(['server/access/teams/a.ts imports server/console/api.ts']);
  });

  it('sees an import of what stands above, past an index, out of the kit, and of what puts all together', () => {
    const of = (path: string, target: string) => ({ path, text: `import { x } from '${target}';` });
    const violations = [
      of('server/access/teams/a.ts', '../../engine/runners/index.ts'),
      of('server/engine/builds/a.ts', '../runners/store.ts'),
      of('server/engine/work/a.ts', '../runners/index.ts'),
      of('server/kit/a.ts', '../access/teams/index.ts'),
      of('server/base/a.ts', '../kit/context.ts'),
      of('server/access/teams/a.ts', '../../system.ts'),
    ];
    const fine = [
      of('server/engine/runners/a.ts', '../../access/teams/index.ts'),
      of('server/engine/work/schema.ts', '../builds/schema.ts'),
      of('server/kit/a.ts', '../base/ids.ts'),
    ];
    expect(storeyViolations([...violations, ...fine], storeys)).toHaveLength(violations.length);
  });

  it('sees a circle of files', () => {
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
    pattern: /\b(interface|type) (Asked|Found|Given|Held|Told|Wanted|Which)\b/,
    instead: 'a name that says what of',
    where: /\.tsx?$/,
  },
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
