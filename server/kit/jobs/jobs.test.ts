/** Jobs in a real database, and workers of several processes that do them. */
import { Registry } from 'prom-client';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { TIMED } from '../../../test/setup/timed.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { openDatabase, type Database } from '../../base/db/index.ts';
import { doubling, JobFailed, JobNotYet, type Job, type JobKind } from './kind.ts';
import { createLeases } from './leases.ts';
import { addJobMetrics } from './metrics.ts';
import {
  addJob,
  buryJob,
  claimJobs,
  finishJobs,
  isJobOpen,
  jobsAdded,
  purgeJobs,
  returnJob,
  type Claim,
  type Claimed,
  type NewJob,
} from './store.ts';
import { createWorker, startWorker, type WorkerDeps } from './worker.ts';

const postgresHere = await has('postgres');
const TEAMS = ['team_1', 'team_2', 'team_3'] as const;
const LEASE_MS = 60_000;

describe.skipIf(!postgresHere)('jobs', () => {
  const database = useDatabase();
  let db: Database;

  beforeAll(async () => {
    ({ db } = database);
    await db.sql`insert into regions (id, name, operator) values ('reg_1', 'r', 'service')`;
    for (const id of TEAMS)
      await db.sql`insert into teams (id, name, region_id, created_at) values (${id}, ${id}, 'reg_1', now())`;
  });
  afterEach(async () => void (await db.sql`delete from jobs`));

  /** Each is due a second after the one before, in the past, and has a lane of its own. */
  let added = 0;
  const add = async (job: Partial<NewJob> & { readonly key: string }) => {
    added += 1;
    const inMs = -1_000_000 + added * 1_000;
    await addJob(db, { teamId: TEAMS[0], kind: 'test', lane: `lane of ${job.key}`, inMs, ...job });
  };
  /** It adds so many jobs of the first team, each with a lane of its own. */
  const backlog = async (count: number, dueIn: string) =>
    void (await db.sql`
      insert into jobs (id, team_id, kind, lane, payload, due_at, created_at)
      select 'job_' || n, ${TEAMS[0]}, 'test', 'lane ' || n, '{}', now() + ${dueIn}::interval, now() from generate_series(1, ${count}::int) n`);
  const claim = async (more: Partial<Claim> = {}, from: Database = db) =>
    await claimJobs(from, [{ kind: 'test', take: 100, perTeam: 100, leaseMs: LEASE_MS, ...more }]);
  const claimOne = async (): Promise<Claimed> => {
    const [job] = await claim();
    if (job === undefined) throw new Error('no job is due');
    return job;
  };
  const keys = (claimed: readonly Claimed[]) => claimed.map(({ key }) => String(key)).sort();
  /** This makes it look as if so much time had passed. */
  const pass = async (ms: number) =>
    void (await db.sql`update jobs set due_at = due_at - ${ms}::float8 * interval '1 millisecond'`);
  const stored = async () =>
    await db.sql<Array<Pick<Job, 'key' | 'attempts' | 'lastError'> & { state: string; inMs: number }>>`
      select key, state, attempts, extract(epoch from due_at - now())::float8 * 1000 as "inMs", last_error as "lastError"
      from jobs order by key`;

  describe('claimJobs()', () => {
    it('takes one of each lane, in the order in which they are due', async () => {
      await add({ key: 'b', lane: 'x' });
      await add({ key: 'a', lane: 'x' });
      await add({ key: 'c', lane: 'y' });
      await add({ key: 'later', inMs: 60_000 });
      const first = await claim();
      expect(keys(first)).toEqual(['b', 'c']);
      expect(keys(await claim())).toEqual([]);
      await finishJobs(
        db.sql,
        first.filter(({ key }) => key === 'b'),
      );
      expect(keys(await claim())).toEqual(['a']);
    });

    it('lets no lane hold up another one', async () => {
      for (let n = 0; n < 30; n += 1) await add({ key: `many ${n}`, lane: 'many' });
      await add({ key: 'other' });
      expect(keys([...(await claim({ perTeam: 2 })), ...(await claim({ perTeam: 2 }))])).toEqual([
        'many 0',
        'other',
      ]);
    });

    it('gives every team its turn, however many jobs of another one wait', TIMED, async () => {
      await backlog(10_000, '-1 day');
      await add({ key: 'second', teamId: TEAMS[1] });
      await add({ key: 'third', teamId: TEAMS[2] });
      const claimed = await claim({ take: 4, perTeam: 10 });
      expect(claimed.map(({ teamId }) => teamId).sort()).toEqual([TEAMS[0], TEAMS[0], TEAMS[1], TEAMS[2]]);
    });

    it(
      'gives the installation its turn, as it does to a team, also behind a long backlog',
      TIMED,
      async () => {
        await add({ key: 'own', teamId: null });
        for (let n = 0; n < 3; n += 1) await add({ key: `more ${n}`, teamId: null });
        await add({ key: 'of a team' });
        const claimed = await claim({ take: 2, perTeam: 2 });
        expect(claimed.map(({ key, teamId }) => [key, teamId])).toEqual(
          expect.arrayContaining([
            ['own', ''],
            ['of a team', TEAMS[0]],
          ]),
        );
        expect(keys(await claim({ perTeam: 2 }))).toEqual(['more 0']);
        await db.sql`delete from jobs`;
        await backlog(10_000, '-30 days');
        await add({ key: 'own', teamId: null });
        expect((await claim({ take: 2, perTeam: 10 })).map(({ teamId }) => teamId).sort()).toEqual([
          '',
          TEAMS[0],
        ]);
      },
    );

    it('has no more than its share of a team at work', async () => {
      for (let n = 0; n < 5; n += 1) await add({ key: `${n}` });
      await add({ key: 'other', teamId: TEAMS[1] });
      expect(keys(await claim({ perTeam: 2 }))).toEqual(['0', '1', 'other']);
      expect(keys(await claim({ perTeam: 2 }))).toEqual([]);
      expect(keys(await claim({ perTeam: 3 }))).toEqual(['2']);
    });

    it('leaves kinds that nobody here can do, and counts those for themselves that somebody can', async () => {
      await add({ key: 'a' });
      await add({ key: 'b', kind: 'other' });
      await add({ key: 'c', kind: 'other' });
      const share = { perTeam: 9, leaseMs: LEASE_MS };
      expect(await claimJobs(db, [{ kind: 'unknown', take: 9, ...share }])).toEqual([]);
      const both = [
        { kind: 'test', take: 9, ...share },
        { kind: 'other', take: 1, ...share },
      ];
      expect(keys(await claimJobs(db, both))).toEqual(['a', 'b']);
    });

    it('takes anew what a dead worker had, and does not let that one end it', async () => {
      await add({ key: 'a', lane: 'x' });
      await add({ key: 'b', lane: 'x' });
      const dead = await claimOne();
      expect(await claim()).toEqual([]);
      await pass(LEASE_MS + 1_000);
      const second = await claimOne();
      expect(second).toMatchObject({ key: 'a', attempts: 2, lastError: 'its worker was lost' });
      expect(second.epoch).toBeGreaterThan(dead.epoch);
      await finishJobs(db.sql, [dead]);
      await returnJob(db.sql, dead, { inMs: 0 });
      await buryJob(db.sql, dead, 'too late');
      expect(await stored()).toMatchObject([{ key: 'a', state: 'running' }, { key: 'b' }]);
      await finishJobs(db.sql, [second]);
      expect(keys(await claim())).toEqual(['b']);
    });

    it('takes anew as many of a team as died at once', async () => {
      for (const key of ['a', 'b']) await add({ key });
      expect(await claim({ perTeam: 2 })).toHaveLength(2);
      await pass(LEASE_MS + 1_000);
      expect(keys(await claim({ perTeam: 2 }))).toEqual(['a', 'b']);
    });

    it('never gives one lane to two at once, however many processes claim', async () => {
      const others = [1, 2, 3].map((n) => openDatabase({ url: database.url, max: 3, name: `claimer ${n}` }));
      const working = new Map<string, string | null>();
      const clashes: string[] = [];
      const done: Array<string | null> = [];
      const LANES = 5;
      const EACH = 40;
      const work = async (from: Database): Promise<void> => {
        while (done.length < LANES * EACH) {
          const claimed = await claim({ take: 3 }, from);
          await Promise.all(
            claimed.map(async (job) => {
              const lane = String(job.payload['lane']);
              const other = working.get(lane);
              if (other !== undefined) clashes.push(`${lane}: ${job.key} while ${other}`);
              working.set(lane, job.key);
              await from.sql`select pg_sleep(0.001)`;
              working.delete(lane);
              done.push(job.key);
              await finishJobs(from.sql, [job]);
            }),
          );
        }
      };
      const addAll = async (lane: string): Promise<void> => {
        // Each is due before those that are there: a claimer who has not seen the claim of another would take
        // the newer one.
        for (let n = 0; n < EACH; n += 1)
          await add({ key: `${lane} ${n}`, lane, payload: { lane }, inMs: -1_000 * n });
      };
      try {
        const lanes = Array.from({ length: LANES }, (_, n) => `lane ${n}`);
        await Promise.all([...lanes.map(addAll), ...others.flatMap((from) => [work(from), work(from)])]);
      } finally {
        await Promise.all(others.map(async (other) => await other.close()));
      }
      expect(clashes).toEqual([]);
      expect(new Set(done).size).toBe(LANES * EACH);
      expect(done).toHaveLength(LANES * EACH);
      expect(await stored()).toEqual([]);
    });

    it('costs no more with a long backlog that is not due', TIMED, async () => {
      await backlog(20_000, '1 day');
      await db.sql`analyze jobs`;
      await add({ key: 'due' });
      const startedMs = performance.now();
      for (let n = 0; n < 20; n += 1) {
        const job = await claimOne();
        expect(job.key).toBe('due');
        await returnJob(db.sql, job, { inMs: 0 });
      }
      // Reading all of them takes some 10 ms each time.
      expect((performance.now() - startedMs) / 20).toBeLessThan(60);
    });
  });

  describe('addJob()', () => {
    it('has done again what is added while it is done, as it is then', async () => {
      await add({ key: 'a', payload: { n: 1 } });
      const job = await claimOne();
      await add({ key: 'a', payload: { n: 2 } });
      expect(await claim()).toEqual([]);
      await finishJobs(db.sql, [job]);
      expect(await claimOne()).toMatchObject({ payload: { n: 2 }, attempts: 1 });
    });

    it('adds what waits no second time, and has it due as it is named last', async () => {
      await add({ key: 'a', payload: { n: 1 } });
      await returnJob(db.sql, await claimOne(), { inMs: 50_000, error: 'not now' });
      expect(await claim()).toEqual([]);
      await add({ key: 'a', payload: { n: 2 } });
      expect(await stored()).toMatchObject([{ attempts: 0, lastError: null }]);
      expect(await claimOne()).toMatchObject({ payload: { n: 2 }, attempts: 1 });
    });

    it('is not undone by how the older one ends', async () => {
      for (const end of [
        async (job: Claimed) => await returnJob(db.sql, job, { inMs: 50_000, error: 'not now' }),
        async (job: Claimed) => await buryJob(db.sql, job, 'not any more'),
      ]) {
        await add({ key: 'a' });
        const job = await claimOne();
        await add({ key: 'a' });
        await end(job);
        await finishJobs(db.sql, [await claimOne()]);
        expect(await stored()).toEqual([]);
      }
    });

    it('makes a new job beside a dead one', async () => {
      const isOpen = async () =>
        (await db.sql<Array<{ open: boolean }>>`select ${isJobOpen(db.sql, 'test', db.sql`'a'`)} as open`)[0]
          ?.open;
      await add({ key: 'a' });
      expect(await isOpen()).toBe(true);
      await buryJob(db.sql, await claimOne(), 'no');
      expect(await isOpen()).toBe(false);
      await add({ key: 'a' });
      expect((await stored()).map(({ state }) => state).sort()).toEqual(['dead', 'waiting']);
    });

    it('is a part of its transaction', async () => {
      const failing = db.transact(async (tx) => {
        await addJob(tx, { teamId: TEAMS[0], kind: 'test', lane: 'x' });
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      expect(await stored()).toEqual([]);
    });
  });

  it('are added by the statement that makes their subject', async () => {
    const rows = db.sql`select id as team_id, 'x ' || id as lane, jsonb_build_object('name', name) as payload from teams`;
    await db.sql`with made as (${jobsAdded(db.sql, 'test', rows)}) select 1`;
    expect((await claim()).map(({ payload }) => String(payload['name'])).sort()).toEqual(TEAMS);
  });

  it('are forgotten when they are dead for 30 days', async () => {
    await add({ key: 'a' });
    await buryJob(db.sql, await claimOne(), 'no');
    await add({ key: 'b' });
    await pass(29 * 24 * 3_600_000);
    expect(await purgeJobs(db.sql)).toBe(0);
    await pass(25 * 3_600_000);
    expect(await purgeJobs(db.sql)).toBe(1);
    expect(await stored()).toMatchObject([{ state: 'waiting' }]);
  });

  describe('a worker', () => {
    const errors: unknown[] = [];
    const gaveUp: string[] = [];
    afterEach(() => {
      errors.splice(0);
      gaveUp.splice(0);
    });
    const workerOf = (run: JobKind['run'], more: Partial<JobKind> = {}): WorkerDeps => ({
      db,
      onError: (error) => errors.push(error),
      kinds: [
        {
          kind: 'test',
          attempts: 5,
          backoff: doubling(5_000, 20_000),
          concurrency: 16,
          perTeam: 16,
          timeoutMs: LEASE_MS,
          run,
          gaveUp: async (job, error) =>
            void gaveUp.push(`${job.key} after ${job.attempts}: ${(error as Error).message}`),
          ...more,
        },
      ],
    });
    const work = async (deps: WorkerDeps, signal = new AbortController().signal): Promise<number> => {
      const worker = createWorker(deps, { signal });
      const begun = await worker.pass();
      await worker.settled();
      return begun;
    };
    const failing = (error: Error) => async () => await Promise.reject(error);

    it('tries again what failed, each time after twice as long, and gives up in the end with the reason', async () => {
      await add({ key: 'a' });
      const waits: Array<number | undefined> = [];
      const deps = workerOf(async (job) => {
        waits.push(job.retryInMs);
        throw new JobFailed(`failure ${job.attempts}`);
      });
      for (let n = 1; n < 5; n += 1) {
        expect(await work(deps)).toBe(1);
        const [row] = await stored();
        expect(row).toMatchObject({ state: 'waiting', attempts: n, lastError: `failure ${n}` });
        expect(row!.inMs).toBeGreaterThan(waits.at(-1)! - 5_000);
        expect(await work(deps)).toBe(0);
        await pass(waits.at(-1)!);
      }
      expect(gaveUp).toEqual([]);
      expect(await work(deps)).toBe(1);
      expect(gaveUp).toEqual(['a after 5: failure 5']);
      expect(await stored()).toMatchObject([{ state: 'dead', attempts: 5, lastError: 'failure 5' }]);
      [5_000, 10_000, 20_000, 20_000].forEach((most, at) => {
        expect(waits[at]).toBeGreaterThanOrEqual(0.9 * most);
        expect(waits[at]).toBeLessThanOrEqual(most);
      });
      expect(waits[4]).toBeUndefined();
      expect(errors).toEqual([]);
    });

    it('ends at once what will not pass, and what asks for more patience than it has', async () => {
      await add({ key: 'a' });
      await work(workerOf(failing(new JobFailed('no', { isFinal: true }))));
      await add({ key: 'b' });
      const patient = new JobFailed('later', { retryInMs: 90_000 });
      await work(workerOf(failing(patient), { patienceMs: 60_000 }));
      expect(gaveUp).toEqual(['a after 1: no', 'b after 1: later']);
      expect(await stored()).toMatchObject([{ state: 'dead' }, { state: 'dead' }]);
    });

    it('waits for as long as it is asked to', async () => {
      await add({ key: 'a' });
      await work(workerOf(failing(new JobFailed('busy', { retryInMs: 90_000 }))));
      await add({ key: 'b' });
      await work(workerOf(failing(new JobNotYet(30_000))));
      const [a, b] = await stored();
      expect(a).toMatchObject({ state: 'waiting', attempts: 1 });
      expect(a!.inMs).toBeGreaterThan(80_000);
      // Nothing was tried.
      expect(b).toMatchObject({ state: 'waiting', attempts: 0, lastError: null });
      expect(b!.inMs).toBeGreaterThan(20_000);
      expect(b!.inMs).toBeLessThanOrEqual(30_000);
    });

    it('tells operators of a fault of our own, and tries it again', async () => {
      await add({ key: 'a' });
      await work(workerOf(failing(new TypeError('a fault'))));
      expect(errors).toMatchObject([{ message: 'a fault' }]);
      expect(await stored()).toMatchObject([{ state: 'waiting', attempts: 1, lastError: 'a fault' }]);
    });

    it('tries again to give up when that fails', async () => {
      await add({ key: 'a' });
      let isDown = true;
      const deps = workerOf(failing(new JobFailed('no', { isFinal: true })), {
        attempts: 1,
        gaveUp: async () => {
          if (isDown) throw new Error('down');
        },
      });
      await work(deps);
      expect(errors).toMatchObject([{ message: 'down' }]);
      expect(await stored()).toMatchObject([{ state: 'waiting', lastError: 'no' }]);
      isDown = false;
      await pass(5_000);
      await work(deps);
      expect(await stored()).toMatchObject([{ state: 'dead' }]);
    });

    it('does not begin what took the worker of its last attempt along', async () => {
      await add({ key: 'a' });
      for (let n = 0; n < 5; n += 1) {
        await claimOne();
        await pass(LEASE_MS + 1_000);
      }
      let begun = 0;
      await work(workerOf(async () => void (begun += 1)));
      expect(begun).toBe(0);
      expect(gaveUp).toEqual(['a after 6: test: its worker was lost']);
      expect(await stored()).toMatchObject([{ state: 'dead' }]);
    });

    it('aborts what takes too long', async () => {
      await add({ key: 'a' });
      const deps = workerOf(
        async (_job, signal) =>
          await new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('aborted')));
          }),
        { timeoutMs: 20 },
      );
      await work(deps);
      expect(errors).toMatchObject([{ message: 'test: no end within 20 ms', cause: { message: 'aborted' } }]);
      expect(await stored()).toMatchObject([{ state: 'waiting', attempts: 1 }]);
    });

    /** A job at work until it is let go, or told to end. */
    const atWork = (more: Partial<WorkerDeps> = {}) => {
      let release: () => void = () => undefined;
      const letGo = new Promise<void>((resolve) => (release = resolve));
      const ended: string[] = [];
      const run: JobKind['run'] = async (_job, signal) => {
        const lost = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        await Promise.race([letGo, lost]);
        ended.push(signal.aborted ? 'lost' : 'done');
        signal.throwIfAborted();
      };
      const deps = { ...workerOf(run, { timeoutMs: 600_000 }), ...more };
      return { worker: createWorker(deps, { signal: new AbortController().signal }), release, ended };
    };

    it('holds a job of ten minutes for less than one, renews it while it works, and others of its lane go on when it died', async () => {
      await add({ key: 'a', lane: 'x' });
      await add({ key: 'b', lane: 'x' });
      const dead = atWork();
      await dead.worker.pass();
      const left = async () => (await stored())[0]!.inMs;
      expect(await left()).toBeLessThan(60_000);
      await pass(40_000);
      expect(await left()).toBeLessThan(10_000);
      await dead.worker.renew();
      expect(await left()).toBeGreaterThan(40_000);
      // It is killed here: nobody renews any more.
      await pass(60_000);
      const seen: Array<string | null> = [];
      const other = workerOf(async ({ key }) => void seen.push(key));
      while ((await work(other)) > 0);
      expect(seen).toEqual(['a', 'b']);
      await dead.worker.renew();
      await dead.worker.settled();
      expect(dead.ended).toEqual(['lost']);
      expect(errors).toMatchObject([{ message: expect.stringContaining('was lost') as string }]);
      expect(gaveUp).toEqual([]);
      expect(await stored()).toEqual([]);
    });

    it('that stood still renews what nobody has taken meanwhile, and ends it as its own', async () => {
      await add({ key: 'a' });
      const slow = atWork();
      await slow.worker.pass();
      await pass(600_000);
      await slow.worker.renew();
      expect(await claim()).toEqual([]);
      slow.release();
      await slow.worker.settled();
      expect(slow.ended).toEqual(['done']);
      expect(await stored()).toEqual([]);
    });

    it('that cannot renew gives up before its time is over', async () => {
      await add({ key: 'a' });
      const job = await claimOne();
      const cut = openDatabase({ url: database.url });
      await cut.close(0);
      for (const [leaseMs, isLost] of [
        [60_000, false],
        [0, true],
      ] as const) {
        const leases = createLeases(cut.sql, leaseMs);
        const { lost } = leases.add(job, { askedAt: performance.now(), limitMs: 600_000 });
        await expect(leases.renew()).rejects.toThrow('closed');
        expect(lost.aborted).toBe(isLost);
      }
    });

    it('does not renew what does not end at its time limit', async () => {
      await add({ key: 'a' });
      const stuck = workerOf(async () => await new Promise(() => undefined), { timeoutMs: -30_001 });
      const worker = createWorker(stuck, { signal: new AbortController().signal });
      await worker.pass();
      await pass(LEASE_MS);
      await worker.renew();
      expect(await claimOne()).toMatchObject({ attempts: 2, lastError: 'its worker was lost' });
    });

    it('gives back at once what it has when the server stops', async () => {
      await add({ key: 'a' });
      const stopping = new AbortController();
      const deps = workerOf(async (_job, signal) => {
        stopping.abort();
        expect(signal.aborted).toBe(true);
        throw new Error('given up');
      });
      await work(deps, stopping.signal);
      expect(await stored()).toMatchObject([{ state: 'waiting', attempts: 0 }]);
      expect((await stored())[0]!.inMs).toBeLessThanOrEqual(0);
      expect(errors).toEqual([]);
    });

    it('does the next of a lane as soon as the one before has ended, while another lane is slow', async () => {
      const seen: Array<string | null> = [];
      let release: () => void = () => undefined;
      const slow = new Promise<void>((resolve) => (release = resolve));
      const deps = workerOf(async ({ key }) => {
        if (key === 'slow') await slow;
        else seen.push(key);
      });
      await add({ key: 'slow' });
      for (let n = 0; n < 10; n += 1) await add({ key: `${n}`, lane: 'quick' });
      const worker = startWorker(deps);
      try {
        await waitFor('ten jobs', () => seen.length === 10);
        expect(seen).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        expect(await stored()).toContainEqual(expect.objectContaining({ key: 'slow', state: 'running' }));
      } finally {
        release();
        await worker.stop();
      }
      expect(await stored()).toEqual([]);
    });

    it('is woken by the commit that adds a job, and does not wait for its next look', TIMED, async () => {
      let done: (job: Job) => void = () => undefined;
      const worker = startWorker(workerOf(async (job) => done(job)));
      try {
        const startedMs = performance.now();
        for (let n = 0; n < 10; n += 1) {
          const ended = new Promise((resolve) => (done = resolve));
          await db.transact(async (tx) => await addJob(tx, { teamId: TEAMS[0], kind: 'test', lane: `${n}` }));
          await ended;
        }
        // A look a second would take five seconds at the least.
        expect(performance.now() - startedMs).toBeLessThan(4_000);
      } finally {
        await worker.stop();
      }
    });

    it('shows what waits, runs, is done, has failed and is dead', async () => {
      const registry = new Registry();
      const deps = workerOf(async ({ key }) => {
        if (key === 'a') throw new JobFailed('no', { isFinal: true });
      });
      const counts = addJobMetrics(registry, { sql: db.sql, kinds: ['test', 'idle'], onError: deps.onError });
      await add({ key: 'a' });
      await add({ key: 'b' });
      await work({ ...deps, ...counts });
      await add({ key: 'c' });
      await claimOne();
      await add({ key: 'd', inMs: -90_000 });
      const text = await registry.metrics();
      for (const line of [
        'svc_jobs_waiting{kind="test"} 1',
        'svc_jobs_waiting{kind="idle"} 0',
        'svc_jobs_running{kind="test"} 1',
        'svc_jobs_dead{kind="test"} 1',
        'svc_jobs_done_total{kind="test"} 1',
        'svc_jobs_failed_total{kind="test"} 1',
      ])
        expect(text.split('\n')).toContain(line);
      expect(Number(/svc_jobs_oldest_seconds\{kind="test"\} (\d+)/.exec(text)?.[1])).toBeGreaterThanOrEqual(
        90,
      );
    });
  });
});
