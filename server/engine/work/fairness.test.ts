/** Turns in the service's pool: many teams, one of which floods, and claims of two servers at once. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { createPoll, type Poll } from './poll.ts';
import { beginMissedTurns, settleTurns } from './turns.ts';
import { createWorld, randomKey, type World } from '../../../test/setup/work/world.ts';

describe.skipIf(!(await has('postgres')))('turns of teams', () => {
  let world: World;
  let runners: string[];
  let servers: Poll[];
  beforeAll(async () => {
    world = await createWorld();
    servers = [createPoll(world.db.sql, world.settings), createPoll(world.db.sql, world.settings)];
    runners = await Promise.all(Array.from({ length: 16 }, async () => await world.runner(world.poolTeamId)));
  });
  afterAll(async () => await world.drop());
  beforeEach(async () => {
    await world.db.sql`delete from work_items`;
    await world.db.sql`delete from pool_turns`;
  });

  const teams = async (count: number): Promise<string[]> =>
    await Promise.all(Array.from({ length: count }, async () => await world.team('service')));
  const submit = async (team: string, count: number, priority = 0): Promise<string[]> =>
    await Promise.all(
      Array.from({ length: count }, async () => await world.submit(team, { placement: { priority } })),
    );
  /** Team of what a runner got; undefined for nothing. */
  const poll = async (
    server: Poll | undefined,
    runnerId: string | undefined,
  ): Promise<string | undefined> => {
    const asked = {
      bootId: '',
      kind: 'run',
      pollId: randomKey('poll'),
      notReady: [],
      wantsWork: true,
    } as const;
    const grant = (await server!({ ...asked, runnerId: runnerId! }))?.grant;
    return grant === undefined ? undefined : String((await world.item(grant.workId))['team_id']);
  };
  /** Makes `count` polls at once, at both servers unless told. */
  const round = async (count: number, at = servers): Promise<string[]> => {
    const got = await Promise.all(
      Array.from(
        { length: count },
        async (_, i) => await poll(at[i % at.length], runners[i % runners.length]),
      ),
    );
    return got.filter((team) => team !== undefined);
  };
  const counted = (list: readonly string[]): Map<string, number> =>
    list.reduce((counts, team) => counts.set(team, (counts.get(team) ?? 0) + 1), new Map<string, number>());

  /**
   * Returns what a team that floods gets of `count` grants among so many teams, and the longest that a quiet
   * one waits, in grants.
   */
  const flood = async (
    count: number,
    most: number,
    atOnce = 16,
  ): Promise<{ flooded: number; grants: number; waited: number }> => {
    const [flooding, ...quiet] = await teams(count);
    await submit(flooding!, most);
    await Promise.all(quiet.map(async (team) => await submit(team, 1)));
    const since = new Map(quiet.map((team) => [team, 0]));
    let [grants, flooded, waited] = [0, 0, 0];
    while (grants < most) {
      const got = await round(atOnce);
      expect(got.length, `nothing was granted after ${grants}`).toBeGreaterThan(0);
      grants += got.length;
      const served = got.filter((team) => team !== flooding);
      flooded += got.length - served.length;
      for (const team of served) waited = Math.max(waited, grants - (since.get(team) ?? grants));
      // Whoever was served has something waiting again at once.
      await Promise.all(
        served.map(async (team) => {
          since.set(team, grants);
          await submit(team, 1);
        }),
      );
    }
    for (const at of since.values()) waited = Math.max(waited, grants - at);
    return { flooded, grants, waited };
  };
  const fairPart = (grants: number, count: number): number => Math.ceil((grants / count) * 1.05) + 1;

  it(
    'give a team that floods its part among 200, and let nobody wait for twice as long as is fair',
    { timeout: 300_000 },
    async () => {
      const { flooded, grants, waited } = await flood(200, 1_000);
      expect(flooded).toBeLessThanOrEqual(fairPart(grants, 200));
      expect(waited).toBeLessThanOrEqual(400);
    },
  );

  it('go by weight, and by priority within a team alone', async () => {
    const [one, three] = await teams(2);
    await world.db.sql`insert into team_shares (team_id, kind, weight) values (${three!}, 'run', 3)`;
    await submit(one!, 60, 100);
    await submit(three!, 30, -5);
    await submit(three!, 30, 5);
    const got: string[] = [];
    // Claims at the same moment take what the one that holds the turns leaves, which is charged to nobody.
    while (got.length < 40) got.push(...(await round(4, servers.slice(0, 1))));
    expect(counted(got).get(three!)).toBeGreaterThanOrEqual(29);
    expect(counted(got).get(three!)).toBeLessThanOrEqual(31);
    const [row] = await world.db.sql<Array<{ high: number; low: number }>>`
      select count(*) filter (where priority = 5)::int as high, count(*) filter (where priority = -5)::int as low
      from work_items where state <> 'queued' and team_id = ${three!}`;
    expect(row!.low).toBe(Math.max(0, row!.high + row!.low - 30));
  });

  it('are not saved up by a team that was away, and not gained by asking for one at a time', async () => {
    const [steady, away, single] = await teams(3);
    await submit(steady!, 100);
    expect(counted(await round(8)).get(steady!)).toBe(8);
    await submit(away!, 40);
    const got: string[] = [];
    for (let i = 0; i < 10; i += 1) {
      await submit(single!, 1);
      got.push(...(await round(3)));
    }
    const counts = counted(got);
    for (const team of [steady!, away!, single!]) expect(counts.get(team), team).toBeGreaterThanOrEqual(8);
    for (const team of [steady!, away!, single!]) expect(counts.get(team), team).toBeLessThanOrEqual(12);
  });

  it('leave nothing behind: a team alone gets all it has, at any number of polls at once', async () => {
    const [only] = await teams(1);
    await submit(only!, 70);
    const got: string[] = [];
    for (let i = 0; i < 20 && got.length < 70; i += 1) got.push(...(await round(16)));
    expect(got).toHaveLength(70);
    expect(await round(4)).toEqual([]);
  });

  it('stop at the limit of a team, to the item, and go on when something of it has ended', async () => {
    const [capped, free] = await teams(2);
    await world.db
      .sql`insert into team_shares (team_id, kind, weight, max_running) values (${capped!}, 'run', 1, 5)`;
    await submit(capped!, 30);
    await submit(free!, 20);
    const got: string[] = [];
    for (let i = 0; i < 8; i += 1) got.push(...(await round(8)));
    expect(counted(got)).toEqual(
      new Map([
        [capped!, 5],
        [free!, 20],
      ]),
    );
    const [held] = await world.db.sql<Array<{ id: string; epoch: number; runner_id: string }>>`
      select id, epoch, runner_id from work_items where team_id = ${capped!} and lease_id is not null limit 1`;
    await world.report(held!.runner_id, held!);
    expect(await round(8)).toEqual([capped!]);
  });

  it('of an item whose submission was overlooked come all the same, and end where nothing waits', async () => {
    const [quiet, busy] = await teams(2);
    await submit(busy!, 20);
    await submit(quiet!, 1);
    await world.db.sql`update pool_turns set waiting = not waiting where team_id = ${quiet!}`;
    expect(counted(await round(4)).get(quiet!)).toBeUndefined();
    await beginMissedTurns(world.db.sql);
    expect(counted(await round(4)).get(quiet!)).toBe(1);
    await world.db.sql`update pool_turns set waiting = true where team_id = ${quiet!}`;
    expect(await settleTurns(world.db.sql)).toBe(1);
  });
});
