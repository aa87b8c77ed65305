/** Files of Git LFS come with the clone, by the access rules of git, or the build ends and names them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { planned, testContext } from '../../test/setup/runner/build-context.ts';
import { gitServer } from '../../test/setup/runner/build-stories.ts';
import type { WireBuildSource } from '../control-plane/wire.ts';
import { cloneSource } from './git.ts';

const ATTRIBUTES = '*.bin filter=lfs diff=lfs merge=lfs -text\n';

async function clone(source: WireBuildSource) {
  const context = await testContext({ source: { branch: 'main', ...source } });
  const plan = planned(context.plan, 'source');
  return { context, plan, file: (name: string) => readFileSync(join(context.workspace.clone, name), 'utf8') };
}

describe.runIf((await has('git')) && (await has('git-lfs')))('fetchLfs()', { timeout: 60_000 }, () => {
  it('fetches the files of a repository and its submodules, with the token that git has', async () => {
    const git = await gitServer({ username: 'robot', password: 'tok-4711' });
    const inner = git.commit('inner', {
      '.gitattributes': ATTRIBUTES,
      'b.bin': git.pointerOf('in the submodule'),
    });
    const { url } = git.commit('outer', {
      '.gitattributes': ATTRIBUTES,
      'media/a logo.bin': git.pointerOf('the logo'),
      'plain.bin': 'committed as it is',
      '.gitmodules': '[submodule "s"]\n  path = libs/s\n  url = ../inner.git\n',
      'libs/s': { submodule: inner.commit },
    });
    const { context, plan, file } = await clone({
      repository: url,
      username: 'robot',
      token: 'tok-4711',
      submodules: true,
    });
    await cloneSource(context, plan);
    expect(file('media/a logo.bin')).toBe('the logo');
    expect(file('libs/s/b.bin')).toBe('in the submodule');
    expect(file('plain.bin')).toBe('committed as it is');
    expect(context.text()).toContain('media/a logo.bin');
    expect(context.text()).not.toContain('4711');
  });

  it('fetches what the repository leaves out by its own .lfsconfig', async () => {
    const git = await gitServer();
    const { url } = git.commit('r', {
      '.lfsconfig': '[lfs]\n  fetchexclude = *\n',
      '.gitattributes': ATTRIBUTES,
      'a.bin': git.pointerOf('wanted'),
    });
    const { context, plan, file } = await clone({ repository: url });
    await cloneSource(context, plan);
    expect(file('a.bin')).toBe('wanted');
  });

  it('ends the build with the name of a file that cannot be had: no git-lfs, no object, no endpoint of the protocols', async () => {
    const git = await gitServer();
    const lost = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 4\n`;
    const tree = { '.gitattributes': ATTRIBUTES, 'models/m.bin': lost };
    const { url } = git.commit('r', tree);
    const without = await clone({ repository: url });
    // A git that knows no such command.
    without.context.fake('git-lfs', 'exit 1');
    await expect(cloneSource(without.context, without.plan)).rejects.toThrow(
      'models/m.bin: kept by Git LFS, and this runner has no git-lfs, so the image would hold a pointer in its place',
    );
    const skips = git.commit('r', { ...tree, '.lfsconfig': '[lfs]\n  skipdownloaderrors = true\n' });
    const gone = await clone({ repository: skips.url });
    await expect(cloneSource(gone.context, gone.plan)).rejects.toThrow(/kept by Git LFS.*models\/m\.bin/);
    for (const endpoint of ['file:///srv/lfs', '/srv/lfs', 'git://127.0.0.1/x']) {
      const other = git.commit('r', { ...tree, '.lfsconfig': `[lfs]\n  url = ${endpoint}\n` });
      const refused = await clone({ repository: other.url });
      await expect(cloneSource(refused.context, refused.plan)).rejects.toThrow(
        `.lfsconfig: lfs.url is ${endpoint}, and Git LFS is fetched by https and ssh alone`,
      );
    }
  });
});
