/** One suite of promises for both queues, and what RabbitMQ alone can do to them. */
import { randomBytes } from 'node:crypto';
import { Connection } from 'rabbitmq-client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AMQP_URL, has } from '../../test/setup/needs.ts';
import { createLocalQueue } from './local.ts';
import { hintKey, namesOf } from './names.ts';
import type { ControlEvent, WorkHint, WorkQueue } from './queue.ts';
import { connectRabbit } from './rabbit.ts';
import { startTcpProxy, type TcpProxy } from '../../test/setup/tcp-proxy.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const rabbitThere = await has('rabbitmq');
const quiet = { info: () => undefined, warn: () => undefined };

const hintOf = (poolId: string, n = 1): WorkHint => ({ workId: `run_${n}`, poolId, kind: 'run', count: n });
const newPool = (): string => `team_${randomBytes(6).toString('hex')}`;

interface Side {
  readonly name: string;
  readonly there: boolean;
  /** Two processes that share a queue. */
  open(): Promise<{ one: WorkQueue; other: WorkQueue; end(): Promise<void> }>;
}

const prefix = `svctest-${randomBytes(4).toString('hex')}-`;
const names = namesOf(prefix);
const openRabbit = (url = AMQP_URL): WorkQueue =>
  connectRabbit({ url, role: 'all', log: quiet, prefix, beaconEveryMs: 200 });

const sides: Side[] = [
  {
    name: 'within the process',
    there: true,
    open: async () => {
      const queue = createLocalQueue();
      return { one: queue, other: queue, end: async () => await queue.close() };
    },
  },
  {
    name: 'on RabbitMQ',
    there: rabbitThere,
    open: async () => {
      const one = openRabbit();
      const other = openRabbit();
      await waitFor('both up', () => [one.up, other.up], { holds: ([a, b]) => a === true && b === true });
      return { one, other, end: async () => void (await Promise.all([one.close(), other.close()])) };
    },
  },
];

/** Subscribes, and resolves when hints arrive. */
async function live(
  queue: WorkQueue,
  poolId: string,
  onHint: (hint: WorkHint) => void,
  kind: WorkHint['kind'] = 'run',
) {
  const subscription = queue.subscribe(poolId, kind, { onHint, onLive: () => undefined });
  await waitFor(`${poolId} is live`, () => subscription.live, { holds: (isLive) => isLive });
  return subscription;
}

