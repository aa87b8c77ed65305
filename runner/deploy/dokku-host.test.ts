import { describe, expect, it } from 'vitest';
import { testContext } from '../../test/setup/runner/build-context.ts';
import { usePath } from '../../test/setup/runner/programs.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import type { WireHostApp } from '../control-plane/wire.ts';
import { changesOfStorage, createDokkuHost } from './dokku-host.ts';
import { volumeName } from './mounts.ts';

const uploads = { id: 'mnt_1', kind: 'volume', hostPath: 'uploads', containerPath: '/srv/uploads' } as const;
const path = { id: 'mnt_2', kind: 'path', hostPath: '/srv/data/web', containerPath: '/data' } as const;
const FOLDER = `/var/lib/dokku/data/storage/${volumeName('env_1', 'uploads')}`;
const target = {
  kind: 'dokku',
  app: 'web',
  containerPort: 80,
  hostPort: 0,
  environment: 'env_1',
  databases: [],
  mounts: [uploads, path],
} as const;

describe('storage of an app of Dokku', () => {
  it('is brought by Dokku’s commands, once, and leaves what a person has mounted', () => {
    expect(changesOfStorage(target, '/mnt/by-hand:/hand\n')).toEqual([
      ['storage:ensure-directory', volumeName('env_1', 'uploads')],
      ['storage:mount', 'web', `${FOLDER}:/srv/uploads`],
      ['storage:mount', 'web', '/srv/data/web:/data'],
    ]);
    const there = `web volume bind-mounts:\n     ${FOLDER}:/srv/uploads\n     /srv/data/web:/data\n`;
    expect(changesOfStorage(target, there)).toEqual([]);
    expect(changesOfStorage({ ...target, mounts: [] }, there)).toEqual([
      ['storage:unmount', 'web', `${FOLDER}:/srv/uploads`],
    ]);
  });

  it('is seen where the app is of its environment, which alone can stop it', async () => {
    const context = await testContext();
    context.fake(
      'dokku',
      `case "$1" in config:get) echo env_1;; storage:list) echo ' ${FOLDER}:/srv/uploads';; ps:report) echo true;; esac`,
    );
    usePath(String(context.env['PATH']));
    const dokku = createDokkuHost(process.env, { dataDir: tempDir(), log: collectedLog() });
    expect(await dokku.look('web', 'env_1', [uploads, path])).toEqual({ isRunning: true, has: [uploads] });
    expect(await dokku.look('web', 'env_2', [uploads])).toBeUndefined();
    await dokku.stop('web', 'env_2');
    expect(context.calls('dokku').map(([name]) => name)).not.toContain('ps:stop');
    await dokku.stop('web', 'env_1');
    expect(context.calls('dokku').at(-1)).toEqual(['ps:stop', 'web']);
  });

  it('has its logs printed by Dokku, those of other environments’ apps by nobody', async () => {
    const context = await testContext();
    context.fake('dokku', 'case "$1" in config:get) echo env_1;; esac');
    usePath(String(context.env['PATH']));
    const documents = ['env_1', 'env_2'].map((environmentId): WireHostApp => ({
      environmentId,
      revision: 1,
      app: 'web',
      kind: 'dokku',
    }));
    const logs = createDokkuHost(process.env, { dataDir: tempDir(), log: collectedLog() }).logs(() => [
      ...documents,
      { ...documents[0]!, kind: 'container' },
    ]);
    expect(await logs.take()).toBeUndefined();
    const asked = context.calls('dokku').filter(([name = '']) => name.startsWith('nginx:'));
    expect(asked).toEqual([
      ['nginx:access-logs', 'web'],
      ['nginx:error-logs', 'web'],
    ]);
  });
});
