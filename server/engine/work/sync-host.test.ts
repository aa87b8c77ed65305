/** A runner is told what to host, and what it says of that counts. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBuildWorld, OUTCOME, type BuildWorld } from '../../../test/setup/builds/build-world.ts';
import { has } from '../../../test/setup/needs.ts';
import { appOnHost } from '../../apps/hosting/index.ts';
import { sweep } from './sweeper.ts';
import { createSyncHost, type SyncHost, type SyncHostInput } from './sync-host.ts';

const DEPLOYING = 4;
const deploy = { kind: 'container', app: 'web', containerPort: 8080, hostPort: 0 };
const RUNNING = { state: 'running', buildId: 'bld_1', address: 'http://127.0.0.1:20000' };

describe.skipIf(!(await has('postgres')))('what a runner hosts', () => {
  let world: BuildWorld;
  let sync: SyncHost;
  let runner: string;
  let environmentId: string;
  beforeAll(async () => {
    world = await createBuildWorld();
    sync = createSyncHost(world.db.sql, world.settings, () => [
      { field: 'mounts', select: (sql) => sql`case when h.holds_data then '[{"id": "mnt_1"}]'::jsonb end` },
    ]);
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => {
    runner = await world.runner(world.teamId);
    environmentId = await world.environment({ deploy });
  });

  const call = async (said: Partial<SyncHostInput> = {}, runnerId = runner) => {
    const outcome = await sync({ runnerId, bootId: '', have: {}, observed: [], removed: [], ...said });
    if (outcome === undefined) throw new Error('no such runner');
    return outcome;
  };
  const build = async (id = environmentId, how: { readonly exitCode?: number } = {}): Promise<string> => {
    const buildId = await world.submitBuild(id);
    const grant = await world.pollBuild(runner);
    if (grant === undefined) throw new Error('no build was granted');
    const { workId, epoch } = grant;
    const { exitCode = 0 } = how;
    const address = exitCode === 0 ? 'http://127.0.0.1:20000' : undefined;
    await world.beatBuild(runner, { id: workId, epoch, phase: DEPLOYING });
    await world.reportBuild(runner, { id: workId, epoch, exitCode, build: { ...OUTCOME, address } });
    return buildId;
  };
  const change = async (column: string, value: unknown): Promise<void> => {
    const { sql } = world.db;
    await sql`update environments set deploy = deploy || ${sql.json({ [column]: value } as never)} where id = ${environmentId}`;
  };
  const hosted = async (): Promise<Record<string, unknown>> => {
    const [row] = await world.db.sql`select * from host_apps where environment_id = ${environmentId}`;
    return row ?? {};
  };
  const revision = async (): Promise<number> => (await call({ have: { [environmentId]: 0 } })).revision;

  it('is nothing at first, and an app from its first deploy on, told until the runner has it', async () => {
    expect(await call()).toMatchObject({ revision: 0, apps: [], tombstones: [], more: false });
    expect(await build(environmentId, { exitCode: 1 })).toBeDefined();
    expect((await call()).apps).toEqual([]);
    await build();
    const { apps, revision: of } = await call();
    expect(apps).toMatchObject([{ environmentId, revision: 1, kind: 'container', containerPort: 8080 }]);
    expect(of).toBe(1);
    expect((await call({ have: { [environmentId]: 1 } })).apps).toEqual([]);
    await build();
    expect((await call({ have: { [environmentId]: 1 } })).apps).toMatchObject([{ revision: 2 }]);
    expect(await revision()).toBe(2);
  });

  it('is told with what features add to it', async () => {
    await build();
    expect((await call()).apps[0]).not.toHaveProperty('mounts');
    await world.db
      .sql`update host_apps set holds_data = true, revision = revision + 1 where environment_id = ${environmentId}`;
    expect((await call()).apps).toMatchObject([{ revision: 2, mounts: [{ id: 'mnt_1' }] }]);
  });

  it('is told to no other runner, and what that one says of it changes nothing', async () => {
    await build();
    const other = await world.runner(world.teamId);
    expect((await call({}, other)).apps).toEqual([]);
    const said = { observed: [{ environmentId, revision: 1, ...RUNNING }] };
    await call(said, other);
    // A revision that never was, of a server that was restored from an older dump.
    await call({ observed: [{ environmentId, revision: 9, ...RUNNING }] });
    expect(await hosted()).toMatchObject({ observed: null });
    await call(said);
    expect(await hosted()).toMatchObject({ observed: { revision: 1, ...RUNNING } });
  });

  it('goes by a tombstone alone, which comes until it was carried out', async () => {
    await build();
    const { app } = await hosted();
    const before = await revision();
    await world.db.sql`delete from builds where environment_id = ${environmentId}`;
    await world.db.sql`delete from environments where id = ${environmentId}`;
    const { tombstones, apps, revision: after } = await call();
    expect(tombstones).toMatchObject([{ environmentId, kind: 'container', app }]);
    expect(apps).toEqual([]);
    expect(after).toBeGreaterThan(before);
    const ids = tombstones.map(({ id }) => String(id));
    const other = await world.runner(world.teamId);
    expect((await call({ removed: ids }, other)).tombstones).toEqual([]);
    expect((await call()).tombstones).toHaveLength(1);
    expect((await call({ removed: ids })).tombstones).toEqual([]);
    expect((await call()).tombstones).toEqual([]);
  });

  it('is removed under its old name once the new one is up, and not when that deploy was lost', async () => {
    await build();
    const { app } = await hosted();
    await change('app', `${String(app)}-new`);
    const id = await world.submitBuild(environmentId);
    const grant = await world.pollBuild(runner);
    await world.beatBuild(runner, { id, epoch: 1, ...grant, phase: DEPLOYING });
    await world.expire(grant?.workId ?? '');
    await sweep(world.db.sql, world.settings);
    expect(await hosted()).toMatchObject({ app, build_id: id });
    expect((await call()).tombstones).toEqual([]);
    await build();
    expect(await hosted()).toMatchObject({ app: `${String(app)}-new` });
    expect((await call()).tombstones).toMatchObject([{ environmentId, app }]);
  });

  it('has in the service’s pool the name that the build was offered under', async () => {
    await build();
    const { app } = await hosted();
    const pool = await world.runner(await world.team());
    await world.db.sql`update host_apps set runner_id = ${pool} where environment_id = ${environmentId}`;
    expect((await call({}, pool)).apps).toMatchObject([{ app: appOnHost(String(app), world.teamId, true) }]);
    expect((await call()).apps).toEqual([]);
  });

  it('is answered in parts where it is more than an answer holds', async () => {
    const { sql } = world.db;
    const all = await Promise.all(
      Array.from({ length: 201 }, async () => await world.environment({ deploy })),
    );
    await sql`
      insert into host_apps (environment_id, team_id, runner_id, kind, app, container_port)
      select id, team_id, ${runner}, 'container', deploy ->> 'app', 8080 from environments where id = any(${all})`;
    const first = await call();
    expect(first.apps).toHaveLength(200);
    expect(first.more).toBe(true);
    const have = Object.fromEntries(first.apps.map(({ environmentId: id }) => [String(id), 1]));
    const rest = await call({ have });
    expect(rest.apps).toHaveLength(1);
    expect(rest.more).toBe(false);
  });

  it('is told to a runner that is revoked no more', async () => {
    await build();
    await world.db.sql`update runners set revoked_at = now() where id = ${runner}`;
    expect(await call()).toMatchObject({ revoked: true, apps: [] });
  });
});