describe.each(sides)('the queue $name', ({ there, open }) => {
  describe.skipIf(!there)('in use', () => {
    let one: WorkQueue;
    let other: WorkQueue;
    let end: () => Promise<void>;
    let pool: string;
    beforeAll(async () => {
      ({ one, other, end } = await open());
    });
    afterAll(async () => await end());
    beforeEach(() => {
      pool = newPool();
    });

    it('brings a hint to every subscriber of its pool and kind, and to no other', async () => {
      const got: WorkHint[][] = [[], []];
      const wrong: WorkHint[] = [];
      const subscriptions = await Promise.all([
        live(one, pool, (hint) => got[0]!.push(hint)),
        live(other, pool, (hint) => got[1]!.push(hint)),
        live(other, pool, (hint) => wrong.push(hint), 'build'),
        live(other, `${pool}x`, (hint) => wrong.push(hint)),
      ]);
      await one.hint(hintOf(pool));
      await waitFor('both hints', () => got.map(({ length }) => length), {
        holds: ([a, b]) => a === 1 && b === 1,
      });
      expect(got).toEqual([[hintOf(pool)], [hintOf(pool)]]);
      expect(wrong).toEqual([]);
      await Promise.all(subscriptions.map(async (subscription) => await subscription.stop()));
    });

    it('throws a hint away that nobody waits for', async () => {
      await one.hint(hintOf(pool, 1));
      const got: string[] = [];
      const subscription = await live(other, pool, (hint) => got.push(hint.workId));
      await one.hint(hintOf(pool, 2));
      await waitFor('the second hint', () => got.length, { holds: (n) => n > 0 });
      expect(got).toEqual(['run_2']);
      await subscription.stop();
    });

    it('loses none of 500 once the subscription is live', async () => {
      const got = new Set<string>();
      const subscription = await live(other, pool, (hint) => got.add(hint.workId));
      await Promise.all(Array.from({ length: 500 }, async (_, i) => await one.hint(hintOf(pool, i))));
      await waitFor('500 hints', () => got.size, { holds: (n) => n === 500 });
      await subscription.stop();
    });

    it('tells nothing within the call that subscribes, and nothing after it was stopped', async () => {
      const told: unknown[] = [];
      const listener = { onHint: () => told.push('hint'), onLive: (isLive: boolean) => told.push(isLive) };
      const subscription = other.subscribe(pool, 'run', listener);
      expect(told).toEqual([]);
      await waitFor('live', () => [...told], { holds: (all) => all.length > 0 });
      expect(subscription.live).toBe(true);
      const stopping = subscription.stop();
      expect(subscription.live).toBe(false);
      await one.hint(hintOf(pool));
      await stopping;
      await other.subscribe(pool, 'run', { onHint: () => told.push('late'), onLive: () => undefined }).stop();
      await (await live(other, pool, () => undefined)).stop();
      expect(told).toEqual([true]);
    });

    it('tells every process of a control event, the own one included, until it stops listening', async () => {
      const heard: ControlEvent[][] = [[], []];
      const stops = [
        one.onControl((event) => heard[0]!.push(event)),
        other.onControl((event) => heard[1]!.push(event)),
      ];
      const event: ControlEvent = { type: 'runner_revoked', runnerId: 'rnr_1', keyId: 'key' };
      await one.publishControl(event);
      await waitFor('the event', () => heard.map((h) => h.length), { holds: ([a, b]) => a === 1 && b === 1 });
      expect(heard).toEqual([[event], [event]]);
      stops[1]!();
      const second: ControlEvent = { type: 'work_cancelled', workId: 'run_1', runnerId: 'rnr_1' };
      await one.publishControl(second);
      await waitFor('the second event', () => heard[0]!.length, { holds: (n) => n === 2 });
      expect(heard[1]).toEqual([event]);
      stops[0]!();
    });
  });

  it.skipIf(!there)('refuses hints once it is closed', async () => {
    const { one, end } = await open();
    await end();
    expect(one.up).toBe(false);
    await expect(one.hint(hintOf(newPool()))).rejects.toThrow();
  });
});

