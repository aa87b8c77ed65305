/** One suite of promises for both queues, and what RabbitMQ alone can do to them. */
import { randomBytes } from 'node:crypto';
import { Connection } from 'rabbitmq-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AMQP_URL, has } from '../../test/setup/needs.ts';
import { createLocalQueue } from './local.ts';
import type { ControlEvent, WorkHint, WorkQueue } from './queue.ts';
import { connectRabbit } from './rabbit.ts';
import { startTcpProxy } from '../../test/setup/tcp-proxy.ts';
import type { TcpProxy } from '../../test/setup/tcp-proxy.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const rabbitThere = await has('rabbitmq');
const quiet = { info: () => undefined, warn: () => undefined };

const hintOf = (poolId: string, n = 1): WorkHint => ({ workId: `run_${n}`, poolId, kind: 'run' });
const newPool = (): string => `team_${randomBytes(6).toString('hex')}`;

interface Side {
  readonly name: string;
  readonly there: boolean;
  /** Two processes that share a queue. */
  open(): Promise<{ one: WorkQueue; other: WorkQueue; end(): Promise<void> }>;
}

const prefix = `svctest-${randomBytes(4).toString('hex')}-`;
const used = new Set<string>();
const openRabbit = (url = AMQP_URL): WorkQueue =>
  connectRabbit({ url, role: 'all', log: quiet, prefix, probeEveryMs: 200 });

