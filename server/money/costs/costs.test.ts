/** This file tests the receipt of a run and of a build. */
import { CostsService } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBuildWorld, type BuildWorld } from '../../../test/setup/builds/build-world.ts';
import { publishAll } from '../../../test/setup/money/months.ts';
import { has } from '../../../test/setup/needs.ts';
import type { System } from '../../kit/feature.ts';
import { callUnary } from '../../../test/setup/work/ctx.ts';
import { decimalOf } from '../amounts/index.ts';
import { createCosts } from './index.ts';

describe.skipIf(!(await has('postgres')))('a receipt', () => {
  let world: BuildWorld;
  let runnerId: string;
  beforeAll(async () => {
    world = await createBuildWorld();
    runnerId = await world.runner(world.teamId);
  });
  afterAll(async () => await world?.drop());

  const costs = createCosts({} as System, { currency: 'usd', charges: false });
  const explain = async (itemId: string, teamIds: readonly string[] = [world.teamId]) =>
    await callUnary(costs, CostsService.method.explain, {
      request: { teamId: world.teamId, itemId },
      options: { db: world.db, userId: world.userId, teamIds },
    });
  const ran = async (durationMs?: number): Promise<string> => {
    const id = await world.submit(world.teamId);
    const grant = await world.poll(runnerId);
    await world.report(runnerId, { id, epoch: grant!.epoch, durationMs });
    return id;
  };

  it('of a run says what makes its cost: claim to report, times the price', async () => {
    const id = await ran(7);
    await publishAll(world.db.sql);
    const receipt = await explain(id);
    const [line, ...more] = receipt.lines;
    expect(more).toEqual([]);
    const ms = Number(line!.reportedAt!.seconds - line!.claimedAt!.seconds) * 1_000;
    expect(line!.meteredMs).toBe(ms + (line!.reportedAt!.nanos - line!.claimedAt!.nanos) / 1_000_000);
    expect(line).toMatchObject({
      workId: id,
      meter: 'run.runner',
      runnerId,
      epoch: 1,
      selfReportedMs: 7,
      priceId: 'prc_00000000000000000000000001',
      nanosPerSecond: 100_000,
      cost: decimalOf(BigInt(line!.meteredMs) * 100_000n),
    });
    expect(line!.environmentId).toBeUndefined();
    expect(receipt).toMatchObject({ itemId: id, currency: 'usd', cost: line!.cost });
  });

  it('of a build is found by the build, also when its environment is deleted', async () => {
    const environmentId = await world.environment();
    const buildId = await world.submitBuild(environmentId);
    const grant = await world.pollBuild(runnerId);
    const lease = { id: grant!.workId, epoch: grant!.epoch };
    await world.beatBuild(runnerId, lease);
    await world.reportBuild(runnerId, lease);
    await publishAll(world.db.sql);
    await world.db.sql`delete from environments where id = ${environmentId}`;
    const receipt = await explain(buildId);
    expect(receipt.lines).toMatchObject([{ workId: lease.id, meter: 'build.runner', environmentId }]);
    expect(receipt.lines[0]!.selfReportedMs).toBeUndefined();
    expect(receipt.cost).toBe(receipt.lines[0]!.cost);
  });

  it('of a build sums its lines', async () => {
    const { sql } = world.db;
    for (const [work, ms] of [
      ['run_a', 1],
      ['run_b', 2_147_483_647],
    ] as const)
      await sql`
        insert into usage_events (work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, build_id, claimed_at, metered_ms, price_id, rated, period)
        values (${work}, '2026-03-01T00:00:01Z', ${world.teamId}, 'build', 'service', 1, 'rnr_1', 'bld_two', '2026-03-01T00:00:00Z', ${ms},
          'prc_00000000000000000000000004', ${ms}::numeric * 100000, '2026-03-01')`;
    const receipt = await explain('bld_two');
    expect(receipt.lines.map(({ workId, cost }) => [workId, cost])).toEqual([
      ['run_a', '0.000000100000'],
      ['run_b', '214.748364700000'],
    ]);
    expect(receipt.cost).toBe('214.748364800000');
  });

  it('is not there before the report, for another team, or for the item of a build', async () => {
    const waiting = await world.submit(world.teamId);
    await expect(explain(waiting)).rejects.toMatchObject({ code: 'not_found' });
    const grant = await world.poll(runnerId);
    await world.report(runnerId, { id: waiting, epoch: grant!.epoch });
    await publishAll(world.db.sql);
    expect((await explain(waiting)).lines).toHaveLength(1);
    await expect(explain(waiting, ['team_other'])).rejects.toMatchObject({ code: 'not_found' });
    await expect(explain('run_a')).rejects.toMatchObject({ code: 'not_found' });
    await expect(explain('')).rejects.toMatchObject({ code: 'not_found' });
  });
});