describe.skipIf(!rabbitThere)('RabbitMQ', () => {
  let admin: Connection;
  let proxy: TcpProxy;
  let queue: WorkQueue;
  let straight: WorkQueue;
  let pool: string;
  beforeAll(async () => {
    admin = new Connection(AMQP_URL);
    admin.on('error', () => undefined);
    proxy = await startTcpProxy([AMQP_URL]);
    queue = openRabbit(proxy.urlOf(AMQP_URL));
    straight = openRabbit();
    await waitFor('both up', () => [queue.up, straight.up], { holds: ([a, b]) => a === true && b === true });
  });
  afterAll(async () => {
    await Promise.all([queue.close(), straight.close()]);
    await proxy.close();
    for (const exchange of [names.work, names.control]) await admin.exchangeDelete({ exchange });
    await admin.close();
  });
  const got: string[] = [];
  beforeEach(() => {
    pool = newPool();
    got.length = 0;
  });
  const collect = (hint: WorkHint): void => void got.push(hint.workId);

  it('goes on by itself after every connection was cut, and says so', async () => {
    const seen: boolean[] = [];
    const events: ControlEvent[] = [];
    const stops = [queue.onUp((up) => seen.push(up)), queue.onControl((event) => events.push(event))];
    const lives: boolean[] = [];
    const subscription = queue.subscribe(pool, 'run', {
      onHint: collect,
      onLive: (live) => lives.push(live),
    });
    await waitFor('live', () => subscription.live, { holds: (live) => live });
    proxy.cut();
    await waitFor('down and up, lost and live', () => [seen, lives], {
      holds: () => seen.join() === 'false,true' && lives.join() === 'true,false,true',
    });
    await straight.hint(hintOf(pool, 4));
    await waitFor('the hint after the cut', () => [...got], { holds: (ids) => ids.includes('run_4') });
    await straight.publishControl({ type: 'runner_changed', runnerId: 'rnr_9' });
    await waitFor('the event after the cut', () => events.length, { holds: (n) => n === 1 });
    await queue.hint(hintOf(pool, 5));
    await waitFor('a hint of its own', () => [...got], { holds: (ids) => ids.includes('run_5') });
    await subscription.stop();
    for (const stop of stops) stop();
  });

  it('that freezes counts as down within seconds, and hints end within five', async () => {
    proxy.impair({ how: 'lost', directions: ['requests', 'answers'] });
    const startedMs = performance.now();
    await expect(queue.hint(hintOf(pool, 6))).rejects.toMatchObject({ name: 'QueueTimeout' });
    expect(performance.now() - startedMs).toBeLessThan(5_500);
    await waitFor('down', () => queue.up, { holds: (up) => !up, withinMs: 1_000 });
    proxy.heal({ reset: true });
    await waitFor('up again', () => queue.up, { holds: (up) => up, withinMs: 20_000 });
    await queue.hint(hintOf(pool, 6));
  });

  it('that blocks publishers counts as down until it lets them go on, and hints end within five seconds', async () => {
    // connection.blocked("low on memory") and connection.unblocked, as the broker frames them on channel 0.
    const method = (id: number, body: Uint8Array): Buffer => {
      const payload = Buffer.concat([Buffer.from([0, 10, 0, id]), body]);
      return Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, payload.length]), payload, Buffer.from([0xce])]);
    };
    const reason = Buffer.from('low on memory');
    await queue.hint(hintOf(pool, 1));
    proxy.inject(method(60, Buffer.concat([Buffer.from([reason.length]), reason])));
    await waitFor('down', () => queue.up, { holds: (up) => !up, withinMs: 2_000 });
    // One of the two connections may hear of it a moment later and let one more hint through.
    await queue.hint(hintOf(pool, 2)).catch(() => undefined);
    await expect(queue.hint(hintOf(pool, 2))).rejects.toMatchObject({ name: 'QueueTimeout' });
    expect(queue.up).toBe(false);
    proxy.inject(method(61, Buffer.alloc(0)));
    await waitFor('up again', () => queue.up, { holds: (up) => up });
    await queue.hint(hintOf(pool, 3));
  });

  it('brings messages that are no hints nowhere', async () => {
    const subscription = await live(queue, pool, collect);
    await straight.hint(hintOf(pool, 1));
    for (const body of [
      'not json',
      '{}',
      '[]',
      'null',
      '{"workId":5}',
      '{"workId":"run_1\\nx"}',
      '{"workId":"' + 'x'.repeat(1_000) + '"}',
    ]) {
      const channel = await admin.acquire();
      await channel.basicPublish(
        { exchange: names.work, routingKey: hintKey('run', pool) },
        Buffer.from(body),
      );
      await channel.close();
    }
    await straight.hint(hintOf(pool, 2));
    await waitFor('the two hints', () => [...got], { holds: (ids) => ids.length >= 2 });
    expect(got).toEqual(['run_1', 'run_2']);
    await subscription.stop();
  });

  it('that loses the exchanges, and with them every binding, has all of it set up again', async () => {
    const events: ControlEvent[] = [];
    const stop = queue.onControl((event) => events.push(event));
    const subscription = await live(queue, pool, collect);
    for (const exchange of [names.work, names.control]) {
      const seen: boolean[][] = [[], []];
      const unfollow = [queue, straight].map((each, i) => each.onUp((up) => seen[i]!.push(up)));
      await admin.exchangeDelete({ exchange });
      await waitFor('both down and up', () => seen, {
        holds: () => seen.every((ups) => ups.length > 1 && ups.at(-1) === true) && subscription.live,
      });
      for (const stopFollowing of unfollow) stopFollowing();
      got.length = events.length = 0;
      await straight.hint(hintOf(pool, 1));
      await straight.publishControl({ type: 'runner_changed', runnerId: 'rnr_9' });
      await waitFor('hint and event', () => [...got, ...events], { holds: ({ length }) => length === 2 });
    }
    await subscription.stop();
    stop();
  });

  it('carries 300 pools on a few channels', async () => {
    const pools = Array.from({ length: 300 }, newPool);
    const subscriptions = await Promise.all(
      pools.map(async (each) => await live(queue, each, (hint) => got.push(hint.poolId))),
    );
    await Promise.all(pools.map(async (each) => await straight.hint(hintOf(each))));
    await waitFor('300 hints', () => new Set(got).size, { holds: (n) => n === 300 });
    await Promise.all(subscriptions.map(async (subscription) => await subscription.stop()));
  });
});
