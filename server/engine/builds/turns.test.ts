/**
 * Whose turn it is: one build of an environment at a time, none left behind, and nobody who has to be woken
 * for it.
 */
import { BuildsService, DeployDecision } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { takeDueHints } from '../work/relay.ts';
import { sweep } from '../work/sweeper.ts';
import { NO_VIOLATIONS, violations } from '../../../test/setup/work/invariants.ts';
import { createBuildWorld, type BuildWorld } from '../../../test/setup/builds/build-world.ts';

const { method } = BuildsService;

describe.skipIf(!(await has('postgres')))('the turn of a build', () => {
  let world: BuildWorld;
  beforeAll(async () => {
    world = await createBuildWorld({ hintFirstMs: 1 });
  });
  afterAll(async () => await world?.drop());

  const due = async (): Promise<string[]> => {
    await world.db
      .sql`update work_items set hint_due_at = now() where state = 'queued' and hint_due_at < now() + interval '1 second'`;
    return (await takeDueHints(world.db.sql, world.settings)).map(({ workId }) => workId);
  };

  it('is hinted when it comes, and not before', async () => {
    const environment = await world.environment();
    const runner = await world.runner(world.teamId);
    const [one, two, three] = [
      await world.submitBuild(environment),
      await world.submitBuild(environment),
      await world.submitBuild(environment),
    ];
    expect(await due()).toEqual([one]);
    const grant = await world.pollBuild(runner);
    expect(grant?.workId).toBe(one);
    await world.beatBuild(runner, { id: one, epoch: 1 });
    expect(await due()).toEqual([]);
    await world.reportBuild(runner, { id: one, epoch: 1 });
    expect(await due()).toEqual([two]);
    await world.call(method.cancel, { environmentId: environment, buildId: two });
    expect(await due()).toEqual([three]);
    await world.call(method.cancel, { environmentId: environment, buildId: three });
  });

  it('is numbered without a gap when twenty submit at once', async () => {
    const environmentId = await world.environment();
    await Promise.all(Array.from({ length: 20 }, async () => await world.submitBuild(environmentId)));
    const numbers = await world.db
      .sql`select number from builds where environment_id = ${environmentId} order by number`;
    expect(numbers.map(({ number }) => Number(number))).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
    await world.db.sql`delete from builds where environment_id = ${environmentId}`;
  });

  it('comes after a deploy that a person rejected', async () => {
    const deploy = { kind: 'container', app: 'web', containerPort: 8080, hostPort: 0 };
    const environment = await world.environment({ deploy, deployApproval: true });
    const runner = await world.runner(world.teamId);
    const [one, two] = [await world.submitBuild(environment), await world.submitBuild(environment)];
    await world.pollBuild(runner);
    await world.reportBuild(runner, { id: one, epoch: 1 });
    expect(await due()).toEqual([]);
    expect(await world.pollBuild(runner)).toBeUndefined();
    await world.call(method.deployApproval, {
      environmentId: environment,
      buildId: one,
      decision: DeployDecision.REJECT,
    });
    expect(await due()).toEqual([two]);
    await world.call(method.cancel, { environmentId: environment, buildId: two });
  });

  it('is given to one build of each environment, whoever submits, reports, loses and cancels at the same time', async () => {
    const environments = [await world.environment(), await world.environment(), await world.environment()];
    const runners = await Promise.all(
      Array.from({ length: 6 }, async () => await world.runner(world.teamId)),
    );
    const ids: string[] = [];
    const submitting = Promise.all(
      environments.map(async (environment) => {
        for (let n = 0; n < 12; n += 1) {
          const id = await world.submitBuild(environment);
          ids.push(id);
          if (n % 5 === 4) await world.call(method.cancel, { environmentId: environment, buildId: id });
        }
      }),
    );
    let isSubmitted = false;
    void submitting.then(() => (isSubmitted = true));
    const openBuilds = async (): Promise<number> => {
      const [row] = await world.db.sql`select count(*)::int as n from builds where finished_at is null`;
      return Number(row?.['n']);
    };
    let grants = 0;
    const work = async (runner: string, index: number): Promise<void> => {
      for (;;) {
        const grant = await world.pollBuild(runner);
        if (grant === undefined) {
          if (isSubmitted && (await openBuilds()) === 0) return;
          await world.db
            .sql`update work_items set run_after = now() where state = 'queued' and run_after > now()`;
          await sweep(world.db.sql, world.settings);
          continue;
        }
        grants += 1;
        const { workId, epoch } = grant;
        await world.beatBuild(runner, { id: workId, epoch, phase: 1 + (grants % 2) });
        // Every fourth grant is lost; the others end one way or the other.
        if (grants % 4 === 0) await world.expire(workId);
        else
          await world
            .reportBuild(runner, { id: workId, epoch, exitCode: (grants + index) % 3 === 0 ? 1 : 0 })
            .catch((error: { code?: string }) => expect(error.code).toBe('stale_epoch'));
      }
    };
    await Promise.all(runners.map(work));
    await submitting;
    const [overlaps] = await world.db.sql`
      select count(*)::int as n
      from work_leases a join work_items x on x.id = a.work_id join builds p on p.id = x.build_id
      join builds q on q.environment_id = p.environment_id and q.id <> p.id
      join work_items y on y.build_id = q.id join work_leases b on b.work_id = y.id
      where a.granted_at <= b.granted_at and coalesce(a.ended_at, 'infinity') > b.granted_at`;
    expect(overlaps).toEqual({ n: 0 });
    const numbers = await world.db.sql`
      select environment_id, count(*)::int as n, max(number) as last from builds where environment_id = any(${environments}::text[])
      group by environment_id`;
    expect(numbers.map(({ n, last }) => [n, last])).toEqual([
      [12, 12],
      [12, 12],
      [12, 12],
    ]);
    const [left] = await world.db.sql`
      select count(*)::int as n from builds b left join work_items w on w.id = b.work_id
      where b.id = any(${ids}::text[]) and (b.finished_at is null or w.finished_at is null)`;
    expect(left).toEqual({ n: 0 });
    expect(await violations(world.db.sql)).toEqual(NO_VIOLATIONS);
  }, 60_000);
});
