/** Sandbox runs as their team sees them, against a real PostgreSQL. */
import { createHash, randomBytes } from 'node:crypto';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EndReason, Isolation, LogStream } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import {
  RunState,
  SandboxRunsService,
  type CreateRequestSchema,
  type LogEvent,
} from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { WorkHint, WorkQueue } from '@svc/proto/queue/queue.ts';
import { has } from '../../../test/setup/needs.ts';
import { createSecrets } from '../../base/secrets.ts';
import { createAppendLogs, type AppendInput } from '../work/append-logs.ts';
import { createWake, unfinished } from '../work/index.ts';
import { runOffer } from '../work/run-spec.ts';
import { sweep } from '../work/sweeper.ts';
import { unaryOf } from '../../../test/setup/engine/unary.ts';
import type { TestCall } from '../../../test/setup/work/ctx.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';
import { createSandboxRuns, followLogs } from './index.ts';
import { TIMED } from '../../../test/setup/timed.ts';

const there = await has('postgres');
const { method } = SandboxRunsService;
const QUEUED_MAX = 60;

describe.skipIf(!there)('sandbox runs', () => {
  let world: World;
  let team: string;
  let runner: string;
  let queue: WorkQueue;
  let service: ReturnType<typeof createSandboxRuns>;
  const secrets = createSecrets(randomBytes(32));
  const wake = createWake();
  beforeAll(async () => {
    world = await createWorld({ queuedMax: QUEUED_MAX });
    ({ queue } = world);
    const onError = (error: unknown): void => {
      throw error;
    };
    service = createSandboxRuns({
      queue,
      submit: world.submitWork,
      settings: world.settings,
      secrets,
      localRegistry: '127.0.0.1:5000',
      wake,
      onError,
    });
  });
  afterAll(async () => await world.drop());

  const appendLogs = async (input: Omit<AppendInput, 'runnerId' | 'kind'>) =>
    await createAppendLogs(world.db.sql, world.settings)({ runnerId: runner, kind: 'run', ...input });
  beforeEach(async () => {
    team = await world.team();
    runner = await world.runner(team);
  });

  const as = (more: Partial<TestCall> = {}): TestCall => ({
    db: world.db,
    userId: world.userId,
    teamIds: [team],
    ...more,
  });
  const call = unaryOf(() => service, as);
  const get = async (runId: string) => await call(method.get, { runId });
  const cancel = async (runId: string) => await call(method.cancel, { runId });
  /** The runner is gone, and the sweeper sees it. */
  const lose = async (id: string): Promise<void> => {
    await world.expire(id);
    await sweep(world.db.sql, world.settings);
  };
  const submit = async (
    fields: Partial<MessageInitShape<typeof CreateRequestSchema>> = {},
    more: Partial<TestCall> = {},
  ) => await call(method.create, { teamId: team, command: ['echo', 'hi'], ...fields } as never, as(more));

  it('are created with every default told, stored, and hinted at once', async () => {
    const hints: WorkHint[] = [];
    const subscription = queue.subscribe(team, 'run', {
      onHint: (hint) => hints.push(hint),
      onLive: () => undefined,
    });
    const run = await submit({ labels: { a: 'b' } });
    expect(run).toMatchObject({
      teamId: team,
      state: RunState.QUEUED,
      command: ['echo', 'hi'],
      workdir: '/workspace',
      isolation: Isolation.ANY,
      limits: { timeoutSeconds: 600, memoryMb: 512, cpus: 1, pids: 256, outputBytes: 16_777_216 },
      labels: { a: 'b' },
      attempt: 0,
      cancelRequested: false,
    });
    expect(run.id).toMatch(/^run_[0-9a-z]{26}$/);
    // Beside what was answered at its submission it tells why it waits.
    const read = await get(run.id);
    expect({ ...read, waiting: undefined }).toEqual({ ...run, waiting: undefined });
    await new Promise((resolve) => setImmediate(resolve));
    expect(hints).toEqual([{ workId: run.id, poolId: team, kind: 'run', count: 1 }]);
    await subscription.stop();
  });

  it('say which runners may have them, where they stand, how long they wait and how often they are tried', async () => {
    const runner = { group: 'gpu', labels: { zone: 'a' } };
    const placed = { priority: -7, queueTimeoutSeconds: 90, maxAttempts: 1 };
    const run = await submit({ runner, ...placed });
    expect(run).toMatchObject({ runner, ...placed });
    const read = await get(run.id);
    expect(read).toMatchObject({ runner, ...placed });
    const plain = await submit({ runner: {} });
    expect(plain).toMatchObject({ priority: 0, maxAttempts: 5 });
    expect([plain.runner, plain.queueTimeoutSeconds]).toEqual([undefined, undefined]);
  });

  it('show the names of their environment and give its values to the runner alone', async () => {
    const secret = randomBytes(12).toString('hex');
    const run = await submit({ env: { TOKEN: secret, A: '1' }, stdin: `in ${secret}` });
    expect(run.envNames).toEqual(['A', 'TOKEN']);
    const [row] = await world.db.sql`select w::text as text from work_items w where id = ${run.id}`;
    expect(row?.['text']).not.toContain(secret);
    const grant = await world.poll(runner);
    expect(runOffer(grant!, 15_000, secrets)).toMatchObject({
      id: run.id,
      env: { TOKEN: secret, A: '1' },
      stdin: `in ${secret}`,
      attempt: 1,
      leaseMs: 15_000,
    });
  });

  it('refuse a command that is too long altogether', async () => {
    const command = ['x'.repeat(32_768), 'x'.repeat(32_768), 'x'.repeat(32_768), 'x'.repeat(32_768), 'y'];
    await expect(submit({ command })).rejects.toMatchObject({ code: 'validation_failed' });
  });

  describe('with an Idempotency-Key', () => {
    const keyed = (key: string, body = 'same', principal = 'user:one') => ({
      idempotency: { principal, key, fingerprint: createHash('sha256').update(body).digest() },
    });
    const count = async (): Promise<unknown> => {
      const [row] = await world.db.sql`select count(*)::int as n from work_items where team_id = ${team}`;
      return row?.['n'];
    };

    it('sent fifty times at once are one run, and every answer is the same', async () => {
      const runs = await Promise.all(
        Array.from({ length: 50 }, async () => await submit({}, keyed('fifty'))),
      );
      expect(await count()).toBe(1);
      for (const run of runs) expect(run).toEqual(runs[0]);
    });

    it('say when the answer is an earlier one', async () => {
      const responseHeaders = new Map<string, string>();
      const first = await submit({}, { ...keyed('said'), responseHeaders });
      expect(responseHeaders.has('idempotent-replayed')).toBe(false);
      expect(await submit({}, { ...keyed('said'), responseHeaders })).toEqual(first);
      expect(responseHeaders.get('idempotent-replayed')).toBe('true');
    });

    it('refuse another request, and are another key for another principal', async () => {
      await submit({}, keyed('mine'));
      await expect(submit({}, keyed('mine', 'other'))).rejects.toMatchObject({
        code: 'idempotency_key_reused',
        status: 422,
      });
      await submit({}, keyed('mine', 'other', 'user:two'));
      expect(await count()).toBe(2);
    });

    it('are free again after 24 hours', async () => {
      const first = await submit({}, keyed('daily'));
      await world.db
        .sql`update idempotency_keys set created_at = now() - interval '24 h 1 s' where key = 'daily'`;
      expect((await submit({}, keyed('daily', 'other'))).id).not.toBe(first.id);
    });

    it('are answered from before even when the queue is full now', async () => {
      const first = await submit({}, keyed('full'));
      await Promise.all(Array.from({ length: QUEUED_MAX - 1 }, async () => await submit()));
      await expect(submit()).rejects.toMatchObject({
        code: 'limit_reached',
        status: 409,
        details: { limit: QUEUED_MAX },
      });
      expect(await submit({}, keyed('full'))).toEqual(first);
    });
  });

  it('are listed newest first, page by page, by state', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 7; i += 1) ids.unshift((await submit()).id);
    await cancel(ids[2]!);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await call(method.list, {
        teamId: team,
        limit: 3,
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...page.sandboxRuns.map((run) => run.id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen.toSorted()).toEqual(ids.toSorted());
    const times = await Promise.all(
      seen.map(async (id) => timestampDate((await get(id)).createdAt!).getTime()),
    );
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const cancelled = await call(method.list, { teamId: team, state: [RunState.CANCELLED] });
    expect(cancelled.sandboxRuns.map((run) => run.id)).toEqual([ids[2]]);
    const first = await call(method.list, { teamId: team, limit: 3 });
    await expect(
      call(method.list, { teamId: team, limit: 3, state: [RunState.QUEUED], cursor: first.nextCursor! }),
    ).rejects.toMatchObject({ code: 'validation_failed' });
  });

  it('of another team are not there for any call', async () => {
    const run = await submit();
    const stranger = as({ teamIds: [await world.team()] });
    const calls = [
      call(method.get, { runId: run.id }, stranger),
      call(method.cancel, { runId: run.id }, stranger),
    ];
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'not_found' } });
    expect((await get(run.id)).state).toBe(RunState.QUEUED);
  });

  it.each<[string, string, string]>([
    ['three digits of an id', '97e', 'could be the id'],
    ['an id', 'c13f'.repeat(16), 'could be the id'],
    ['an id with its kind', `sha256:${'c13f'.repeat(16)}`, 'could be the id'],
    ['a short digest', 'alpine@sha256:97e', 'expected a reference'],
    ['a file of the machine', 'oci-archive:etc', 'expected a reference'],
    ['an address', 'docker://alpine', 'expected a reference'],
  ])('name their image exactly, and not by %s', async (_, image, why) => {
    await expect(submit({ image })).rejects.toMatchObject({
      code: 'validation_failed',
      message: expect.stringContaining(why) as string,
      details: { fields: [{ field: 'image', rule: 'reference' }] },
    });
    expect((await submit({ image: 'cafe:latest' })).image).toBe('cafe:latest');
  });

  describe('environment and input', () => {
    const given = { env: { TOKEN: 'hunter2' }, stdin: 'a secret too' };
    const isSealed = async (id: string): Promise<boolean> =>
      'sealed' in ((await world.item(id))['spec'] as Record<string, unknown>);
    const held = async (): Promise<string> => {
      const { id } = await submit(given);
      await world.poll(runner);
      expect(await isSealed(id)).toBe(true);
      return id;
    };

    const ends: ReadonlyArray<[string, RunState, (id: string) => Promise<unknown>]> = [
      ['it succeeds', RunState.SUCCEEDED, async (id) => await world.report(runner, { id, epoch: 1 })],
      ['it fails', RunState.FAILED, async (id) => await world.report(runner, { id, epoch: 1, exitCode: 3 })],
      [
        'it cannot be run',
        RunState.FAILED,
        async (id) =>
          await world.report(runner, { id, epoch: 1, reason: 'engine_error', exitCode: undefined }),
      ],
      [
        'it is cancelled while it runs',
        RunState.CANCELLED,
        async (id) => {
          await cancel(id);
          expect(await isSealed(id)).toBe(true);
          await world.report(runner, { id, epoch: 1, reason: 'cancelled', exitCode: undefined });
        },
      ],
      [
        'it is cancelled and its runner is lost',
        RunState.CANCELLED,
        async (id) => {
          await cancel(id);
          await lose(id);
        },
      ],
      [
        'its time passes and nobody reports',
        RunState.FAILED,
        async (id) => {
          await world.db
            .sql`update work_items set deadline_at = now() - interval '1 minute' where id = ${id}`;
          await lose(id);
        },
      ],
      [
        'it is given up',
        RunState.DEAD,
        async (id) => {
          await world.db.sql`update work_items set attempt = max_attempts where id = ${id}`;
          await lose(id);
        },
      ],
    ];
    it.each(ends)('are gone when %s', async (_, state, end) => {
      const id = await held();
      await end(id);
      const run = await get(id);
      expect(run).toMatchObject({ state, envNames: ['TOKEN'], command: ['echo', 'hi'] });
      expect(await isSealed(id)).toBe(false);
    });

    it('are gone when it is cancelled before anybody had it', async () => {
      const { id } = await submit(given);
      await cancel(id);
      expect(await isSealed(id)).toBe(false);
    });

    it('are there for the next attempt when the first one is lost', async () => {
      const id = await held();
      await lose(id);
      const again = await world.poll(runner);
      expect(again).toMatchObject({ workId: id, epoch: 2 });
      expect(runOffer(again!, 1_000, secrets)).toMatchObject(given);
    });
  });

  it('tell who executed them, when, and for how long', async () => {
    const { id } = await submit();
    await world.poll(runner);
    await world.beat(runner, { id, epoch: 1 });
    await world.report(runner, { id, epoch: 1, reason: 'exit', exitCode: 7, durationMs: 12 });
    const run = await get(id);
    expect(run).toMatchObject({
      state: RunState.FAILED,
      reason: EndReason.EXIT,
      exitCode: 7,
      runnerId: runner,
      attempt: 1,
      selfReportedMs: 12,
    });
    expect(run.runnerName).toMatch(/^box-/);
    expect(run.meteredMs).toBe(Math.trunc(run.meteredMs!));
    for (const time of [run.claimedAt, run.startedAt, run.finishedAt]) expect(time).toBeDefined();
  });

  it('when cancelled twice are cancelled once, and the holder’s gateway is told', async () => {
    const { id } = await submit();
    await world.poll(runner);
    const events: unknown[] = [];
    const stop = queue.onControl((event) => events.push(event));
    expect(await cancel(id)).toMatchObject({
      state: RunState.OFFERED,
      cancelRequested: true,
    });
    expect(await cancel(id)).toMatchObject({
      cancelRequested: true,
    });
    expect(events).toEqual([{ type: 'work_cancelled', workId: id, runnerId: runner }]);
    stop();
  });

  describe('output', () => {
    const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
    const append = async (
      id: string,
      epoch: number,
      offset: number,
      data: Uint8Array,
      stream: 'stdout' | 'stderr' = 'stdout',
    ) => {
      await appendLogs({ id, epoch, offset, pieces: [{ stream, data }] });
      wake.notify(id);
    };
    const finish = async (id: string, epoch: number, bytes: number, sha256: string): Promise<void> => {
      await appendLogs({ id, epoch, offset: bytes, pieces: [], end: { bytes, sha256 } });
      await world.report(runner, { id, epoch });
      wake.notify(id);
    };
    const sha = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');
    const follow = (runId: string, after?: string, goOn = true, signal = new AbortController().signal) =>
      followLogs({ sql: world.db.sql, wake }, { runId, after, follow: goOn, signal });
    const all = async (events: AsyncIterable<LogEvent>): Promise<LogEvent[]> => {
      const list: LogEvent[] = [];
      for await (const event of events) list.push(event);
      return list;
    };
    const textOf = (events: readonly LogEvent[]): string => events.map((event) => event.text).join('');
    const claimed = async (): Promise<string> => {
      const { id } = await submit();
      await world.poll(runner);
      return id;
    };

    it('is followed while it comes, and ends with the run', async () => {
      const id = await claimed();
      const got = all(follow(id));
      await append(id, 1, 0, utf8('one\n'));
      await append(id, 1, 4, utf8('two\n'), 'stderr');
      await finish(id, 1, 8, sha(utf8('one\ntwo\n')));
      const events = await got;
      expect(textOf(events)).toBe('one\ntwo\n');
      expect(events.map((event) => [event.stream, event.position, event.epoch])).toEqual([
        [LogStream.STDOUT, '1-4', 1],
        [LogStream.STDERR, '1-8', 1],
      ]);
    });

    it('reaches a follower at another server within half a second or so', TIMED, async () => {
      const id = await claimed();
      const other = createWake();
      const stop = new AbortController();
      const events = followLogs(
        { sql: world.db.sql, wake: other },
        { runId: id, after: undefined, follow: true, signal: stop.signal },
      );
      const first = events.next();
      const startedMs = performance.now();
      await append(id, 1, 0, utf8('far\n'));
      expect((await first).value).toMatchObject({ text: 'far\n' });
      expect(performance.now() - startedMs).toBeLessThan(1_000);
      stop.abort();
      expect((await events.next()).done).toBe(true);
    });

    it('goes on behind any position that was given out, whatever characters were cut', async () => {
      const id = await claimed();
      const text = 'aé漢🙂b'.repeat(3);
      const bytes = utf8(text);
      for (let at = 0; at < bytes.length; at += 1)
        await append(id, 1, at, bytes.subarray(at, at + 1), at % 5 === 4 ? 'stderr' : 'stdout');
      await finish(id, 1, bytes.length, sha(bytes));
      const whole = await all(follow(id));
      for (let i = 0; i < whole.length; i += 1) {
        const rest = await all(follow(id, whole[i]!.position));
        expect(rest).toEqual(whole.slice(i + 1));
      }
    });

    it('of single bytes of one stream is the text that they spell', async () => {
      const id = await claimed();
      const text = 'aé漢🙂b\u{feff}c';
      const bytes = utf8(text);
      for (let at = 0; at < bytes.length; at += 1) await append(id, 1, at, bytes.subarray(at, at + 1));
      await finish(id, 1, bytes.length, sha(bytes));
      expect(textOf(await all(follow(id)))).toBe(text);
    });

    it('that is no UTF-8 is shown with replacement characters, also at its end', async () => {
      const id = await claimed();
      const bytes = Uint8Array.from([0x61, 0xff, 0x62, 0xe6, 0xbc]);
      await append(id, 1, 0, bytes);
      await finish(id, 1, 5, sha(bytes));
      expect(textOf(await all(follow(id)))).toBe('a\ufffdb\ufffd');
    });

    it('of a second execution follows that of the first with a higher epoch', async () => {
      const id = await claimed();
      await append(id, 1, 0, utf8('first '));
      await lose(id);
      await world.poll(runner);
      const got = all(follow(id, '1-6'));
      await append(id, 2, 0, utf8('second'));
      await finish(id, 2, 6, sha(utf8('second')));
      expect(await got).toMatchObject([{ text: 'second', epoch: 2, position: '2-6' }]);
      expect(textOf(await all(follow(id)))).toBe('first second');
    });

    it('ends at once for a run that was cancelled while it waited, and without following', async () => {
      const { id } = await submit();
      expect(await all(follow(id, undefined, false))).toEqual([]);
      await cancel(id);
      expect(await all(follow(id))).toEqual([]);
    });

    it('that arrives after the report is still delivered', async () => {
      const id = await claimed();
      await append(id, 1, 0, utf8('early '));
      await world.report(runner, { id, epoch: 1 });
      const got = all(follow(id));
      await append(id, 1, 6, utf8('late'));
      await appendLogs({
        id,
        epoch: 1,
        offset: 10,
        pieces: [],
        end: { bytes: 10, sha256: sha(utf8('early late')) },
      });
      wake.notify(id);
      expect(textOf(await got)).toBe('early late');
    });

    it('begins so many bytes before the end when asked, and a position that a client has goes before that', async () => {
      const id = await claimed();
      await append(id, 1, 0, utf8('abcdef'));
      const deps = { sql: world.db.sql, wake };
      const options = { runId: id, follow: false, signal: new AbortController().signal };
      const read = async (after: string | undefined, tailBytes: number) =>
        textOf(await all(followLogs(deps, { ...options, after, tailBytes })));
      expect(await read(undefined, 2)).toBe('ef');
      expect(await read(undefined, 1_000)).toBe('abcdef');
      expect(await read('1-1', 2)).toBe('bcdef');
      await finish(id, 1, 6, sha(utf8('abcdef')));
    });

    it('tells how many bytes a runner lost, in the stream and on the run', async () => {
      const id = await claimed();
      const pieces = [{ stream: 'runner', data: utf8('[90 bytes are missing]'), missing: 90 }] as const;
      await appendLogs({ id, epoch: 1, offset: 0, pieces });
      expect(await all(follow(id, undefined, false))).toMatchObject([{ missingBytes: 90 }]);
      expect(await get(id)).toMatchObject({
        logMissingBytes: 90,
        logMismatch: false,
      });
    });

    it('takes any position a client may make up', async () => {
      const id = await claimed();
      await append(id, 1, 0, utf8('abcdef'));
      await finish(id, 1, 6, sha(utf8('abcdef')));
      for (const [after, text] of [
        ['0-0', 'abcdef'],
        ['1-3', 'def'],
        ['1-6', ''],
        ['9999999999-9999999999', ''],
        ['0-9999999999', 'abcdef'],
      ] as const) {
        expect(textOf(await all(follow(id, after)))).toBe(text);
      }
    });
  });
});

describe('unfinished()', () => {
  it.each([
    [[], []],
    [[0x61], []],
    [[0x61, 0xc3], [0xc3]],
    [[0xc3, 0xa9], []],
    [
      [0xe6, 0xbc],
      [0xe6, 0xbc],
    ],
    [[0xe6, 0xbc, 0xa2], []],
    [[0x9f, 0x99], []],
    [
      [0xf0, 0x9f, 0x99],
      [0xf0, 0x9f, 0x99],
    ],
    [[0x9f, 0x99, 0x82], []],
    [[0xff], []],
  ])('of %j is %j', (bytes, expected) => {
    // 0xff begins nothing; the decoder replaces it at once, with or without this.
    const got = [...unfinished(Uint8Array.from(bytes))];
    expect(bytes[0] === 0xff ? [] : got).toEqual(expected);
  });
});
