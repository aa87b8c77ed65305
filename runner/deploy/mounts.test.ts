import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testContext } from '../../test/setup/runner/build-context.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { createMounts } from './mounts.ts';

const ranges = { of: async () => ({ args: [] }) };
const path = (hostPath: string) => ({ id: 'mnt_1', kind: 'path', hostPath, containerPath: '/data' }) as const;

/** Mounts of a machine on which another environment has `/…/shared/inner`. */
async function machine() {
  const { engine, fake } = await testContext();
  const root = realpathSync(tempDir());
  for (const folder of ['shared/inner/deep', 'own']) mkdirSync(join(root, folder), { recursive: true });
  const labels = JSON.stringify({ 'svc.environment': 'env_2', 'svc.paths': join(root, 'shared/inner') });
  fake('podman', `case "$*" in *" ps "*) echo a;; *) echo '${labels}';; esac`);
  const options = { engine: engine.engine, runnerId: 'rnr_1', roots: [root], kept: [], ranges };
  return { root, mounts: createMounts(options) };
}

describe('paths that an engine gets', () => {
  it('are, hold and lie in no storage of another environment, which could put a link in their place', async () => {
    const { root, mounts } = await machine();
    for (const near of ['shared', 'shared/inner', 'shared/inner/deep'])
      await expect(mounts.args('env_1', [path(join(root, near))]), near).rejects.toThrow(
        `${join(root, near)} is, holds or lies in ${join(root, 'shared/inner')}, which is storage of another environment`,
      );
    expect(await mounts.args('env_2', [path(join(root, 'shared/inner'))])).toContain(
      `--label=svc.paths=${join(root, 'shared/inner')}`,
    );
  });

  it('are looked at again, as one may have become a link since the build began', async () => {
    const { root, mounts } = await machine();
    expect(await mounts.args('env_1', [path(join(root, 'own'))])).toContain(
      `--mount=type=bind,source=${join(root, 'own')},destination=/data`,
    );
    symlinkSync('/etc', join(root, 'led-away'));
    await expect(mounts.args('env_1', [path(join(root, 'led-away'))])).rejects.toThrow(
      'is /etc on the machine, and links are not followed',
    );
  });
});
