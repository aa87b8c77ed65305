/** What comes together is one statement, and nobody's neighbour notices. */
import type { WorkHint } from '@svc/proto/queue/queue.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { createWorld, randomKey, type World } from '../../../test/setup/work/world.ts';
import { newId } from '../../base/ids.ts';

describe.skipIf(!(await has('postgres')))('calls that come together', () => {
  let world: World;
  let team: string;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(async () => await world.drop());
  beforeEach(async () => {
    team = await world.team();
  });

  const work = (labels: Readonly<Record<string, string>> = {}) => ({
    id: newId('run'),
    kind: 'run' as const,
    teamId: team,
    createdBy: world.userId,
    createdAt: new Date(),
    spec: { command: ['true'] },
    labels,
    needsContainer: false,
    timeoutMs: 60_000,
    logLimit: 1_000,
  });
  it('are granted each an item of its own', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, async () => await world.submit(team)));
    const runners = await Promise.all(Array.from({ length: 8 }, async () => await world.runner(team)));
    const grants = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => await world.poll(runners[n % runners.length]!)),
    );
    const got = grants.flatMap((grant) => (grant === undefined ? [] : [grant.workId]));
    expect(got.toSorted()).toEqual(ids.toSorted());
  });

  it('are hinted once for each pool, with their count; what is part of a transaction when that has ended', async () => {
    const other = await world.team();
    const hints: Array<[string, number]> = [];
    const onHint = ({ poolId, count }: WorkHint): unknown => hints.push([poolId, count]);
    const heard = [team, other].map((poolId) =>
      world.queue.subscribe(poolId, 'run', { onHint, onLive: () => undefined }),
    );
    await Promise.all([team, team, other, team, team, other].map(async (each) => await world.submit(each)));
    const counted = (poolId: string): number[] =>
      hints.flatMap(([id, count]) => (id === poolId ? count : []));
    expect([counted(team), counted(other)]).toEqual([[4], [2]]);
    hints.length = 0;
    await world.db.transact(async (db) => {
      await world.submitWork.within(db, { work: work() });
      expect(hints).toEqual([]);
    });
    const rolledBack = world.db.transact(async (db) => {
      await world.submitWork.within(db, { work: work() });
      throw new Error('not after all');
    });
    await expect(rolledBack).rejects.toThrow('not after all');
    expect(hints).toEqual([[team, 1]]);
    await Promise.all(heard.map(async (each) => await each.stop()));
  });

  it('gives each its own answer: a good one beside a stale one and one of a stranger', async () => {
    const runner = await world.runner(team);
    const stranger = await world.runner(await world.team());
    const ids = await Promise.all(Array.from({ length: 6 }, async () => await world.submit(team)));
    const grants = await Promise.all(ids.map(async () => await world.poll(runner)));
    const reports = grants.map(async (grant, n) => {
      const { workId: id, epoch } = grant!;
      if (n === 2) return await world.report(runner, { id, epoch: epoch + 1 });
      return await world.report(n === 4 ? stranger : runner, { id, epoch });
    });
    const outcomes = await Promise.allSettled(reports);
    expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'ok' : outcome.reason.code))).toEqual([
      'ok',
      'ok',
      'stale_epoch',
      'ok',
      'stale_epoch',
      'ok',
    ]);
    const beats = await Promise.all([
      world.beat(runner, { id: grants[2]!.workId, epoch: 1 }),
      world.beat(stranger, { id: grants[4]!.workId, epoch: 1 }),
    ]);
    expect(beats).toEqual(['ok', 'superseded']);
  });

  it('fails the one that cannot be stored, and no other', async () => {
    const submissions = [
      work(),
      work(),
      work({ bad: 'a\u0000b' }),
      work(),
      { ...work(), teamId: 'team_nobody' },
      work(),
    ];
    const outcomes = await Promise.allSettled(
      submissions.map(async (each) => await world.submitWork({ work: each })),
    );
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    const rows = await world.db.sql<Array<{ id: string }>>`select id from work_items where team_id = ${team}`;
    expect(rows.map(({ id }) => id).toSorted()).toEqual(
      [0, 1, 3, 5].map((n) => submissions[n]!.id).toSorted(),
    );
  });

  it('keeps the limit of waiting items for those of one statement too', async () => {
    const tight = await createWorld({ queuedMax: 5 });
    try {
      const own = await tight.team();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, async () => await tight.submit(own)),
      );
      const codes = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'ok' : outcome.reason.code));
      expect(codes.filter((code) => code === 'ok')).toHaveLength(5);
      expect(codes.filter((code) => code === 'limit_reached')).toHaveLength(15);
    } finally {
      await tight.drop();
    }
  });

  it('serves polls of containers and of namespaces of one pool, each with what it may have', async () => {
    const [container, namespaces] = [
      await world.runner(team, { isolation: 'container' }),
      await world.runner(team, { isolation: 'namespaces' }),
    ];
    const picky = await Promise.all(
      [1, 2, 3].map(async () => await world.submit(team, { needsContainer: true })),
    );
    const plain = await Promise.all([1, 2, 3].map(async () => await world.submit(team)));
    const grants = await Promise.all(
      Array.from(
        { length: 8 },
        async (_, n) => await world.poll(n < 5 ? namespaces : container, randomKey('poll')),
      ),
    );
    const toNamespaces = grants.slice(0, 5).flatMap((grant) => grant?.workId ?? []);
    expect(toNamespaces.every((id) => plain.includes(id))).toBe(true);
    expect(grants.flatMap((grant) => grant?.workId ?? []).toSorted()).toEqual(
      [...picky, ...plain].toSorted(),
    );
  });
});
