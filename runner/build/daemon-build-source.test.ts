/**
 * The released daemon builds what a source names: a Dockerfile, the folder that it copies from, a stage, and
 * a tag.
 */
import { describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import {
  appTree,
  built,
  gitServer,
  removeImagesAfterAll,
  shown,
  startBuildMachine,
} from '../../test/setup/runner/build-stories.ts';
import { useBundle } from '../../test/setup/runner/stories.ts';
import { sharedByFile } from '../../test/setup/runner/when-done.ts';
import type { WireBuildSource } from '../control-plane/wire.ts';

const bundle = useBundle();
removeImagesAfterAll();
const there = (await has('podman')) && (await has('git'));

const STEPS = 'FROM scratch AS base\nCOPY busybox /bin/busybox\nCOPY busybox /bin/sh\n';
const says = (what: string): string => `RUN echo "built ${what}"\n`;

describe.runIf(there)('source of a build', { timeout: 300_000 }, () => {
  const machine = sharedByFile(async () => await startBuildMachine(bundle()));

  const ended = async (source: WireBuildSource) => {
    const { report, output } = await built(shown(machine()).cp, { source });
    return { exitCode: report?.exitCode, output: output.toString(), report };
  };

  it('has a Dockerfile in one folder that copies from another one, and a stage that is not the last', async () => {
    const git = await gitServer();
    const { url } = git.commit(
      'shop',
      await appTree({
        Dockerfile: `${STEPS}${says('the root')}`,
        'shared/words.txt': 'words of the root',
        'services/api/prod.Dockerfile': `${STEPS}COPY shared/words.txt /words.txt\nRUN echo "built $(/bin/busybox cat /words.txt)"
FROM base AS later\n${says('the last stage')}`,
      }),
    );
    const source = { repository: url, branch: 'main' };
    const named = {
      ...source,
      buildPath: 'services/api',
      dockerfile: 'services/api/prod.Dockerfile',
      context: '.',
    };
    const first = await ended({ ...named, target: 'base' });
    expect(first.exitCode, first.output).toBe(0);
    expect(first.output).toMatch(/^built words of the root$/m);
    expect(first.output).not.toMatch(/^built the (root|last stage)$/m);
    const last = await ended(named);
    expect(last.exitCode, last.output).toBe(0);
    expect(last.output).toMatch(/^built the last stage$/m);
    const outside = await ended({ ...named, context: '../..' });
    expect(outside.exitCode, outside.output).not.toBe(0);
  });

  it.each(['v1.2.0', 'refs/tags/v1.2.0'])(
    'may be the tag %s, whatever the branch has by now',
    async (branch) => {
      const git = await gitServer();
      const dockerfile = (what: string) => ({ Dockerfile: `${STEPS}${says(what)}` });
      const tagged = git.commit('lib', await appTree(dockerfile('the tag')));
      git.tag('lib', 'v1.2.0', tagged.commit);
      git.commit('lib', await appTree(dockerfile('the head')));
      const { exitCode, output, report } = await ended({ repository: tagged.url, branch });
      expect(exitCode, output).toBe(0);
      expect(output).toMatch(/^built the tag$/m);
      expect(output).not.toMatch(/^built the head$/m);
      expect(report?.build?.commit).toBe(tagged.commit);
    },
  );
});
