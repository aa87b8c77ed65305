/** The state of the contracts that customers have: what a change is compared with before it is merged. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Baseline {
  readonly commit: string;
  /** Name of the commit: `origin/main`, `v0.10.0`. */
  readonly name: string;
}

/**
 * Finds the merge base with `origin/main`, else the newest release tag; `wanted` (a git revision) wins over
 * both. There is none in a clone without either, or without git.
 */
export function findBaseline(root: string, wanted?: string): Baseline | undefined {
  if (wanted !== undefined && wanted !== '') {
    const commit = git(root, 'rev-parse', '--verify', `${wanted}^{commit}`);
    if (commit === undefined) throw new Error(`baseline "${wanted}" is no commit of ${root}`);
    return { commit, name: wanted };
  }
  const main = git(root, 'merge-base', 'HEAD', 'origin/main');
  if (main !== undefined) return { commit: main, name: 'origin/main' };
  const tag = git(root, 'describe', '--tags', '--abbrev=0', '--match=v*');
  const commit = tag === undefined ? undefined : git(root, 'rev-parse', `${tag}^{commit}`);
  return tag === undefined || commit === undefined ? undefined : { commit, name: tag };
}

/** The text of a file at a commit, or nothing when it was not there. */
export function fileAt(root: string, commit: string, path: string): string | undefined {
  return git(root, 'show', `${commit}:${path}`);
}

/** Calls `use` with a temporary folder that holds `paths` as they were at the commit. */
export async function withCheckout<T>(
  root: string,
  { commit, paths }: { readonly commit: string; readonly paths: readonly string[] },
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-baseline-'));
  try {
    const archive = execFileSync('git', ['archive', commit, '--', ...paths], {
      cwd: root,
      maxBuffer: 256 << 20,
    });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function git(root: string, ...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 << 20,
    }).trimEnd();
  } catch {
    return undefined; // No git, no such revision or no such file: there is nothing to compare with.
  }
}
