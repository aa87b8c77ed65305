/** The hand-written sources, as the checks of this folder read them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

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

/** Areas of the server with the areas that they may import: those before them. `door` and the files at the top put everything together. */
export const AREAS: Readonly<Record<string, readonly string[]>> = {
  access: [],
  apps: ['access'],
  engine: ['access', 'apps'],
  connect: ['access', 'apps', 'engine'],
  delivery: ['access', 'apps', 'engine'],
  operations: ['access', 'apps', 'engine'],
  money: ['access', 'apps', 'engine'],
  marketplace: ['access', 'apps', 'engine', 'delivery'],
  workspace: ['access', 'apps', 'engine'],
};

export interface Place {
  readonly area: string;
  readonly feature: string;
}

/** `server/engine/runners/store.ts` → `engine/runners`; `server/base/ids.ts` → `platform`; files at the top belong to nothing. */
export function placeOf(path: string): Place | undefined {
  const [top, area = '', feature = '', file] = path.split('/');
  if (top !== 'server' || feature === '') return undefined;
  return { area, feature: area in AREAS && file !== undefined ? `${area}/${feature}` : area };
}
