/**
 * This file is the abuse suite of images: it runs every case of build-abuse/image-cases.ts with the released
 * daemon, as a machine of the service's pool has it.
 */
import { describe, it, onTestFailed } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { expectTableInDocs } from '../../test/setup/runner/abuse.ts';
import { createImageBench } from '../../test/setup/runner/build-abuse/image-bench.ts';
import { IMAGE_ABUSE_CASES } from '../../test/setup/runner/build-abuse/image-cases.ts';
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

expectTableInDocs(
  'the cases of images',
  ['what a team tries', 'what holds on a machine of the service’s pool'],
  IMAGE_ABUSE_CASES.map(({ abuse, held }) => [abuse, held]),
);
