/** The hand-written sources, and where in the house each stands, as the checks of this folder read them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export interface Source {
  readonly path: string;
  readonly text: string;
}

export const root = new URL('../..', import.meta.url).pathname;

/** Files that git tracks, or would: a file that was deleted but not committed yet is left out. */
export function sources(patterns: readonly string[] = ['*.ts', '*.tsx', '*.mjs']): Source[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', ...patterns], {
    cwd: root,
  })
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

export const isTest = (path: string): boolean => /\.(test|requests)\.ts$|\/testing\//.test(path);

/**
 * Returns what one file imports: package names, or paths from the root for relative imports. Type-only
 * imports count too.
 */
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

/** Folders of the server below every feature, the lowest first. */
export const BELOW: readonly string[] = ['base', 'kit'];
/** Folders of the server that put everything together. */
const ABOVE: ReadonlySet<string> = new Set(['door', 'console', 'migrations', 'dist']);

/**
 * `server/engine/runners/store.ts` is of the feature `engine/runners`, `server/kit/paging.ts` of `kit`,
 * `server/switches/store.ts` of `switches`. Files at the top and of the door belong to none: they put
 * everything together.
 */
export function placeOf(path: string): string | undefined {
  const [top, area = '', feature = '', file] = path.split('/');
  if (top !== 'server' || feature === '' || ABOVE.has(area)) return undefined;
  if (BELOW.includes(area) || area === 'switches') return area;
  return file === undefined ? undefined : `${area}/${feature}`;
}
