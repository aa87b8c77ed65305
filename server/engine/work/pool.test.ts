/** These tests show which runners a team's work goes to, and what happens to it when that changes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { rerouteStrays, rerouteTeam } from './pool.ts';
import { sweep } from './sweeper.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';

describe.skipIf(!(await has('postgres')))('the pool of a team', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(async () => await world.drop());
  const setRegion = async (team: string, operator: 'customer' | 'service'): Promise<void> => {
    await world.db.sql`update teams set region_id = ${`reg_${operator}`} where id = ${team}`;
  };

  it('is its own in a region that the customer operates, else the service’s', async () => {
    const customer = await world.team('customer');
    const hosted = await world.team('service');
    const items = await Promise.all(
      [customer, hosted].map(async (team) => await world.item(await world.submit(team))),
    );
    expect(items.map((item) => item['pool_id'])).toEqual([customer, world.poolTeamId]);
    await expect(world.submit('team_none')).rejects.toMatchObject({ code: 'unavailable' });
    await world.db
      .sql`update work_items set state = 'cancelled', finished_at = now() where team_id = ${hosted}`;
  });

  it('changes for work that waits, and for work that comes back, when the region changes', async () => {
    const team = await world.team('service');
    const waiting = await world.submit(team);
    const service = await world.runner(world.poolTeamId);
    const held = (await world.poll(service))!;
    expect(held.workId).toBe(waiting);
    const second = await world.submit(team);
    await setRegion(team, 'customer');
    expect(await rerouteTeam(world.db.sql, team)).toBe(2);
    expect(await world.poll(service)).toBeUndefined();
    const own = await world.runner(team);
    expect((await world.poll(own))?.workId).toBe(second);
    // What the service's runner holds it may finish; when it does not, the team's own gets it.
    expect(await world.beat(service, { id: waiting, epoch: held.epoch })).toBe('ok');
    await world.expire(waiting);
    await sweep(world.db.sql, world.settings);
    expect((await world.poll(own))?.workId).toBe(waiting);
  });

  it('is put right for work that was submitted while the region changed', async () => {
    const team = await world.team('service');
    const id = await world.submit(team);
    await setRegion(team, 'customer');
    expect(await rerouteStrays(world.db.sql)).toBe(1);
    expect(await world.item(id)).toMatchObject({ pool_id: team });
    expect(await rerouteStrays(world.db.sql)).toBe(0);
  });
});
