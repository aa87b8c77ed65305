/**
 * This file is the abuse suite of images: it runs every case of build-abuse/image-cases.ts with the released
 * daemon, as a machine of the service's pool has it.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, it, onTestFailed } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { createImageBench } from '../../test/setup/runner/build-abuse/image-bench.ts';
import { IMAGE_ABUSE_CASES, imageAbuseTable } from '../../test/setup/runner/build-abuse/image-cases.ts';
import { removeImagesAfterAll } from '../../test/setup/runner/build-stories.ts';
import { useBundle } from '../../test/setup/runner/stories.ts';
import { sharedByFile } from '../../test/setup/runner/when-done.ts';

const CASE_MS = 300_000;
const there = (await has('podman')) && (await has('git')) && (await has('registry'));

describe.runIf(there)('abuse of images', () => {
  const bundle = useBundle();
  removeImagesAfterAll();
  const shared = sharedByFile(async () => await createImageBench(bundle()), CASE_MS);

  for (const { abuse, held, act } of IMAGE_ABUSE_CASES)
    it(
      `${abuse} → ${held}`,
      async () => {
        const bench = shared();
        onTestFailed(() => console.error(bench.output()));
        await act(bench);
      },
      CASE_MS,
    );
});

describe('docs/sandbox.md', () => {
  it('holds the table of the cases of images', async () => {
    const text = await readFile(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
    expect(text).toContain(imageAbuseTable());
  });
});
