/**
 * Hot statements must find their rows by an index in order, whatever the backlog: a sort or a scan of the
 * queue would make every claim as long as the queue.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';
import { cancel } from './cancel.ts';
import { openItems } from './pool.ts';

const there = await has('postgres');

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

describe.skipIf(!there).each([
  // What a fresh installation plans with, and an old one whose queue was empty when it was last analysed.
  ['that nothing is known of', false],
  ['that was analysed', true],
])('with a backlog %s', (_name, isAnalysed) => {
  let world: World;
  let team: string;
  beforeAll(async () => {
    world = await createWorld();
    team = await world.team();
    await world.db.sql`alter table work_items set (autovacuum_enabled = false)`;
    await world.db.sql`
      insert into work_items (id, team_id, kind, pool_id, state, spec, route_id, run_after, hint_due_at, created_by, created_at)
      select 'run_' || lpad(n::text, 26, '0'), ${team}, 'run', ${team}, 'queued', '{}', r.id, now(), now(), 'user_x', now() - n * interval '1 s'
      from generate_series(1, 5000) n, (select work_route(${team}, 'run', '{}', 1) as id offset 0) r`;
    if (isAnalysed) await world.db.sql`analyze work_items`;
  });
  afterAll(async () => await world.drop());

  const nodesOf = async (text: string): Promise<PlanNode[]> => {
    const [row] = await world.db.sql.unsafe<Array<{ 'QUERY PLAN': Array<{ Plan: PlanNode }> }>>(
      `explain (format json) ${text}`,
    );
    const all = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(all)];
    return all(row!['QUERY PLAN'][0]!.Plan);
  };

  it.each([
    [
      'the next item of a route',
      'work_items_route',
      "route_id = (select id from work_routes where pool_id = '$team') and team_id = '$team' and state = 'queued' and run_after <= clock_timestamp() order by priority desc nulls last, id limit 1 for update skip locked",
    ],
    [
      'the newest runs of a team',
      'work_items_newest',
      "team_id = '$team' and kind = 'run' order by created_at desc nulls last, id desc nulls last limit 51",
    ],
    [
      'a later page of them',
      'work_items_newest',
      "team_id = '$team' and kind = 'run' and (created_at, id) < (now() - interval '1 h', 'run_x') order by created_at desc nulls last, id desc nulls last limit 51",
    ],
    ['what a runner holds', 'work_items_poll', "runner_id = 'rnr_x' and lease_id is not null"],
  ])('%s is found by its index and in its order', async (_name, index, where) => {
    const nodes = await nodesOf(`select id from work_items w where ${where.replaceAll('$team', team)}`);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort');
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(nodes.map((node) => node['Index Name'])).toContain(index);
  });

  /** Entries of indexes and rows of tables that were read so far, those of the dead among them. */
  const read = async (): Promise<number> => {
    const { sql } = world.db;
    await sql`select pg_stat_force_next_flush()`;
    const [row] = await sql<Array<{ read: number }>>`
      select (select sum(idx_tup_read) from pg_stat_user_indexes where relname in ('work_items', 'work_leases'))::float8
        + (select sum(seq_tup_read) from pg_stat_user_tables where relname in ('work_items', 'work_leases'))::float8 as read`;
    return row!.read;
  };

  it('what dispatch reads for an item does not grow with what has ended', async () => {
    const runner = await world.runner(team);
    const pass = async (items: number): Promise<number> => {
      const before = await read();
      for (let n = 0; n < items; n += 1) {
        const grant = await world.poll(runner);
        const lease = { id: grant!.workId, epoch: grant!.epoch };
        expect(await world.beat(runner, lease)).toBe('ok');
        await world.report(runner, lease);
      }
      return ((await read()) - before) / items;
    };
    // Plans are kept from the sixth call of a connection on.
    await pass(100);
    const early = await pass(50);
    await pass(600);
    // While another transaction holds what was deleted, each ended item is read once more, by whatever plan,
    // and no more when it is over; what grows by its plan stays.
    const late: number[] = [];
    for (let n = 0; n < 10 && !(Math.min(...late) < early + 60); n += 1) late.push(await pass(50));
    expect(Math.min(...late), `of ${late.join(', ')}`).toBeLessThan(early + 60);
  });

  it('a claim reads what it takes, and no more of the queue', async () => {
    const runner = await world.runner(team);
    // Plans are kept from the sixth call of a connection on.
    for (let n = 0; n < 100; n += 1) await world.poll(runner);
    const before = await read();
    for (let n = 0; n < 50; n += 1) expect(await world.poll(runner)).toBeDefined();
    const each = ((await read()) - before) / 50;
    // A queue of 5,000 that is read to be sorted is 4,000 an item and more.
    expect(each).toBeLessThan(1_000);
  });

  it('what waits of a team is counted without what others have waiting in the pool', async () => {
    const { sql } = world.db;
    await sql`
      insert into work_items (id, team_id, kind, pool_id, state, spec, route_id, run_after, hint_due_at, created_by, created_at)
      select 'run_x' || lpad(n::text, 25, '0'), ${team}, 'run', ${world.poolTeamId}, 'queued', '{}', r.id, now(), now(), 'user_x', now()
      from generate_series(1, 5000) n, (select work_route(${world.poolTeamId}, 'run', '{}', 1) as id offset 0) r`;
    const own = await world.team('service');
    // Plans are kept from the sixth call of a connection on.
    for (let n = 0; n < 100; n += 1) await world.submit(await world.team('service'));
    await world.submit(own);
    const before = await read();
    await world.submit(own);
    for (const open of await sql<Array<{ id: string }>>`${openItems(sql, own)}`)
      await cancel(sql, [own], open.id);
    expect((await read()) - before).toBeLessThan(1_000);
    expect(await sql`${openItems(sql, own)}`).toHaveLength(0);
  });
});
