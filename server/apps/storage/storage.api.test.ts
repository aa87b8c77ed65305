/** Storage as people ask for it and as a runner has it, over the real doors. */
import { describe, expect, it } from 'vitest';
import { useHosting } from '../../../test/setup/builds/hosting-world.ts';
import { has } from '../../../test/setup/needs.ts';
import { refusedWith } from '../../../test/setup/delivery/refused-with.ts';
import { purgeStorage } from './host-part.ts';

const HOST = { volumes: true, databases: false, mountRoots: ['/srv/data'] };

describe.skipIf(!(await has('postgres')))('storage', () => {
  const hosting = useHosting(HOST);
  const create = async (hostPath = 'uploads', containerPath = '/srv/uploads') =>
    await hosting.w.sdk.storage.create(hosting.environmentId, hostPath, containerPath);
  const list = async () => await hosting.w.sdk.storage.list(hosting.environmentId);
  const observe = async (mounts: readonly object[]) => await hosting.observe({ mounts });

  it('is chosen a machine before the first deploy, is offered with it, and is there when its runner says so', async () => {
    const made = await create();
    expect(made).toMatchObject({ state: 'pending_deploy', kind: 'volume', hostPath: 'uploads' });
    expect(await create()).toEqual(made);
    expect(await hosting.w.sdk.hosting.get(hosting.environmentId)).toMatchObject({
      runnerId: hosting.runner.runnerId,
      holdsData: false,
    });
    await hosting.w.sdk.builds.create(hosting.environmentId);
    const offer = await hosting.runner.take();
    const mount = { id: made.id, kind: 'volume', hostPath: 'uploads', containerPath: '/srv/uploads' };
    expect(offer.deploy).toMatchObject({ mounts: [mount] });
    await hosting.runner.finish(offer);
    expect((await hosting.documentNow())?.mounts).toEqual([mount]);
    await observe([{ id: made.id, mounted: true }]);
    expect(await list()).toMatchObject([{ id: made.id, state: 'mounted' }]);
    expect(await hosting.w.sdk.hosting.get(hosting.environmentId)).toMatchObject({ holdsData: true });
  });

  it('is detached by the next deploy, kept, taken back by its name, and gone a week later', async () => {
    const { id } = await create();
    await hosting.deploy();
    await observe([{ id, mounted: true }]);
    await hosting.w.sdk.storage.delete(hosting.environmentId, id);
    expect(await list()).toMatchObject([{ id, state: 'detaching' }]);
    expect((await hosting.documentNow())?.mounts ?? []).toEqual([]);
    await observe([{ id, mounted: true }]);
    expect(await list()).toMatchObject([{ id, state: 'detaching' }]);
    await observe([]);
    const [kept] = await list();
    expect(kept?.state).toBe('retained');
    expect(Date.parse(kept?.retainedUntil ?? '') - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
    expect(await create('uploads', '/srv/elsewhere')).toMatchObject({ id, state: 'pending_deploy' });

    await hosting.w.sdk.storage.delete(hosting.environmentId, id);
    await observe([]);
    await hosting.w.server.db.sql`update storage_mounts set retained_until = now() where id = ${id}`;
    await purgeStorage(hosting.w.server.db.sql);
    expect(await list()).toEqual([]);
    expect(await hosting.bury()).toMatchObject([{ volume: 'uploads' }]);
    expect(await hosting.w.sdk.hosting.get(hosting.environmentId)).toMatchObject({ holdsData: false });
  });

  it('goes with its environment: the app at once, its data a week later', async () => {
    const { id } = await create();
    await hosting.deploy();
    await observe([{ id, mounted: true }]);
    await hosting.w.sdk.environments.delete(hosting.environmentId);
    const { tombstones = [] } = await hosting.host();
    expect(tombstones.filter((each) => each.environmentId === hosting.environmentId)).toEqual([
      expect.not.objectContaining({ volume: expect.anything() }),
    ]);
    const rows = await hosting.w.server.db
      .sql`select volume from host_tombstones where environment_id = ${hosting.environmentId} and due_at > now() + interval '6 days'`;
    expect(rows).toEqual([{ volume: 'uploads' }]);
  });

  it('says what its machine refuses, and goes at once where no container ever had it', async () => {
    const { id } = await create('/srv/data/web', '/data');
    await observe([{ id, mounted: false, problem: 'the path does not exist on the machine' }]);
    expect(await list()).toMatchObject([
      { state: 'refused', kind: 'path', problem: 'the path does not exist on the machine' },
    ]);
    await hosting.w.sdk.storage.delete(hosting.environmentId, id);
    expect(await list()).toEqual([]);
  });

  it.each([
    ['/', '/data'],
    ['/srv/../etc', '/data'],
    ['../x', '/data'],
    ['a//b', '/data'],
    ['Uploads', '/data'],
    ['a,source=/etc', '/data'],
    ['uploads', 'data'],
    ['uploads', '/'],
    ['uploads', '/data/'],
    ['uploads', '/data/../etc'],
    ['uploads', '/proc/sys'],
    ['uploads', '/run/secrets'],
    ['uploads', '/etc/hosts'],
    ['uploads', '/data,destination=/x'],
    ['uploads', '/da\nta'],
  ])('has no host path %j at %j', async (hostPath, containerPath) => {
    expect(await refusedWith(create(hostPath, containerPath))).toMatch(/^400 validation_failed /);
  });

  it('mounts paths of the machine below the folders that its operator lists, and none of those themselves', async () => {
    for (const path of ['/etc', '/srv/data', '/srv/database/x'])
      expect(await refusedWith(create(path, '/data'))).toMatch(/^409 host_path_refused /);
    expect(await create('/srv/data/web', '/data')).toMatchObject({ kind: 'path' });
  });

  it('mounts no path of the machine that is, holds or lies in that of another environment', async () => {
    await create('/srv/data/shared/a', '/data');
    const others = await hosting.w.sdk.environments.create(hosting.w.projectId, {
      name: `other-${hosting.name}`,
      deploy: { kind: 'container', app: `other-${hosting.name}` },
    });
    const there = async (path: string) => await hosting.w.sdk.storage.create(others.id, path, '/data');
    for (const path of ['/srv/data/shared/a', '/srv/data/shared', '/srv/data/shared/a/b'])
      expect(await refusedWith(there(path))).toMatch(
        /^409 host_path_refused .* \/srv\/data\/shared\/a, which is/,
      );
    expect(await refusedWith(create('/srv/data/shared/a/b', '/b'))).toMatch(/^409 host_path_refused /);
    expect(await there('/srv/data/shared/ab')).toMatchObject({ kind: 'path' });
  });

  it('has a path in the container once, and a host path once', async () => {
    await create();
    expect(await refusedWith(create('other'))).toMatch(/^409 name_taken .*containerPath/);
    expect(await refusedWith(create('uploads', '/other'))).toMatch(/^409 name_taken .*hostPath/);
    const both = await Promise.allSettled([create('a', '/a'), create('b', '/a')]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it('needs a deploy target, and a runner that keeps data', async () => {
    await hosting.w.sdk.environments.update(hosting.environmentId, { deploy: { kind: 'none' } });
    expect(await refusedWith(create())).toMatch(/^409 environment_incomplete /);
    await hosting.w.sdk.environments.update(hosting.environmentId, {
      deploy: { kind: 'container', app: `x-${hosting.name}` },
    });
    await hosting.canHost(null);
    try {
      expect(await refusedWith(create())).toMatch(/^409 host_unavailable /);
      await hosting.deploy();
      expect(await refusedWith(create())).toMatch(/^409 host_unavailable /);
    } finally {
      await hosting.canHost();
    }
  });
});
