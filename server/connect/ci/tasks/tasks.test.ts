/** Tasks in the database, and workers of several servers that do them. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../../test/setup/needs.ts';
import { startTestServer } from '../../../../test/setup/server.ts';
import type { TestServer } from '../../../../test/setup/server.ts';
import { openDatabase } from '../../../platform/db/index.ts';
import type { Database } from '../../../platform/db/index.ts';
import { systemClock } from '../../../platform/clock.ts';
import { ForgeError } from '../forges/call.ts';
import { CLAIM_MS, finish, putBack, takeDue, want } from './store.ts';
import type { Task, Wanted } from './store.ts';
import { ATTEMPTS_MAX, beginDue, startTasks } from './worker.ts';
import type { TaskHandler, TasksDeps } from './worker.ts';
import { TIMED } from '../../../../test/setup/timed.ts';

const postgresHere = await has('postgres');
const EPOCH = new Date('2030-01-01T00:00:00Z').getTime();

describe.skipIf(!postgresHere)('tasks', () => {
  let server: TestServer;
  let db: Database;
  let connections: ReadonlyArray<{ readonly id: string; readonly teamId: string }>;

  beforeAll(async () => {
    server = await startTestServer({ env: { SVC_ROLES: 'api' } });
    ({ db } = server);
    const { apiKey: as, teamId } = server.first;
    const made = [];
    for (const name of ['one', 'two', 'three']) {
      const body = { provider: 'github', repositoryHost: 'github.com', repositoryPath: `acme/${name}` };
      const { body: connection } = await server.call(`POST /teams/${teamId}/ci/connections`, { as, body });
      made.push({ id: String(connection['id']), teamId });
    }
    connections = made;
  });
  afterEach(async () => {
    await db.sql`delete from ci_tasks`;
    await db.sql`update ci_connections set quiet_until = null`;
  });
  afterAll(async () => await server.stop());

  const at = (seconds: number): Date => new Date(EPOCH + seconds * 1_000);
  const wanted = async (task: Partial<Wanted> & { key: string }, now = at(0), connection = 0) =>
    await want(db, connections[connection]!, { kind: 'poll_run', ...task }, now);
  const take = async (now: Date, more: { take?: number; ofTeamMax?: number } = {}, from: Database = db) =>
    await takeDue(from, { kinds: ['poll_run'], take: 100, ofTeamMax: 100, now, ...more });
  const keys = (tasks: readonly Task[]) => tasks.map(({ key }) => key).sort();
  const stored = async () =>
    await db.sql<Array<{ key: string; attempts: number; dueAt: Date; claimedUntil: Date | null }>>`
      select key, attempts, due_at as "dueAt", claimed_until as "claimedUntil" from ci_tasks order by key`;
  const one = async (now: Date): Promise<Task> => {
    const [task] = await take(now);
    if (task === undefined) throw new Error('no task is due');
    return task;
  };

  describe('takeDue()', () => {
    it('takes what is due, one of each lane, the first of it first', async () => {
      await wanted({ key: 'b', lane: 'x', dueAt: at(1) });
      await wanted({ key: 'a', lane: 'x', dueAt: at(2) });
      await wanted({ key: 'c', lane: 'y', dueAt: at(3) });
      await wanted({ key: 'later', lane: 'z', dueAt: at(60) });
      const first = await take(at(5));
      expect(keys(first)).toEqual(['b', 'c']);
      expect(keys(await take(at(5)))).toEqual([]);
      const b = first.find(({ key }) => key === 'b')!;
      await finish(db, b);
      expect(keys(await take(at(5)))).toEqual(['a']);
    });

    it('is not held up by a lane with many tasks, nor by a team', async () => {
      for (let n = 0; n < 30; n += 1) await wanted({ key: `many ${n}`, lane: 'many', dueAt: at(n / 100) });
      await wanted({ key: 'other', lane: 'other', dueAt: at(10) });
      expect(keys(await take(at(20), { take: 2 }))).toEqual(['many 0', 'other']);
      for (let n = 0; n < 5; n += 1) await wanted({ key: `wide ${n}`, lane: `wide ${n}`, dueAt: at(n) });
      // Two are at work already.
      expect(await take(at(30), { ofTeamMax: 4 })).toHaveLength(2);
      expect(await take(at(30), { ofTeamMax: 4 })).toHaveLength(0);
    });

    it('leaves kinds that nobody here can do', async () => {
      await wanted({ key: 'a' });
      const none = await takeDue(db, { kinds: ['discover'], take: 9, ofTeamMax: 9, now: at(1) });
      expect(none).toEqual([]);
      expect(await take(at(1))).toHaveLength(1);
    });

    it('takes anew what a dead worker had, and does not let that one end it', async () => {
      await wanted({ key: 'a' });
      const dead = await one(at(0));
      expect(await take(at(CLAIM_MS / 1_000 - 1))).toEqual([]);
      const second = await one(at(CLAIM_MS / 1_000 + 1));
      expect(second.attempts).toBe(2);
      await finish(db, dead);
      await putBack(db.sql, dead, at(0));
      expect(await stored()).toMatchObject([{ key: 'a', claimedUntil: second.claimedUntil }]);
      await finish(db, second);
      expect(await stored()).toEqual([]);
    });

    it('does again what was asked for while it was done', async () => {
      await wanted({ key: 'a', payload: { n: 1 } });
      const task = await one(at(0));
      await wanted({ key: 'a', payload: { n: 2 } }, at(1));
      expect(await take(at(2))).toEqual([]);
      await finish(db, task);
      expect(await one(at(2))).toMatchObject({ payload: { n: 2 }, attempts: 1 });
    });

    it('puts back for later, unless it was asked for meanwhile', async () => {
      await wanted({ key: 'a' });
      await putBack(db.sql, await one(at(0)), at(50));
      expect(await take(at(49))).toEqual([]);
      const task = await one(at(50));
      await wanted({ key: 'a' }, at(51));
      await putBack(db.sql, task, at(100));
      expect(await take(at(52))).toHaveLength(1);
    });

    it('never gives one lane to two at once, however many servers take', async () => {
      const others = [1, 2, 3].map((n) =>
        openDatabase({ url: server.databaseUrl, max: 3, name: `taker ${n}` }),
      );
      const working = new Map<string, string>();
      const clashes: string[] = [];
      const done: string[] = [];
      const LANES = 5;
      const EACH = 40;
      const worker = async (from: Database): Promise<void> => {
        while (done.length < LANES * EACH) {
          const tasks = await take(at(1_000), { take: 3 }, from);
          await Promise.all(
            tasks.map(async (task) => {
              const lane = String(task.payload['lane']);
              const other = working.get(lane);
              if (other !== undefined) clashes.push(`${lane}: ${task.key} while ${other}`);
              working.set(lane, task.key);
              await from.sql`select pg_sleep(0.001)`;
              working.delete(lane);
              done.push(task.key);
              await finish(from, task);
            }),
          );
        }
      };
      const asker = async (lane: string): Promise<void> => {
        // Each is due before those that are there: a taker who has not seen the claim of another would take the newer one.
        for (let n = 0; n < EACH; n += 1)
          await wanted({ key: `${lane} ${n}`, lane, payload: { lane }, dueAt: at(EACH - n) });
      };
      try {
        const lanes = Array.from({ length: LANES }, (_, n) => `lane ${n}`);
        await Promise.all([...lanes.map(asker), ...others.flatMap((from) => [worker(from), worker(from)])]);
      } finally {
        await Promise.all(others.map(async (other) => await other.close()));
      }
      expect(clashes).toEqual([]);
      expect(new Set(done).size).toBe(LANES * EACH);
      expect(done).toHaveLength(LANES * EACH);
      expect(await stored()).toEqual([]);
    });

    it('costs no more with a long backlog that is not due', TIMED, async () => {
      await db.sql`
        insert into ci_tasks (id, team_id, connection_id, kind, key, lane, payload, due_at, created_at)
        select 'cit_' || n, ${connections[0]!.teamId}, ${connections[0]!.id}, 'poll_run', 'key ' || n, 'lane ' || n, '{}', ${at(9_999)}, now()
        from generate_series(1, 20000) n`;
      await db.sql`analyze ci_tasks`;
      await wanted({ key: 'due' });
      const startedMs = performance.now();
      for (let n = 0; n < 20; n += 1) {
        const [task] = await take(at(1));
        expect(task?.key).toBe('due');
        await putBack(db.sql, task!, at(0));
      }
      // Reading all of them takes some 10 ms each time.
      expect((performance.now() - startedMs) / 20).toBeLessThan(60);
    });
  });

  describe('beginDue()', () => {
    let now = at(0);
    const clock = { ...systemClock, now: () => now };
    const errors: unknown[] = [];
    const gaveUp: string[] = [];
    const handlerOf = (run: TaskHandler['run']): TasksDeps => ({
      db,
      clock,
      onError: (error) => errors.push(error),
      handlers: {
        poll_run: {
          run,
          gaveUp: async (task, _connection, error) =>
            void gaveUp.push(`${task.key} after ${task.attempts}: ${error.message}`),
        },
      },
    });
    const begin = async (deps: TasksDeps, signal = new AbortController().signal) =>
      (await Promise.all(await beginDue(deps, signal))).length;
    const busy = new ForgeError('provider_unavailable', 'the host is down', { status: 503 });

    afterEach(() => {
      errors.splice(0);
      gaveUp.splice(0);
      now = at(0);
    });

    it('tries a passing failure again, each time after twice as long, and gives up in the end', async () => {
      await wanted({ key: 'a' });
      const deps = handlerOf(async () => await Promise.reject(busy));
      const waits: number[] = [];
      for (let n = 1; n < ATTEMPTS_MAX; n += 1) {
        expect(await begin(deps)).toBe(1);
        const [row] = await stored();
        waits.push((row!.dueAt.getTime() - now.getTime()) / 1_000);
        now = row!.dueAt;
      }
      expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600, 3_600]);
      expect(gaveUp).toEqual([]);
      expect(await begin(deps)).toBe(1);
      expect(gaveUp).toEqual([`a after ${ATTEMPTS_MAX}: the host is down`]);
      expect(await stored()).toEqual([]);
      expect(errors).toEqual([]);
    });

    it('ends at once with what will not pass', async () => {
      await wanted({ key: 'a' });
      await begin(
        handlerOf(async () => await Promise.reject(new ForgeError('forbidden', 'no', { status: 403 }))),
      );
      expect(gaveUp).toEqual(['a after 1: no']);
      expect(await stored()).toEqual([]);
    });

    it('leaves a host alone for as long as it asks, with every task of the connection', async () => {
      await wanted({ key: 'limited' });
      await wanted({ key: 'elsewhere', dueAt: at(99) }, at(0), 1);
      const limit = new ForgeError('rate_limited', 'slow down', { status: 429, retryAfterMs: 120_000 });
      await begin(handlerOf(async () => await Promise.reject(limit)));
      expect(await stored()).toMatchObject([{ key: 'elsewhere' }, { key: 'limited', dueAt: at(120) }]);
      // Asked for again, and another one: neither is begun before.
      await wanted({ key: 'limited' }, at(10));
      await wanted({ key: 'another', lane: 'another' }, at(10));
      expect(await take(at(98))).toEqual([]);
      expect(keys(await take(at(119)))).toEqual(['elsewhere']);
      expect(keys(await take(at(120)))).toEqual(['another', 'limited']);
    });

    it('drops a task whose connection was deleted meanwhile, unless it brings what it needs', async () => {
      const { apiKey: as, teamId } = server.first;
      const body = { provider: 'github', repositoryHost: 'github.com', repositoryPath: 'acme/short-lived' };
      const made = await server.call(`POST /teams/${teamId}/ci/connections`, { as, body });
      const connection = { id: String(made.body['id']), teamId };
      await want(db, connection, { kind: 'poll_run', key: 'a' }, at(0));
      await want(db, connection, { kind: 'poll_run', key: 'b', lane: 'b', payload: { connection } }, at(0));
      expect((await server.call(`DELETE /ci/connections/${connection.id}`, { as })).status).toBe(204);
      const seen: unknown[] = [];
      await begin(handlerOf(async (task, { id }) => void seen.push([task.key, id])));
      expect(seen).toEqual([['b', connection.id]]);
      expect(await stored()).toEqual([]);
    });

    it('tells operators of a fault of our own, tries it again, and gives it up in the end', async () => {
      await wanted({ key: 'a' });
      const deps = handlerOf(async () => await Promise.reject(new TypeError('a fault')));
      await begin(deps);
      expect(errors).toMatchObject([{ message: 'a fault' }]);
      expect(await stored()).toMatchObject([{ key: 'a', dueAt: at(5), claimedUntil: null }]);
      await db.sql`update ci_tasks set attempts = ${ATTEMPTS_MAX - 1}, due_at = ${at(0)}`;
      await begin(deps);
      expect(gaveUp).toEqual([
        expect.stringContaining(`a after ${ATTEMPTS_MAX}: it failed within this service`),
      ]);
      expect(await stored()).toEqual([]);
    });

    it('gives back at once what it holds when the server stops', async () => {
      await wanted({ key: 'a' });
      const stopping = new AbortController();
      const deps = handlerOf(async (_task, _connection, signal) => {
        stopping.abort();
        expect(signal.aborted).toBe(true);
        throw new ForgeError('provider_unavailable', 'the request was given up');
      });
      await begin(deps, stopping.signal);
      expect(await stored()).toMatchObject([{ key: 'a', dueAt: at(0), claimedUntil: null }]);
      expect(errors).toEqual([]);
    });
  });

  describe('startTasks()', () => {
    it('does the next of a lane as soon as the one before has ended, while another lane is slow', async () => {
      const seen: string[] = [];
      let release: () => void = () => undefined;
      const slow = new Promise<void>((resolve) => (release = resolve));
      let allDone: () => void = () => undefined;
      const finished = new Promise<void>((resolve) => (allDone = resolve));
      const deps: TasksDeps = {
        db,
        clock: systemClock,
        onError: (error) => seen.push(String(error)),
        handlers: {
          poll_run: {
            run: async ({ key }) => {
              if (key === 'slow') return await slow;
              seen.push(key);
              if (seen.length === 10) allDone();
            },
            gaveUp: async () => undefined,
          },
        },
      };
      await wanted({ key: 'slow', lane: 'slow' }, new Date(0));
      for (let n = 0; n < 10; n += 1) await wanted({ key: `${n}`, lane: 'quick' }, new Date(n));
      const tasks = startTasks(deps);
      try {
        await finished;
        expect(seen).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        expect(await stored()).toContainEqual(expect.objectContaining({ key: 'slow' }));
      } finally {
        release();
        await tasks.stop();
      }
      expect(await stored()).toEqual([]);
    });
  });
});
