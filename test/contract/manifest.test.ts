/**
 * The manifest of platform features against the one that customers have: lifecycles go forward only. Skipped
 * without git.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import { expect, it } from 'vitest';
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { fileAt, findBaseline } from '@svc/proto/generators/baseline.ts';
import { lintManifest } from '@svc/server/switches/lint.ts';

const root = new URL('../..', import.meta.url).pathname;
const PATH = 'proto/features/manifest.ts';

/** Reads the manifest of a commit; nothing when that commit had none. */
async function manifestAt(commit: string): Promise<readonly FeatureDefinition[] | undefined> {
  const source = fileAt(root, commit, PATH);
  if (source === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'svc-manifest-'));
  try {
    const path = join(folder, 'manifest.mjs');
    writeFileSync(path, (await transform(source, { loader: 'ts', format: 'esm' })).code);
    const module = (await import(/* @vite-ignore */ pathToFileURL(path).href)) as {
      MANIFEST: readonly FeatureDefinition[];
    };
    return module.MANIFEST;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const baseline = findBaseline(root);
/**
 * A baseline from before the manifest says nothing; the last commit at least shows what is about to be
 * committed.
 */
const released = (baseline && (await manifestAt(baseline.commit))) ?? (await manifestAt('HEAD'));

it.skipIf(released === undefined)('takes back no lifecycle that has been announced', () => {
  expect(released?.map(({ key }) => key)).toContain('host.ci');
  expect(lintManifest(MANIFEST, released).errors).toEqual([]);
});

it('would see one that is taken back', () => {
  const [first, ...others] = MANIFEST;
  const before = [{ ...first, lifecycle: 'deprecated' as const }, ...others];
  expect(lintManifest(MANIFEST, before).errors).toHaveLength(1);
});
