/** Hints, whatever becomes of them: every queued item is hinted until somebody claims it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLocalQueue } from '@svc/proto/queue/local.ts';
import type { WorkHint, WorkQueue } from '@svc/proto/queue/queue.ts';
import { has } from '../../../test/setup/needs.ts';
import { relayOnce, takeDueHints } from './relay.ts';
import { startSweeper } from './sweeper.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';
import type { Loop } from '../../base/loop.ts';

/** A queue that keeps what it was given, and can be down or refuse. */
function fakeQueue() {
  const hints: WorkHint[] = [];
  const state = { up: true, refuse: false };
  const queue: WorkQueue = {
    ...createLocalQueue(),
    hint: async (hint) => {
      if (state.refuse) throw new Error('the broker refused');
      hints.push(hint);
    },
    get up() {
      return state.up;
    },
  };
  return { queue, hints, state };
}

describe.skipIf(!(await has('postgres')))('the relay', () => {
  let world: World;
  let team: string;
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  beforeAll(async () => {
    world = await createWorld({ relayEveryMs: 20, sweepEveryMs: 20, hintFirstMs: 0 });
  });
  afterAll(async () => await world.drop());
  beforeEach(async () => {
    team = await world.team();
    errors.length = 0;
  });
  const loops: Loop[] = [];
  afterEach(async () => {
    await Promise.all(loops.splice(0).map(async (loop) => await loop.stop()));
    await world.db.sql`update work_items set state = 'cancelled', finished_at = now() where state = 'queued'`;
  });
  const dueInS = async (id: string): Promise<number> =>
    (
      await world.db.sql<
        Array<{ s: number }>
      >`select round(extract(epoch from hint_due_at - now()))::int as s from work_items where id = ${id}`
    )[0]!.s;

  it('hints an item when it is due, then after 60 s, 2, 4, 8 and 10 minutes', async () => {
    const id = await world.submit(team);
    const pauses: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      await world.db.sql`update work_items set hint_due_at = now() where id = ${id}`;
      expect(await takeDueHints(world.db.sql, world.settings)).toEqual([
        { workId: id, poolId: team, kind: 'run', count: 1 },
      ]);
      pauses.push(await dueInS(id));
    }
    expect(pauses).toEqual([60, 120, 240, 480, 600, 600]);
    expect(await takeDueHints(world.db.sql, world.settings)).toEqual([]);
  });

  it('passes over what waits for later, what is held and what has ended', async () => {
    const runner = await world.runner(team);
    await world.submit(team);
    await world.poll(runner);
    const later = await world.submit(team);
    await world.db.sql`update work_items set run_after = now() + interval '1 h' where id = ${later}`;
    expect(await takeDueHints(world.db.sql, world.settings)).toEqual([]);
  });

  it('does not hint the service pool unless that is fed', async () => {
    await world.submit(await world.team('service'));
    expect(await takeDueHints(world.db.sql, { ...world.settings, feedServicePool: false })).toEqual([]);
    expect(await takeDueHints(world.db.sql, world.settings)).toHaveLength(1);
  });

  it('in two servers at once hints every item once', async () => {
    const ids = await Promise.all(Array.from({ length: 300 }, async () => await world.submit(team)));
    const settings = { ...world.settings, batch: 20 };
    const drain = async () => {
      const { queue, hints } = fakeQueue();
      while (await relayOnce({ sql: world.db.sql, queue, settings, onError }));
      return hints.map((hint) => hint.workId);
    };
    const hinted = (await Promise.all([drain(), drain()])).flat();
    expect(hinted.toSorted()).toEqual(ids.toSorted());
    expect(errors).toEqual([]);
  });

  it('tries again soon after a refusal, and takes nothing while the broker is down', async () => {
    const id = await world.submit(team);
    const fake = fakeQueue();
    fake.state.refuse = true;
    const deps = { sql: world.db.sql, queue: fake.queue, settings: world.settings, onError };
    await relayOnce(deps);
    expect(errors).toHaveLength(1);
    expect(await dueInS(id)).toBeLessThanOrEqual(2);
    fake.state.up = false;
    await world.db.sql`update work_items set hint_due_at = now() where id = ${id}`;
    await relayOnce(deps);
    expect(await dueInS(id)).toBeLessThanOrEqual(0);
  });

  it('and two sweepers at once return each expired item once', async () => {
    const runner = await world.runner(team);
    const ids: string[] = [];
    for (let i = 0; i < 60; i += 1) {
      ids.push(await world.submit(team));
      await world.poll(runner);
    }
    await world.db.sql`update work_leases set expires_at = now() - interval '1 h' where team_id = ${team}`;
    const swept: string[] = [];
    const settings = { ...world.settings, batch: 7 };
    for (let i = 0; i < 2; i += 1) {
      loops.push(
        startSweeper({
          sql: world.db.sql,
          settings,
          onSwept: (items) => swept.push(...items.map((item) => item.id)),
          onError,
        }),
      );
    }
    await waitFor('60 swept', () => swept.length, { holds: (n) => n >= 60 });
    expect(swept.toSorted()).toEqual(ids.toSorted());
    expect(errors).toEqual([]);
  });
});
