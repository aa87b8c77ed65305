/** Databases as people ask for them and as a runner has them, over the real doors. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { refusedWith } from '../../../test/setup/delivery/refused-with.ts';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { FACTS } from '../../../test/e2e/independent-runner.ts';
import { purgeDatabases } from './host-part.ts';

const HOST = { volumes: true, databases: true, mountRoots: [] };
const DIGEST = `sha256:${'5'.repeat(64)}`;
const SHA256 = '7'.repeat(64);

interface HostAnswer {
  readonly apps?: ReadonlyArray<{
    readonly environmentId: string;
    readonly revision: number;
    readonly databases?: readonly object[];
  }>;
  readonly tombstones?: ReadonlyArray<{ readonly id: string; readonly volume?: string }>;
}

describe.skipIf(!(await has('postgres')))('databases', () => {
  let w: World;
  let runner: ScriptedRunner;
  let environmentId: string;
  let environments = 0;
  beforeAll(async () => {
    w = await world();
    runner = await w.runner();
    await runner.call('heartbeat', { facts: { ...FACTS, host: HOST } });
  });
  beforeEach(async () => {
    const name = `data-${(environments += 1)}`;
    const deploy = { kind: 'container', app: name } as const;
    const repository = 'https://git.example.com/acme/data';
    ({ id: environmentId } = await w.sdk.environments.create(w.projectId, { name, repository, deploy }));
  });

  const database = () => w.sdk.database;
  const testDatabase = () => w.sdk.testDatabase;
  const host = async (said: object = {}): Promise<HostAnswer> =>
    (await runner.call('host', said)).body as HostAnswer;
  const documentNow = async () => (await host()).apps?.find((app) => app.environmentId === environmentId);
  const observe = async (...databases: readonly object[]): Promise<void> => {
    const { revision = 0 } = (await documentNow()) ?? {};
    await host({ observed: [{ environmentId, revision, state: 'running', databases }] });
  };

  it('is chosen a machine, is on the document of its runner and in offers, and is as that says', async () => {
    const made = await database().create(environmentId, 'postgres', { imageVersion: '16' });
    expect(made).toMatchObject({
      type: 'postgres',
      image: 'docker.io/library/postgres',
      imageVersion: '16',
      state: 'requested',
      variable: 'DATABASE_URL',
    });
    expect(await database().create(environmentId, 'postgres', { imageVersion: '16' })).toEqual(made);
    const { id } = made;
    const wanted = { id, type: 'postgres', image: 'docker.io/library/postgres:16', remove: false };
    expect((await documentNow())?.databases).toEqual([{ ...wanted, digest: '' }]);
    await observe({ id, state: 'provisioning' });
    expect(await database().get(environmentId)).toMatchObject({ state: 'provisioning' });
    await observe({ id, state: 'ready', digest: DIGEST });
    await observe({
      id,
      state: 'unhealthy',
      problem: 'it does not answer',
      digest: `${DIGEST.slice(0, -1)}6`,
    });
    expect(await database().get(environmentId)).toMatchObject({
      state: 'unhealthy',
      problem: 'it does not answer',
      digest: DIGEST,
    });
    expect(await w.sdk.hosting.get(environmentId)).toMatchObject({ holdsData: true });
    await w.sdk.builds.create(environmentId);
    const offer = await runner.take();
    expect(offer.deploy).toMatchObject({ databases: [{ ...wanted, digest: DIGEST }] });
    expect(offer).not.toHaveProperty('testDatabase');
    await runner.finish(offer);
  });

  it('is named among the variables, whose value nobody here knows, and which nobody else sets', async () => {
    const { id } = await database().create(environmentId, 'redis');
    expect(await w.sdk.variables.list(environmentId)).toEqual([
      expect.objectContaining({ id, name: 'REDIS_URL', secret: true, managedBy: 'database' }),
    ]);
    expect(await w.sdk.variables.list(environmentId)).not.toEqual([
      expect.objectContaining({ value: expect.anything() }),
    ]);
    expect(await refusedWith(w.sdk.variables.set(environmentId, 'REDIS_URL', 'redis://elsewhere'))).toMatch(
      /^409 variable_managed .*database/,
    );
    await w.sdk.variables.set(environmentId, 'DATABASE_URL', 'postgres://elsewhere');
  });

  it('is refused where a variable has its name, and a second one where there is one', async () => {
    await w.sdk.variables.set(environmentId, 'DATABASE_URL', 'postgres://elsewhere');
    expect(await refusedWith(database().create(environmentId, 'postgres'))).toMatch(
      /^409 name_taken .*DATABASE_URL/,
    );
    await database().create(environmentId, 'mongodb');
    expect(await refusedWith(database().create(environmentId, 'redis'))).toMatch(
      /^409 database_exists .*mongodb/,
    );
    const two = await w.sdk.environments.create(w.projectId, {
      name: `two-${environments}`,
      deploy: { kind: 'container', app: `two-${environments}` },
    });
    const both = await Promise.allSettled(
      (['redis', 'postgres'] as const).map(async (type) => await database().create(two.id, type)),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it('is stopped by its runner, kept, taken back with its content, and gone a week later', async () => {
    const { id } = await database().create(environmentId, 'postgres');
    await observe({ id, state: 'ready', digest: DIGEST });
    await database().delete(environmentId);
    expect(await database().get(environmentId)).toMatchObject({ id, state: 'deleting' });
    expect((await documentNow())?.databases).toMatchObject([{ id, remove: true }]);
    await observe({ id, state: 'ready' });
    expect(await database().get(environmentId)).toMatchObject({ state: 'deleting' });
    await observe({ id, state: 'removed' });
    const kept = await database().get(environmentId);
    expect(kept.state).toBe('retained');
    expect(Date.parse(kept.retainedUntil ?? '') - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
    expect((await documentNow())?.databases).toEqual([]);
    expect(await database().create(environmentId, 'postgres')).toMatchObject({ id, state: 'requested' });
    await observe({ id, state: 'ready', digest: DIGEST });

    await database().delete(environmentId);
    await observe({ id, state: 'removed' });
    await w.server.db.sql`update databases set retained_until = now() where id = ${id}`;
    await purgeDatabases(w.server.db.sql);
    expect(await refusedWith(database().get(environmentId))).toMatch(/^404 not_found .*database/);
    const { tombstones = [] } = await host();
    expect(tombstones).toMatchObject([{ volume: `@database/${id}` }]);
    expect(await w.sdk.hosting.get(environmentId)).toMatchObject({ holdsData: false });
    await host({ removed: tombstones.map((each) => each.id) });
  });

  it('goes with its environment: its content a week later', async () => {
    const { id } = await database().create(environmentId, 'postgres');
    await w.sdk.environments.delete(environmentId);
    const rows = await w.server.db
      .sql`select volume from host_tombstones where environment_id = ${environmentId} and due_at > now() + interval '6 days'`;
    expect(rows).toEqual([{ volume: `@database/${id}` }]);
    const { tombstones = [] } = await host();
    await host({ removed: tombstones.map((each) => each.id) });
  });

  it('tells people once that backups fail, until one is good again', async () => {
    const { id } = await database().create(environmentId, 'postgres');
    const good = { at: '2026-11-27T03:00:00Z', state: 'good', bytes: 4_096, sha256: SHA256 };
    const all = async () =>
      (await w.sdk.notifications.list()).filter(({ kind }) => kind === 'database.backup_failed');
    const told = async () => (await all()).length;
    await observe({ id, state: 'ready', backup: { ...good, goodAt: good.at } });
    expect(await database().get(environmentId)).toMatchObject({ backup: { state: 'good', bytes: 4_096 } });
    const failed = { ...good, state: 'failed', problem: 'no space left on device', goodAt: good.at };
    for (const day of [28, 29])
      await observe({ id, state: 'ready', backup: { ...failed, at: `2026-11-${day}T03:00:00Z` } });
    expect(await database().get(environmentId)).toMatchObject({
      backup: { state: 'failed', problem: 'no space left on device', goodAt: '2026-11-27T03:00:00Z' },
    });
    await waitFor('the notification', async () => (await told()) > 0);
    await observe({ id, state: 'ready', backup: { ...good, goodAt: good.at } });
    const again = { ...failed, at: '2026-11-30T03:00:00Z' };
    await observe({ id, state: 'ready', backup: again });
    await waitFor('the second notification', async () => (await told()) > 1);
    expect(await told()).toBe(2);
    expect((await all())[0]).toMatchObject({
      title: `The backup of the database of data-${environments} failed`,
      body: expect.stringContaining('no space left on device'),
    });
  });

  it('of builds is offered with each of them, whether they deploy or not, and is no variable', async () => {
    const made = await testDatabase().create(environmentId, 'postgres');
    expect(made).toMatchObject({ state: 'configured', variable: 'DATABASE_URL' });
    expect(await testDatabase().create(environmentId, 'postgres')).toEqual(made);
    expect(await w.sdk.variables.list(environmentId)).toEqual([]);
    expect((await documentNow())?.databases).toEqual([]);
    await w.sdk.builds.create(environmentId);
    const offer = await runner.take();
    expect(offer).toMatchObject({
      testDatabase: { id: made.id, type: 'postgres', image: 'docker.io/library/postgres:17' },
    });
    await runner.finish(offer);
    await testDatabase().delete(environmentId);
    expect(await refusedWith(testDatabase().get(environmentId))).toMatch(/^404 not_found/);
    await w.sdk.builds.create(environmentId);
    const next = await runner.take();
    expect(next).not.toHaveProperty('testDatabase');
    await runner.finish(next);
  });

  it('is lost with its runner, of which people are told, and goes at once when it is deleted then', async () => {
    const { id } = await database().create(environmentId, 'postgres');
    const [placed] = await w.server.db.sql<Array<{ runnerId: string }>>`
      select runner_id as "runnerId" from host_apps where environment_id = ${environmentId}`;
    const other = await w.runner();
    await w.server.db
      .sql`update host_apps set runner_id = ${other.runnerId} where environment_id = ${environmentId}`;
    expect(placed?.runnerId).toBe(runner.runnerId);
    await w.sdk.runners.revoke(w.teamId, other.runnerId);
    expect(await database().get(environmentId)).toMatchObject({
      id,
      state: 'lost',
      problem: expect.stringContaining('svc-runner database'),
    });
    await waitFor('the notification', async () =>
      (await w.sdk.notifications.list()).find(
        ({ kind, title }) => kind === 'database.lost' && title.endsWith(`data-${environments}`),
      ),
    );
    await database().delete(environmentId);
    expect(await refusedWith(database().get(environmentId))).toMatch(/^404 not_found/);
  });

  it.each(['postgres:17', 'Postgres', '../postgres', 'dir:/etc', 'a b', '-x', `x@${DIGEST}`])(
    'has no image %j',
    async (image) => {
      expect(await refusedWith(database().create(environmentId, 'postgres', { image }))).toMatch(
        /^400 validation_failed .*image/,
      );
    },
  );

  it('needs a deploy target that is no app of Dokku, and a runner that brings databases up', async () => {
    await w.sdk.environments.update(environmentId, { deploy: { kind: 'none' } });
    const create = async () => await refusedWith(database().create(environmentId, 'postgres'));
    expect(await create()).toMatch(/^409 environment_incomplete /);
    await w.sdk.environments.update(environmentId, { deploy: { kind: 'dokku', app: `x-${environments}` } });
    expect(await create()).toMatch(/^409 host_unavailable .*Dokku/);
    await w.sdk.environments.update(environmentId, {
      deploy: { kind: 'container', app: `x-${environments}` },
    });
    await runner.call('heartbeat', { facts: { ...FACTS, host: { ...HOST, databases: false } } });
    expect(await create()).toMatch(/^409 host_unavailable .*databases/);
    await runner.call('heartbeat', { facts: { ...FACTS, host: HOST } });
  });
});
