/** New work that a gate of spending or a limit of the plan refuses, and what goes on all the same. */
import { BuildsService, DeployDecision } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBuildWorld, type BuildWorld } from '../../../test/setup/builds/build-world.ts';
import { has } from '../../../test/setup/needs.ts';
import { newId } from '../../base/ids.ts';
import type { NewWork } from './submit.ts';

const { method } = BuildsService;
const UNTIL = '2026-12-01T00:00:00.000Z';

describe.skipIf(!(await has('postgres')))('held work', () => {
  let world: BuildWorld;
  let environmentId: string;
  let projectId: string;
  beforeAll(async () => {
    world = await createBuildWorld({ queuedMax: 50 });
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => {
    await world.db.sql`truncate spend_gates, team_limits, work_items cascade`;
    await world.db.sql`delete from builds`;
    environmentId = await world.environment();
    projectId = await projectOf(environmentId);
  });

  const projectOf = async (id: string): Promise<string> => {
    const [row] = await world.db.sql<
      Array<{ id: string }>
    >`select project_id as id from environments where id = ${id}`;
    return row!.id;
  };
  const hold = async (scope: string, cause = 'budget', details: object = {}): Promise<void> => {
    const all = { resetsAt: UNTIL, changedBy: 'admins and owners of the team', ...details };
    await world.db.sql`
      insert into spend_gates (team_id, scope, cause, details, since)
      values (${world.teamId}, ${scope}, ${cause}, ${world.db.sql.json(all)}, now())`;
  };
  const work = (more: Partial<NewWork> = {}): NewWork => ({
    id: newId('run'),
    kind: 'run',
    teamId: world.teamId,
    createdBy: world.userId,
    createdAt: new Date(),
    spec: { command: ['true'] },
    labels: {},
    needsContainer: false,
    timeoutMs: 600_000,
    logLimit: 1_000,
    ...more,
  });
  const code = async (submitted: Promise<unknown>): Promise<string> =>
    await submitted.then(
      () => 'taken',
      (error: { code: string }) => error.code,
    );
  const run = async (environment?: string, teamId = world.teamId): Promise<string> =>
    await code(
      world.submitWork({ work: work({ teamId, labels: environment === undefined ? {} : { environment } }) }),
    );
  const build = async (id = environmentId): Promise<string> => await code(world.submitBuild(id));

  it('of a team is all new work of it, and of no other', async () => {
    await hold('');
    expect([await run(), await run(environmentId), await build()]).toEqual(Array(3).fill('spend_refused'));
    expect(await run(undefined, await world.team())).toBe('taken');
    const [left] = await world.db
      .sql`select (select count(*) from builds)::int as builds, (select count(*) from work_items where team_id = ${world.teamId})::int as items`;
    expect(left).toEqual({ builds: 0, items: 0 });
  });

  it('of an environment is its builds and the runs that name it', async () => {
    const other = await world.environment();
    await hold(environmentId);
    expect([await run(environmentId), await build()]).toEqual(['spend_refused', 'spend_refused']);
    expect([await run(), await run(other), await run('env_no'), await build(other)]).toEqual(
      Array(4).fill('taken'),
    );
  });

  it('of a project is that of its environments', async () => {
    const { sql } = world.db;
    const [elsewhere, prj] = [await world.environment(), newId('prj')];
    await sql`insert into projects (id, team_id, name, slug, created_at) values (${prj}, ${world.teamId}, 'p', ${prj}, now())`;
    await sql`update environments set project_id = ${prj} where id = ${elsewhere}`;
    await hold(projectId);
    expect([await run(environmentId), await build()]).toEqual(['spend_refused', 'spend_refused']);
    expect([await run(), await run(elsewhere), await build(elsewhere)]).toEqual(Array(3).fill('taken'));
  });

  it("is not held by a label that names another team's environment, nor let out by it", async () => {
    const other = await world.team();
    const project = newId('prj');
    const foreign = newId('env');
    const { sql } = world.db;
    await sql`insert into projects (id, team_id, name, slug, created_at) values (${project}, ${other}, 'p', ${project}, now())`;
    await sql`insert into environments (id, team_id, project_id, name, created_at, updated_at) values (${foreign}, ${other}, ${project}, 'e', now(), now())`;
    await hold(foreign);
    expect(await run(foreign)).toBe('taken');
    await hold('');
    expect(await run(foreign)).toBe('spend_refused');
  });

  it('is told one cause, the widest', async () => {
    await hold(environmentId, 'budget', { budgetId: 'bdg_narrow' });
    const refusal = async () =>
      await world
        .submitWork({ work: work({ labels: { environment: environmentId } }) })
        .catch((error: unknown) => error);
    expect(await refusal()).toMatchObject({
      details: { cause: 'budget', budgetId: 'bdg_narrow', resetsAt: UNTIL },
    });
    await hold('', 'budget', { budgetId: 'bdg_wide' });
    expect(await refusal()).toMatchObject({ details: { cause: 'budget', budgetId: 'bdg_wide' } });
    await hold('', 'included_time', {
      usedSeconds: 120_000,
      changedBy: 'the account that pays for the team',
    });
    expect(await refusal()).toMatchObject({
      code: 'spend_refused',
      status: 402,
      retryable: false,
      message: `new runs of team ${world.teamId} are refused by its included time, until ${UNTIL}; the account that pays for the team can change that before`,
      details: { cause: 'included_time', usedSeconds: 120_000 },
    });
  });

  it('is refused one by one of those that come together', async () => {
    await hold(environmentId);
    const labels = (n: number) => (n % 2 === 0 ? { environment: environmentId } : {});
    const outcomes = await Promise.all(
      Array.from(
        { length: 20 },
        async (_one, n) => await code(world.submitWork({ work: work({ labels: labels(n) }) })),
      ),
    );
    expect(outcomes).toEqual(
      Array.from({ length: 20 }, (_one, n) => (n % 2 === 0 ? 'spend_refused' : 'taken')),
    );
  });

  it('that waited or ran before goes on', async () => {
    const [waiting, held] = [await world.submit(world.teamId), await world.submit(world.teamId)];
    const runnerId = await world.runner(world.teamId);
    const first = await world.poll(runnerId);
    await hold('');
    await world.report(runnerId, { id: first!.workId, epoch: first!.epoch });
    const second = await world.poll(runnerId);
    expect([first!.workId, second!.workId]).toEqual([waiting, held]);
  });

  it('answers a repeated call as before', async () => {
    const keyed = {
      principal: `user:${world.userId}`,
      rpc: 'x',
      key: newId('key'),
      fingerprint: new Uint8Array([1]),
      status: 201,
      response: new Uint8Array([2]),
    };
    expect(await world.submitWork({ work: work(), keyed })).toBeUndefined();
    await hold('');
    expect(await world.submitWork({ work: work(), keyed })).toMatchObject({ status: 201 });
    expect(await code(world.submitWork({ work: work(), keyed: { ...keyed, key: newId('key') } }))).toBe(
      'spend_refused',
    );
    await world.db.sql`truncate spend_gates`;
    expect(await world.submitWork({ work: work(), keyed })).toMatchObject({ status: 201 });
  });

  it('is no deploy of a build that was let in, and is a rollback', async () => {
    environmentId = await world.environment({
      deploy: { kind: 'container', app: 'web', containerPort: 8080, hostPort: 0 },
      deployApproval: true,
    });
    const runnerId = await world.runner(world.teamId);
    const finish = async (phase: number): Promise<void> => {
      const { workId, epoch } = (await world.pollBuild(runnerId))!;
      await world.beatBuild(runnerId, { id: workId, epoch, phase });
      await world.reportBuild(runnerId, { id: workId, epoch });
    };
    const decide = async (buildId: string): Promise<string> =>
      await code(
        world.call(method.deployApproval, { environmentId, buildId, decision: DeployDecision.APPROVE }),
      );
    const buildId = await world.submitBuild(environmentId);
    await finish(3);
    await hold('');
    expect(await decide(buildId)).toBe('taken');
    await finish(4);
    // Whoever rolls back waits for approval like others; what is approved then is the first item of a new
    // build.
    const { id: back } = await world.call(method.rollback, { environmentId, buildId });
    expect(await decide(back)).toBe('spend_refused');
    await world.db.sql`truncate spend_gates`;
    expect(await decide(back)).toBe('taken');
  });

  it('of a plan waits and runs no longer than the plan says', async () => {
    // One of which this process has counted nothing yet: what a count said holds for a second.
    const teamId = await world.team();
    const limits = async (queued: number | null, timeout: number | null) =>
      await world.db.sql`
        insert into team_limits (team_id, queued_max, run_timeout_seconds_max) values (${teamId}, ${queued}, ${timeout}), (${world.teamId}, ${queued}, ${timeout})
        on conflict (team_id) do update set queued_max = excluded.queued_max, run_timeout_seconds_max = excluded.run_timeout_seconds_max`;
    await limits(3, 600);
    const tooLong = world.submitWork({ work: work({ teamId, timeoutMs: 601_000 }) });
    await expect(tooLong).rejects.toMatchObject({
      code: 'validation_failed',
      details: { fields: [{ field: 'limits.timeoutSeconds', rule: 'plan' }] },
    });
    const outcomes = await Promise.all(Array.from({ length: 6 }, async () => await run(undefined, teamId)));
    expect(outcomes.toSorted()).toEqual([
      ...Array<string>(3).fill('limit_reached'),
      ...Array<string>(3).fill('taken'),
    ]);
    await expect(world.submit(teamId)).rejects.toMatchObject({
      code: 'limit_reached',
      details: { limit: 3 },
    });
    expect(await build()).toBe('taken'); // Builds take longer, and wait in a queue of their own.
    await limits(5, null);
    expect([
      await run(undefined, teamId),
      await run(undefined, teamId),
      await run(undefined, teamId),
    ]).toEqual(['taken', 'taken', 'limit_reached']);
    await limits(1_000_000, null);
    expect(
      (await Promise.all(Array.from({ length: 46 }, async () => await run(undefined, teamId)))).filter(
        (each) => each === 'taken',
      ),
    ).toHaveLength(45);
  });
});