const sides: Side[] = [
  {
    name: 'within the process',
    there: true,
    open: async () => {
      const queue = createLocalQueue(quiet);
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
      used.add(pool);
    });

    it('brings a hint to a consumer of its pool and kind alone', async () => {
      const got: WorkHint[] = [];
      const wrong: WorkHint[] = [];
      const consumers = await Promise.all([
        other.consume(pool, 'run', async (hint) => void got.push(hint)),
        other.consume(pool, 'build', async (hint) => void wrong.push(hint)),
        other.consume(`${pool}x`, 'run', async (hint) => void wrong.push(hint)),
      ]);
      used.add(`${pool}x`);
      await one.hint(hintOf(pool));
      await waitFor('the hint', () => got.length, { holds: (n) => n === 1 });
      expect(got).toEqual([hintOf(pool)]);
      expect(wrong).toEqual([]);
      await Promise.all(consumers.map(async (consumer) => await consumer.stop()));
    });

    it('keeps hints until somebody consumes', async () => {
      await one.hint(hintOf(pool, 1));
      await one.hint(hintOf(pool, 2));
      const got: string[] = [];
      const consumer = await other.consume(pool, 'run', async (hint) => void got.push(hint.workId));
      await waitFor('both hints', () => [...got].toSorted(), { holds: (ids) => ids.length === 2 });
      expect(got.toSorted()).toEqual(['run_1', 'run_2']);
      await consumer.stop();
    });

    it('counts a hint as done whatever its handler comes to', async () => {
      const got: string[] = [];
      const first = await other.consume(pool, 'run', async (hint) => {
        got.push(hint.workId);
        throw new Error('this claim failed');
      });
      await one.hint(hintOf(pool, 1));
      await waitFor('the hint', () => got.length, { holds: (n) => n === 1 });
      await first.stop();
      const second = await other.consume(pool, 'run', async (hint) => void got.push(hint.workId));
      await one.hint(hintOf(pool, 2));
      await waitFor('the second hint', () => got.length, { holds: (n) => n === 2 });
      expect(got).toEqual(['run_1', 'run_2']);
      await second.stop();
    });

    it('shares hints between consumers and loses none of 500', async () => {
      const got = [new Set<string>(), new Set<string>()] as const;
      const consumers = [
        await one.consume(pool, 'run', async (hint) => void got[0].add(hint.workId)),
        await other.consume(pool, 'run', async (hint) => void got[1].add(hint.workId)),
      ];
      await Promise.all(Array.from({ length: 500 }, async (_, i) => await one.hint(hintOf(pool, i))));
      await waitFor('500 hints', () => got[0].size + got[1].size, { holds: (n) => n === 500 });
      expect(got[0].size).toBeGreaterThan(0);
      expect(got[1].size).toBeGreaterThan(0);
      await Promise.all(consumers.map(async (consumer) => await consumer.stop()));
    });

    it('stops a consumer after its running handlers, and leaves the rest to the next one', async () => {
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const first: string[] = [];
      const consumer = await other.consume(pool, 'run', async (hint) => {
        first.push(hint.workId);
        await held;
      });
      await one.hint(hintOf(pool, 1));
      await waitFor('the handler', () => first.length, { holds: (n) => n === 1 });
      let stopped = false;
      const stopping = consumer.stop().then(() => {
        stopped = true;
      });
      const second: string[] = [];
      const next = await other.consume(pool, 'run', async (hint) => void second.push(hint.workId));
      await one.hint(hintOf(pool, 2));
      await waitFor('the second hint', () => second.length, { holds: (n) => n === 1 });
      expect(stopped).toBe(false);
      release();
      await stopping;
      expect([first, second]).toEqual([['run_1'], ['run_2']]);
      await next.stop();
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
  const queueName = (): string => `${prefix}work.run.${pool}`;
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
    for (const id of used)
      for (const kind of ['run', 'build']) await admin.queueDelete(`${prefix}work.${kind}.${id}`);
    await admin.exchangeDelete({ exchange: `${prefix}ctl` });
    await admin.close();
  });
  beforeEach(() => {
    pool = newPool();
    used.add(pool);
  });
  const got: string[] = [];
  afterEach(() => void (got.length = 0));
  const collect = async (hint: WorkHint): Promise<void> => void got.push(hint.workId);

  it('that loses a queue’s messages gets the next hints through', async () => {
    await straight.hint(hintOf(pool, 1));
    await admin.queuePurge(queueName());
    const consumer = await queue.consume(pool, 'run', collect);
    await straight.hint(hintOf(pool, 2));
    await waitFor('the hint after the purge', () => [...got], { holds: (ids) => ids.length === 1 });
    expect(got).toEqual(['run_2']);
    await consumer.stop();
  });

  it('that loses a whole queue has it declared and consumed again', async () => {
    const consumer = await queue.consume(pool, 'run', collect);
    await straight.hint(hintOf(pool, 1));
    await waitFor('the first hint', () => got.length, { holds: (n) => n === 1 });
    await admin.queueDelete(queueName());
    await straight.hint(hintOf(pool, 2));
    await waitFor('the hint after the deletion', () => [...got], { holds: (ids) => ids.length === 2 });
    await consumer.stop();
  });

  it('keeps a hint for a queue that nobody had declared', async () => {
    await straight.hint(hintOf(pool, 7));
    expect(await admin.queueDeclare({ queue: queueName(), passive: true })).toMatchObject({
      messageCount: 1,
    });
  });

  it('delivers again what was not acknowledged when the connection broke', async () => {
    let entered = false;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const consumer = await queue.consume(pool, 'run', async () => {
      entered = true;
      await held;
    });
    await straight.hint(hintOf(pool, 3));
    await waitFor('the handler', () => entered, { holds: (e) => e });
    const other = await straight.consume(pool, 'run', collect);
    proxy.cut();
    await waitFor('the second delivery', () => [...got], { holds: (ids) => ids.includes('run_3') });
    release();
    await Promise.all([consumer.stop(), other.stop()]);
    await waitFor('up again', () => queue.up, { holds: (up) => up });
  });

  it('goes on by itself after every connection was cut, and says so', async () => {
    const seen: boolean[] = [];
    const events: ControlEvent[] = [];
    const stops = [queue.onUp((up) => seen.push(up)), queue.onControl((event) => events.push(event))];
    const consumer = await queue.consume(pool, 'run', collect);
    proxy.cut();
    await waitFor('down and up', () => [...seen], {
      holds: (list) => list.includes(false) && list.at(-1) === true,
    });
    await straight.hint(hintOf(pool, 4));
    await waitFor('the hint after the cut', () => [...got], { holds: (ids) => ids.includes('run_4') });
    await straight.publishControl({ type: 'runner_changed', runnerId: 'rnr_9' });
    await waitFor('the event after the cut', () => events.length, { holds: (n) => n === 1 });
    await queue.hint(hintOf(pool, 5));
    await waitFor('a hint of its own', () => [...got], { holds: (ids) => ids.includes('run_5') });
    await consumer.stop();
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
      await channel.basicPublish({ routingKey: queueName() }, Buffer.from(body));
      await channel.close();
    }
    await straight.hint(hintOf(pool, 2));
    const consumer = await queue.consume(pool, 'run', collect);
    await waitFor('the two hints', () => [...got].toSorted(), { holds: (ids) => ids.length >= 2 });
    await consumer.stop();
    expect(got.toSorted()).toEqual(['run_1', 'run_2']);
    expect(await admin.queueDeclare({ queue: queueName(), passive: true })).toMatchObject({
      messageCount: 0,
    });
  });

  it('that holds a queue with other arguments has it consumed as it is', async () => {
    await admin.queueDeclare({ queue: queueName(), durable: true });
    const consumer = await queue.consume(pool, 'run', collect);
    await straight.hint(hintOf(pool, 8));
    await waitFor('the hint', () => [...got], { holds: (ids) => ids.length === 1 });
    await consumer.stop();
  });

  it('carries 300 pools on a few channels', async () => {
    const pools = Array.from({ length: 300 }, newPool);
    for (const each of pools) used.add(each);
    const consumers = await Promise.all(
      pools.map(async (each) => await queue.consume(each, 'run', async (hint) => void got.push(hint.poolId))),
    );
    await Promise.all(pools.map(async (each) => await straight.hint(hintOf(each))));
    await waitFor('300 hints', () => new Set(got).size, { holds: (n) => n === 300 });
    await Promise.all(consumers.map(async (consumer) => await consumer.stop()));
  });
});
