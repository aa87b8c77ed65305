/** Databases as people ask for them and as a runner has them, over the real doors. */
import { describe, expect, it } from 'vitest';
import { useHosting } from '../../../test/setup/builds/hosting-world.ts';
import { refusedWith } from '../../../test/setup/delivery/refused-with.ts';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { purgeDatabases } from './host-part.ts';

const HOST = { volumes: true, databases: true, mountRoots: [] };
const DIGEST = `sha256:${'5'.repeat(64)}`;
const SHA256 = '7'.repeat(64);

describe.skipIf(!(await has('postgres')))('databases', () => {
  const hosting = useHosting(HOST);
  const database = () => hosting.w.sdk.database;
  const testDatabase = () => hosting.w.sdk.testDatabase;
  const observe = async (...databases: readonly object[]) => await hosting.observe({ databases });

  it('is chosen a machine, is on the document of its runner and in offers, and is as that says', async () => {
    const made = await database().create(hosting.environmentId, 'postgres', { imageVersion: '16' });
    expect(made).toMatchObject({
      type: 'postgres',
      image: 'docker.io/library/postgres',
      imageVersion: '16',
      state: 'requested',
      variable: 'DATABASE_URL',
    });
    expect(await database().create(hosting.environmentId, 'postgres', { imageVersion: '16' })).toEqual(made);
    const { id } = made;
    const wanted = { id, type: 'postgres', image: 'docker.io/library/postgres:16', remove: false };
    expect((await hosting.documentNow())?.databases).toEqual([{ ...wanted, digest: '' }]);
    await observe({ id, state: 'provisioning' });
    expect(await database().get(hosting.environmentId)).toMatchObject({ state: 'provisioning' });
    await observe({ id, state: 'ready', digest: DIGEST });
    await observe({
      id,
      state: 'unhealthy',
      problem: 'it does not answer',
      digest: `${DIGEST.slice(0, -1)}6`,
    });
    expect(await database().get(hosting.environmentId)).toMatchObject({
      state: 'unhealthy',
      problem: 'it does not answer',
      digest: DIGEST,
    });
    expect(await hosting.w.sdk.hosting.get(hosting.environmentId)).toMatchObject({ holdsData: true });
    await hosting.w.sdk.builds.create(hosting.environmentId);
    const offer = await hosting.runner.take();
    expect(offer.deploy).toMatchObject({ databases: [{ ...wanted, digest: DIGEST }] });
    expect(offer).not.toHaveProperty('testDatabase');
    await hosting.runner.finish(offer);
  });

  it('is named among the variables, whose value nobody here knows, and which nobody else sets', async () => {
    const { id } = await database().create(hosting.environmentId, 'redis');
    expect(await hosting.w.sdk.variables.list(hosting.environmentId)).toEqual([
      expect.objectContaining({ id, name: 'REDIS_URL', secret: true, managedBy: 'database' }),
    ]);
    expect(await hosting.w.sdk.variables.list(hosting.environmentId)).not.toEqual([
      expect.objectContaining({ value: expect.anything() }),
    ]);
    expect(
      await refusedWith(hosting.w.sdk.variables.set(hosting.environmentId, 'REDIS_URL', 'redis://elsewhere')),
    ).toMatch(/^409 variable_managed .*database/);
    await hosting.w.sdk.variables.set(hosting.environmentId, 'DATABASE_URL', 'postgres://elsewhere');
  });

  it('is refused where a variable has its name, and a second one where there is one', async () => {
    await hosting.w.sdk.variables.set(hosting.environmentId, 'DATABASE_URL', 'postgres://elsewhere');
    expect(await refusedWith(database().create(hosting.environmentId, 'postgres'))).toMatch(
      /^409 name_taken .*DATABASE_URL/,
    );
    await database().create(hosting.environmentId, 'mongodb');
    expect(await refusedWith(database().create(hosting.environmentId, 'redis'))).toMatch(
      /^409 database_exists .*mongodb/,
    );
    const two = await hosting.w.sdk.environments.create(hosting.w.projectId, {
      name: `two-${hosting.name}`,
      deploy: { kind: 'container', app: `two-${hosting.name}` },
    });
    const both = await Promise.allSettled(
      (['redis', 'postgres'] as const).map(async (type) => await database().create(two.id, type)),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it('is stopped by its runner, kept, taken back with its content, and gone a week later', async () => {
    const { id } = await database().create(hosting.environmentId, 'postgres');
    await observe({ id, state: 'ready', digest: DIGEST });
    await database().delete(hosting.environmentId);
    expect(await database().get(hosting.environmentId)).toMatchObject({ id, state: 'deleting' });
    expect((await hosting.documentNow())?.databases).toMatchObject([{ id, remove: true }]);
    await observe({ id, state: 'ready' });
    expect(await database().get(hosting.environmentId)).toMatchObject({ state: 'deleting' });
    await observe({ id, state: 'removed' });
    const kept = await database().get(hosting.environmentId);
    expect(kept.state).toBe('retained');
    expect(Date.parse(kept.retainedUntil ?? '') - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
    expect((await hosting.documentNow())?.databases).toEqual([]);
    expect(await database().create(hosting.environmentId, 'postgres')).toMatchObject({
      id,
      state: 'requested',
    });
    await observe({ id, state: 'ready', digest: DIGEST });

    await database().delete(hosting.environmentId);
    await observe({ id, state: 'removed' });
    // Another one that came and went in between leaves it what it is.
    const other = await database().create(hosting.environmentId, 'redis');
    await observe({ id: other.id, state: 'ready', digest: DIGEST });
    await database().delete(hosting.environmentId);
    await observe({ id: other.id, state: 'removed' });
    expect(await database().create(hosting.environmentId, 'postgres')).toMatchObject({
      id,
      state: 'requested',
    });
    await database().delete(hosting.environmentId);
    await observe({ id, state: 'removed' });
    await hosting.w.server.db.sql`delete from databases where id = ${other.id}`;
    await hosting.w.server.db.sql`update databases set retained_until = now() where id = ${id}`;
    await purgeDatabases(hosting.w.server.db.sql);
    expect(await refusedWith(database().get(hosting.environmentId))).toMatch(/^404 not_found .*database/);
    expect(await hosting.bury()).toMatchObject([{ volume: `@database/${id}` }]);
    expect(await hosting.w.sdk.hosting.get(hosting.environmentId)).toMatchObject({ holdsData: false });
  });

  it('goes with its environment: its content a week later', async () => {
    const { id } = await database().create(hosting.environmentId, 'postgres');
    await hosting.w.sdk.environments.delete(hosting.environmentId);
    const rows = await hosting.w.server.db
      .sql`select volume from host_tombstones where environment_id = ${hosting.environmentId} and due_at > now() + interval '6 days'`;
    expect(rows).toEqual([{ volume: `@database/${id}` }]);
    await hosting.bury();
  });

  it('tells people once that backups fail, until one is good again', async () => {
    const { id } = await database().create(hosting.environmentId, 'postgres');
    const good = { at: '2026-11-27T03:00:00Z', state: 'good', bytes: 4_096, sha256: SHA256 };
    const all = async () =>
      (await hosting.w.sdk.notifications.list()).filter(({ kind }) => kind === 'database.backup_failed');
    const told = async () => (await all()).length;
    await observe({ id, state: 'ready', backup: { ...good, goodAt: good.at } });
    expect(await database().get(hosting.environmentId)).toMatchObject({
      backup: { state: 'good', bytes: 4_096 },
    });
    const failed = { ...good, state: 'failed', problem: 'no space left on device', goodAt: good.at };
    for (const day of [28, 29])
      await observe({ id, state: 'ready', backup: { ...failed, at: `2026-11-${day}T03:00:00Z` } });
    expect(await database().get(hosting.environmentId)).toMatchObject({
      backup: { state: 'failed', problem: 'no space left on device', goodAt: '2026-11-27T03:00:00Z' },
    });
    await waitFor('the notification', async () => (await told()) > 0);
    await observe({ id, state: 'ready', backup: { ...good, goodAt: good.at } });
    const again = { ...failed, at: '2026-11-30T03:00:00Z' };
    await observe({ id, state: 'ready', backup: again });
    await waitFor('the second notification', async () => (await told()) > 1);
    expect(await told()).toBe(2);
    expect((await all())[0]).toMatchObject({
      title: `The backup of the database of ${hosting.name} failed`,
      body: expect.stringContaining('no space left on device'),
    });
  });

  it('of builds is offered with each of them, whether they deploy or not, and is no variable', async () => {
    const made = await testDatabase().create(hosting.environmentId, 'postgres');
    expect(made).toMatchObject({ state: 'configured', variable: 'DATABASE_URL' });
    expect(await testDatabase().create(hosting.environmentId, 'postgres')).toEqual(made);
    expect(await hosting.w.sdk.variables.list(hosting.environmentId)).toEqual([]);
    expect((await hosting.documentNow())?.databases).toEqual([]);
    await hosting.w.sdk.builds.create(hosting.environmentId);
    const offer = await hosting.runner.take();
    expect(offer).toMatchObject({
      testDatabase: { id: made.id, type: 'postgres', image: 'docker.io/library/postgres:17' },
    });
    await hosting.runner.finish(offer);
    await testDatabase().delete(hosting.environmentId);
    expect(await refusedWith(testDatabase().get(hosting.environmentId))).toMatch(/^404 not_found/);
    await hosting.w.sdk.builds.create(hosting.environmentId);
    const next = await hosting.runner.take();
    expect(next).not.toHaveProperty('testDatabase');
    await hosting.runner.finish(next);
  });

  it('is lost with its runner, of which people are told, and goes at once when it is deleted then', async () => {
    const { id } = await database().create(hosting.environmentId, 'postgres');
    const [placed] = await hosting.w.server.db.sql<Array<{ runnerId: string }>>`
      select runner_id as "runnerId" from host_apps where environment_id = ${hosting.environmentId}`;
    const other = await hosting.w.runner();
    await hosting.w.server.db
      .sql`update host_apps set runner_id = ${other.runnerId} where environment_id = ${hosting.environmentId}`;
    expect(placed?.runnerId).toBe(hosting.runner.runnerId);
    await hosting.w.sdk.runners.revoke(hosting.w.teamId, other.runnerId);
    expect(await database().get(hosting.environmentId)).toMatchObject({
      id,
      state: 'lost',
      problem: expect.stringContaining('svc-runner database'),
    });
    await waitFor('the notification', async () =>
      (await hosting.w.sdk.notifications.list()).find(
        ({ kind, title }) => kind === 'database.lost' && title.endsWith(`${hosting.name}`),
      ),
    );
    await database().delete(hosting.environmentId);
    expect(await refusedWith(database().get(hosting.environmentId))).toMatch(/^404 not_found/);
  });

  it.each(['postgres:17', 'Postgres', '../postgres', 'dir:/etc', 'a b', '-x', `x@${DIGEST}`])(
    'has no image %j',
    async (image) => {
      expect(await refusedWith(database().create(hosting.environmentId, 'postgres', { image }))).toMatch(
        /^400 validation_failed .*image/,
      );
    },
  );

  it('needs a deploy target that is no app of Dokku, and a runner that brings databases up', async () => {
    await hosting.w.sdk.environments.update(hosting.environmentId, { deploy: { kind: 'none' } });
    const create = async () => await refusedWith(database().create(hosting.environmentId, 'postgres'));
    expect(await create()).toMatch(/^409 environment_incomplete /);
    await hosting.w.sdk.environments.update(hosting.environmentId, {
      deploy: { kind: 'dokku', app: `x-${hosting.name}` },
    });
    expect(await create()).toMatch(/^409 host_unavailable .*Dokku/);
    await hosting.w.sdk.environments.update(hosting.environmentId, {
      deploy: { kind: 'container', app: `x-${hosting.name}` },
    });
    await hosting.canHost({ ...HOST, databases: false });
    expect(await create()).toMatch(/^409 host_unavailable .*databases/);
    await hosting.canHost();
  });
});
