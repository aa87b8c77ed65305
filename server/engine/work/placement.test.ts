/** These tests show who gets what: selectors and groups, limits of groups, and how long something waits. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { newId } from '../../base/ids.ts';
import { createPoll } from './poll.ts';
import { rerouteTeam } from './pool.ts';
import { sweepQueue } from './sweeper.ts';
import { createWorld, randomKey, type World } from '../../../test/setup/work/world.ts';

describe.skipIf(!(await has('postgres')))('placement of work', () => {
  let world: World;
  let pool: string;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(async () => await world.drop());
  beforeEach(async () => {
    pool = await world.team();
  });

  const labelled = async (labels: object, groupId: string | null = null): Promise<string> => {
    const id = await world.runner(pool);
    const { sql } = world.db;
    await sql`update runners set labels = ${sql.json(labels as never)}, group_id = ${groupId} where id = ${id}`;
    return id;
  };
  const group = async (name: string, labels: object, maxRunning: number | null = null): Promise<string> => {
    const id = newId('grp');
    const { sql } = world.db;
    await sql`
      insert into runner_groups (id, team_id, name, labels, max_running, created_at)
      values (${id}, ${pool}, ${name}, ${sql.json(labels as never)}, ${maxRunning}, now())`;
    return id;
  };
  const taken = async (runner: string): Promise<string | undefined> => (await world.poll(runner))?.workId;

  it('gives a runner what asks for labels that it has, and the highest priority first, whatever route it is under', async () => {
    const plain = await labelled({});
    const gpu = await labelled({ gpu: 'a100', os: 'linux' });
    const any = await world.submit(pool);
    const urgent = await world.submit(pool, { placement: { priority: 100 } });
    const asking = { selector: { labels: { gpu: 'a100' } } };
    const first = await world.submit(pool, { placement: { ...asking, priority: 1 } });
    const last = await world.submit(pool, { placement: { ...asking, priority: -1 } });
    await world.submit(pool, { placement: { selector: { labels: { gpu: 'h100' } } } });
    expect(await taken(plain)).toBe(urgent);
    expect(await taken(gpu)).toBe(first);
    expect(await taken(plain)).toBe(any);
    expect(await taken(plain)).toBeUndefined();
    expect(await taken(gpu)).toBe(last);
    expect(await taken(gpu)).toBeUndefined();
  });

  it('gives a daemon nothing that claims the labels or the name of a group which it is not in', async () => {
    const paid = await group('paid', { tier: 'gold' });
    const liar = await labelled({ tier: 'gold', group: 'paid' });
    const member = await labelled({ tier: 'lead' }, paid);
    const byLabel = await world.submit(pool, { placement: { selector: { labels: { tier: 'gold' } } } });
    const byName = await world.submit(pool, { placement: { selector: { group: 'paid' } } });
    expect(await taken(liar)).toBeUndefined();
    // Its next heartbeat says it again.
    await world.db.sql`update runners set labels = '{"tier": "gold", "x": "y"}' where id = ${liar}`;
    expect(await taken(liar)).toBeUndefined();
    expect([await taken(member), await taken(member)]).toEqual([byLabel, byName]);
  });

  it('keeps to the limit of a group, to the item, at any number of polls at once', async () => {
    const small = await group('small', {}, 3);
    const runners = await Promise.all(Array.from({ length: 4 }, async () => await labelled({}, small)));
    const free = await labelled({});
    await Promise.all(Array.from({ length: 12 }, async () => await world.submit(pool)));
    const second = createPoll(world.db.sql, world.settings);
    const asked = { bootId: '', kind: 'run', notReady: [], wantsWork: true } as const;
    const atSecond = async (runnerId: string) =>
      (await second({ ...asked, runnerId, pollId: randomKey('poll') }))?.grant?.workId;
    const got = await Promise.all([...runners, ...runners].flatMap((id) => [taken(id), atSecond(id)]));
    expect(got.filter((id) => id !== undefined)).toHaveLength(3);
    expect(await taken(free)).toBeDefined();
    const [held] = await world.db.sql<Array<{ id: string; epoch: number; runner_id: string }>>`
      select w.id, w.epoch, w.runner_id from work_items w join runners r on r.id = w.runner_id where r.group_id = ${small} limit 1`;
    await world.report(held!.runner_id, held!);
    expect((await Promise.all(runners.map(taken))).filter((id) => id !== undefined)).toHaveLength(1);
  });

  it('keeps to the limit of a group that runners came to meanwhile, and to none once they have left', async () => {
    const runners = await Promise.all(Array.from({ length: 3 }, async () => await labelled({})));
    await Promise.all(Array.from({ length: 9 }, async () => await world.submit(pool)));
    const round = async () => (await Promise.all(runners.map(taken))).filter((id) => id !== undefined);
    expect(await round()).toHaveLength(3);
    const full = await group('full', {}, 4);
    await world.db.sql`update runners set group_id = ${full} where id = any(${runners}::text[])`;
    expect(await round()).toHaveLength(1);
    await world.db.sql`update runners set group_id = null where id = any(${runners}::text[])`;
    expect(await round()).toHaveLength(3);
  });

  it('moves to another pool with its selector', async () => {
    const gpu = await world.submit(pool, { placement: { selector: { labels: { gpu: 'a100' } } } });
    const served = await world.runner(world.poolTeamId);
    await world.db.sql`update teams set region_id = 'reg_service' where id = ${pool}`;
    expect(await rerouteTeam(world.db.sql, pool)).toBe(1);
    expect(await taken(served)).toBeUndefined();
    await world.db.sql`update runners set set_labels = '{"gpu": "a100"}' where id = ${served}`;
    expect(await taken(served)).toBe(gpu);
  });

  it('ends what waited for longer than it was to, unless it was begun', async () => {
    const runner = await labelled({});
    const placement = { queueTimeoutSeconds: 60 };
    const late = await world.submit(pool, { placement });
    const early = await world.submit(pool, { placement: { queueTimeoutSeconds: 3_600 } });
    const begun = await world.submit(pool, { placement: { ...placement, priority: 1 } });
    expect(await taken(runner)).toBe(begun);
    await world.beat(runner, { id: begun, epoch: Number((await world.item(begun))['epoch']) });
    await world.expire(begun);
    await world.db
      .sql`update work_items set queue_expires_at = queue_expires_at - interval '2 minutes' where team_id = ${pool}`;
    await world.db.sql`update work_items set state = 'queued', lease_id = null where id = ${begun}`;
    expect(await sweepQueue(world.db.sql, world.settings)).toEqual([{ id: late, state: 'failed' }]);
    expect(await world.item(late)).toMatchObject({
      state: 'failed',
      reason: 'queue_timeout',
      message: expect.stringContaining('60 s') as string,
    });
    const [event] = await world.db.sql<Array<{ reason: string }>>`
      select payload ->> 'reason' as reason from outbox where kind = 'work.finished' and dedupe_key = ${late}`;
    expect(event?.reason).toBe('queue_timeout');
    expect(await world.item(early)).toMatchObject({ state: 'queued' });
    expect(await world.item(begun)).toMatchObject({ state: 'queued' });
  });
});
