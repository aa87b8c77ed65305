/** Routes: which runners have them, whoever changes what in which order, and which go. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { purgeRoutes } from './routes.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';
import { newId } from '../../base/ids.ts';

describe.skipIf(!(await has('postgres')))('routes', () => {
  let world: World;
  let pool: string;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(async () => await world.drop());
  beforeEach(async () => {
    pool = await world.team();
  });

  const route = async (selector: object, most = 200): Promise<number | null> => {
    const [row] = await world.db.sql<Array<{ id: number | null }>>`
      select work_route(${pool}, 'run', ${world.db.sql.json(selector as never)}, ${most}::int)::int as id`;
    return row?.id ?? null;
  };
  const labelled = async (labels: object, to: { groupId?: string; set?: object } = {}): Promise<string> => {
    const { sql } = world.db;
    const id = await world.runner(pool);
    await sql`
      update runners set labels = ${sql.json(labels as never)}, set_labels = ${sql.json((to.set ?? {}) as never)}, group_id = ${to.groupId ?? null}
      where id = ${id}`;
    return id;
  };
  const group = async (name: string, labels: object = {}): Promise<string> => {
    const { sql } = world.db;
    const id = newId('grp');
    await sql`insert into runner_groups (id, team_id, name, labels, created_at) values (${id}, ${pool}, ${name}, ${sql.json(labels as never)}, now())`;
    return id;
  };
  const holders = async (routeId: number | null): Promise<string[]> => {
    const rows = await world.db.sql<
      Array<{ id: string }>
    >`select runner_id as id from runner_routes where route_id = ${routeId} order by runner_id`;
    return rows.map(({ id }) => id);
  };

  it('are had by runners that were there before, and by those that come', async () => {
    const early = await labelled({ gpu: 'a100' });
    const any = await route({});
    const gpu = await route({ labels: { gpu: 'a100' } });
    const late = await labelled({ gpu: 'a100', zone: 'b' });
    const other = await labelled({});
    expect(await holders(any)).toEqual([early, late, other].toSorted());
    expect(await holders(gpu)).toEqual([early, late].toSorted());
    expect(await route({ labels: { gpu: 'a100' } })).toBe(gpu);
    await world.db.sql`update runners set labels = '{}' where id = ${early}`;
    await world.db.sql`update runners set revoked_at = now() where id = ${late}`;
    expect(await holders(gpu)).toEqual([]);
    expect(await holders(any)).toEqual([early, other].toSorted());
  });

  it('go by the labels of the group, then by those that a person set, then by the daemon’s', async () => {
    const fast = await group('fast', { tier: 'paid', zone: 'a' });
    const mine = await labelled(
      { tier: 'free', zone: 'x', os: 'linux' },
      { groupId: fast, set: { os: 'bsd', tier: 'mine' } },
    );
    const ask = async (labels: object) => await holders(await route({ labels }));
    expect(await ask({ tier: 'paid', zone: 'a', os: 'bsd' })).toEqual([mine]);
    for (const labels of [{ tier: 'free' }, { tier: 'mine' }, { zone: 'x' }, { os: 'linux' }])
      expect(await ask(labels), JSON.stringify(labels)).toEqual([]);
    expect(await holders(await route({ group: 'fast' }))).toEqual([mine]);
    expect(await holders(await route({ group: 'slow' }))).toEqual([]);
  });

  it('of a paid group are not had by a daemon that claims its labels, before or after the group was made', async () => {
    const before = await labelled({ gpu: 'a100', group: 'fast' });
    const paid = await route({ labels: { gpu: 'a100' } });
    expect(await holders(paid)).toEqual([before]);
    const id = await group('fast', { gpu: 'a100' });
    const after = await labelled({ gpu: 'a100' });
    const member = await labelled({ gpu: 'none' }, { groupId: id });
    expect(await holders(paid)).toEqual([member]);
    expect(await holders(await route({ group: 'fast' }))).toEqual([member]);
    await world.db.sql`update runners set group_id = null where id = ${member}`;
    await world.db.sql`delete from runner_groups where id = ${id}`;
    expect(await holders(paid)).toEqual([before, after].toSorted());
  });

  it('are had also when the route and the runner come at the same moment', async () => {
    for (let round = 0; round < 20; round += 1) {
      const labels = { round: String(round) };
      const [id, runner] = await Promise.all([route({ labels }), labelled(labels)]);
      expect(await holders(id), `round ${round}`).toEqual([runner]);
    }
  });

  it('are at most so many in a pool, that of the empty selector aside, and those that nobody uses go', async () => {
    const first = await route({ labels: { n: '1' } }, 2);
    await route({ labels: { n: '2' } }, 2);
    expect(await route({ labels: { n: '3' } }, 2)).toBeNull();
    expect(await route({ labels: { n: '1' } }, 2)).toBe(first);
    expect(await route({}, 2)).not.toBeNull();
    const { sql } = world.db;
    const waiting = await world.submit(pool);
    await sql`update work_items set route_id = ${first} where id = ${waiting}`;
    await sql`update work_routes set used_at = now() - interval '1 day' where pool_id = ${pool}`;
    expect(await purgeRoutes(sql)).toBe(1);
    await sql`update work_items set state = 'cancelled', finished_at = now() where id = ${waiting}`;
    expect(await purgeRoutes(sql)).toBe(1);
    expect(await sql`select from work_routes where pool_id = ${pool}`).toHaveLength(1);
  });
});
