/**
 * These tests call the state machine against a real PostgreSQL: what each call may and may not do to an item.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { createAppendLogs, type AppendInput } from './append-logs.ts';
import { cancel } from './cancel.ts';
import { createPoll } from './poll.ts';
import { createHeartbeat } from './heartbeat.ts';
import { revokeRunner } from './revoke.ts';
import { sweep } from './sweeper.ts';
import { createWorld, randomKey, type World } from '../../../test/setup/work/world.ts';

async function counts(
  world: World,
  id: string,
): Promise<{ leases: number; open: number; reports: number; events: number }> {
  const [row] = await world.db.sql<Array<{ leases: number; open: number; reports: number; events: number }>>`
    select (select count(*)::int from work_leases where work_id = ${id}) as leases,
      (select count(*)::int from work_leases where work_id = ${id} and ended_at is null) as open,
      (select count(*)::int from work_reports where work_id = ${id}) as reports,
      (select count(*)::int from outbox where dedupe_key = ${id}) as events`;
  return { ...row! };
}

describe.skipIf(!(await has('postgres')))('a work item', () => {
  let world: World;
  let team: string;
  let runner: string;
  beforeAll(async () => {
    world = await createWorld();
    team = await world.team();
    runner = await world.runner(team);
  });
  afterAll(async () => await world.drop());

  const appendLogs = async (input: Omit<AppendInput, 'runnerId' | 'kind'>) =>
    await createAppendLogs(world.db.sql, world.settings)({ runnerId: runner, kind: 'run', ...input });

  const running = async (): Promise<{ id: string; epoch: number }> => {
    const id = await world.submit(team);
    const grant = await world.poll(runner);
    expect(grant?.workId).toBe(id);
    expect(await world.beat(runner, { id, epoch: grant!.epoch })).toBe('ok');
    return { id, epoch: grant!.epoch };
  };

  it('goes from queued over offered and running to succeeded, once', async () => {
    const id = await world.submit(team);
    expect(await world.item(id)).toMatchObject({ state: 'queued', epoch: 0, pool_id: team });
    const grant = await world.poll(runner);
    expect(grant).toMatchObject({ workId: id, epoch: 1, attempt: 1, spec: { command: ['true'] } });
    expect(await world.item(id)).toMatchObject({ state: 'offered', attempt: 0, offers: 1 });
    expect(await world.beat(runner, { id, epoch: 1 })).toBe('ok');
    expect(await world.item(id)).toMatchObject({ state: 'running', attempt: 1 });
    expect(await world.report(runner, { id, epoch: 1 })).toEqual({ repeated: false });
    expect(await world.item(id)).toMatchObject({
      state: 'succeeded',
      reason: 'exit',
      exit_code: 0,
      lease_id: null,
    });
    expect((await world.item(id))['metered_ms']).toBeGreaterThanOrEqual(0);
    expect(await counts(world, id)).toEqual({ leases: 1, open: 0, reports: 1, events: 1 });
  });

  it('is answered to the same poll again, and to no other', async () => {
    const id = await world.submit(team);
    const first = await world.poll(runner, 'poll-same');
    expect(await world.poll(runner, 'poll-same')).toEqual(first);
    expect(await world.poll(runner, 'poll-other')).toBeUndefined();
    expect((await world.item(id))['offers']).toBe(1);
    await world.report(runner, { id, epoch: 1 });
  });

  it('is granted once when the same poll comes twice at the same time', async () => {
    const ids = [await world.submit(team), await world.submit(team)];
    const grants = await Promise.all(
      Array.from({ length: 8 }, async () => await world.poll(runner, 'poll-parallel')),
    );
    const granted = new Set(grants.filter((g) => g !== undefined).map((g) => `${g.workId} ${g.epoch}`));
    expect(granted.size).toBe(1);
    const states = await Promise.all(ids.map(async (id) => String((await world.item(id))['state'])));
    expect(states.toSorted()).toEqual(['offered', 'queued']);
    await Promise.all(ids.map(async (id) => await cancel(world.db.sql, [team], id)));
    await Promise.all(ids.map(async (id) => await world.expire(id)));
    await sweep(world.db.sql, world.settings);
  });

  it.each([
    ['an older epoch', -1],
    ['a newer epoch', 1],
    ['epoch 0', 'zero'],
    ['epoch 4294967295', 'max'],
  ] as const)('is left alone by calls with %s', async (_name, delta) => {
    const { id, epoch } = await running();
    const wrong = delta === 'zero' ? 0 : delta === 'max' ? 4_294_967_295 : epoch + delta;
    const before = await world.item(id);
    expect(await world.beat(runner, { id, epoch: wrong })).toBe('superseded');
    await expect(world.report(runner, { id, epoch: wrong })).rejects.toMatchObject({ code: 'stale_epoch' });
    await expect(appendLogs({ id, epoch: wrong, offset: 0, pieces: [] })).rejects.toMatchObject({
      code: 'stale_epoch',
    });
    expect(await world.item(id)).toEqual(before);
    await world.report(runner, { id, epoch });
  });

  it('is left alone by another runner, and by another kind of call', async () => {
    const other = await world.runner(team);
    const { id, epoch } = await running();
    const before = await world.item(id);
    expect(await world.beat(other, { id, epoch })).toBe('superseded');
    await expect(world.report(other, { id, epoch })).rejects.toMatchObject({ code: 'stale_epoch' });
    await expect(world.report(runner, { id, epoch, kind: 'build' })).rejects.toMatchObject({
      code: 'stale_epoch',
    });
    expect(await world.item(id)).toEqual(before);
    await world.report(runner, { id, epoch });
  });

  it('keeps its first report: the same one is answered as repeated, any other is stale', async () => {
    const { id, epoch } = await running();
    const same = { reportId: 'report-aa', reason: 'exit', exitCode: 3, durationMs: 10 } as const;
    expect(await world.report(runner, { id, epoch, ...same })).toEqual({ repeated: false });
    expect(await world.report(runner, { id, epoch, ...same, waitedMs: 9_000 })).toEqual({ repeated: true });
    await expect(world.report(runner, { id, epoch, ...same, exitCode: 4 })).rejects.toMatchObject({
      code: 'stale_epoch',
    });
    await expect(world.report(runner, { id, epoch, ...same, reportId: 'report-bb' })).rejects.toMatchObject({
      code: 'stale_epoch',
    });
    expect(await world.item(id)).toMatchObject({ state: 'failed', exit_code: 3 });
    expect(await counts(world, id)).toMatchObject({ reports: 1, events: 1 });
  });

  it('accepts one of 100 parallel reports and answers the identical ones as repeated', async () => {
    const { id, epoch } = await running();
    const calls = await Promise.allSettled(
      Array.from(
        { length: 100 },
        async (_, i) =>
          await world.report(runner, { id, epoch, reportId: i % 2 === 0 ? 'report-even' : `report-${i}x` }),
      ),
    );
    const answers = calls.map((c) =>
      c.status === 'fulfilled' ? (c.value.repeated ? 'repeated' : 'accepted') : String(c.reason.code),
    );
    expect(answers.filter((a) => a === 'accepted')).toHaveLength(1);
    expect(answers.filter((a) => !['accepted', 'repeated', 'stale_epoch'].includes(a))).toEqual([]);
    expect(await counts(world, id)).toEqual({ leases: 1, open: 0, reports: 1, events: 1 });
  });

  it('accepts no heartbeat after its end', async () => {
    const { id, epoch } = await running();
    await world.report(runner, { id, epoch });
    expect(await world.beat(runner, { id, epoch })).toBe('superseded');
    expect(await world.item(id)).toMatchObject({ state: 'succeeded' });
  });

  it('goes back to the queue without an attempt when its offer ends, and the late holder is told', async () => {
    const id = await world.submit(team);
    const grant = await world.poll(runner);
    await world.expire(id);
    expect(await world.beat(runner, { id, epoch: grant!.epoch })).toBe('superseded');
    expect(await sweep(world.db.sql, world.settings)).toEqual([{ id, state: 'queued', runnerId: runner }]);
    expect(await world.item(id)).toMatchObject({
      state: 'queued',
      attempt: 0,
      offers: 1,
      epoch: 1,
      lease_id: null,
    });
    const again = await world.poll(runner);
    expect(again).toMatchObject({ workId: id, epoch: 2, attempt: 1 });
    // Grants are cut to the millisecond; an end that is not would seem to come after the next grant of the
    // same millisecond.
    const [{ fine } = { fine: -1 }] = await world.db.sql<Array<{ fine: number }>>`
      select count(*)::int as fine from work_leases
      where work_id = ${id} and (granted_at <> date_trunc('milliseconds', granted_at) or ended_at <> date_trunc('milliseconds', ended_at))`;
    expect(fine).toBe(0);
    await expect(world.report(runner, { id, epoch: 1 })).rejects.toMatchObject({ code: 'stale_epoch' });
    expect(await world.report(runner, { id, epoch: 2 })).toEqual({ repeated: false });
    expect(await counts(world, id)).toEqual({ leases: 2, open: 0, reports: 1, events: 1 });
  });

  it('is reported late as long as nobody has taken it back', async () => {
    const { id, epoch } = await running();
    await world.expire(id);
    expect(await world.report(runner, { id, epoch })).toEqual({ repeated: false });
    expect(await sweep(world.db.sql, world.settings)).toEqual([]);
    expect(await world.item(id)).toMatchObject({ state: 'succeeded' });
  });

  it('dies after its last attempt has lost its runner', async () => {
    const id = await world.submit(team);
    await world.db.sql`update work_items set max_attempts = 2 where id = ${id}`;
    for (const attempt of [1, 2]) {
      await world.db.sql`update work_items set run_after = now() where id = ${id}`;
      const grant = await world.poll(runner);
      expect(grant).toMatchObject({ workId: id, attempt });
      await world.beat(runner, { id, epoch: grant!.epoch });
      await world.expire(id);
      await sweep(world.db.sql, world.settings);
    }
    expect(await world.item(id)).toMatchObject({ state: 'dead', reason: 'lease_lost', attempt: 2 });
    expect(await counts(world, id)).toEqual({ leases: 2, open: 0, reports: 0, events: 1 });
  });

  it('dies after 20 offers that nobody answered, each later than the one before', async () => {
    const id = await world.submit(team);
    const waits: number[] = [];
    for (let i = 0; i < 20; i += 1) {
      await world.db.sql`update work_items set run_after = now() where id = ${id}`;
      expect((await world.poll(runner))?.workId).toBe(id);
      await world.expire(id);
      await sweep(world.db.sql, world.settings);
      const [row] = await world.db
        .sql`select round(extract(epoch from run_after - now()))::int as wait from work_items where id = ${id}`;
      waits.push(row?.['wait'] as number);
    }
    expect(waits.slice(0, 7)).toEqual([0, 1, 3, 7, 15, 31, 60]);
    expect(await world.item(id)).toMatchObject({ state: 'dead', attempt: 0, offers: 20 });
  });

  it('fails at its deadline although its runner goes on sending heartbeats', async () => {
    const id = await world.submit(team, { timeoutMs: 1_000 });
    const grant = await world.poll(runner);
    await world.beat(runner, { id, epoch: grant!.epoch });
    await world.db.sql`update work_items set deadline_at = now() - interval '5 s' where id = ${id}`;
    await world.beat(runner, { id, epoch: grant!.epoch });
    expect(await world.beat(runner, { id, epoch: grant!.epoch })).toBe('superseded');
    await sweep(world.db.sql, world.settings);
    expect(await world.item(id)).toMatchObject({ state: 'failed', reason: 'timeout' });
  });

  describe('when cancelled', () => {
    it('ends at once while it is queued', async () => {
      const id = await world.submit(team);
      expect(await cancel(world.db.sql, [team], id)).toMatchObject({
        state: 'cancelled',
        notifyRunner: false,
      });
      expect(await counts(world, id)).toMatchObject({ events: 1 });
      expect(await world.poll(runner)).toBeUndefined();
    });

    it('tells its holder, whose report then ends it', async () => {
      const { id, epoch } = await running();
      expect(await cancel(world.db.sql, [team], id)).toMatchObject({
        state: 'running',
        runnerId: runner,
        notifyRunner: true,
      });
      expect(await cancel(world.db.sql, [team], id)).toMatchObject({ state: 'running', notifyRunner: false });
      expect(await world.beat(runner, { id, epoch })).toBe('cancelled');
      expect(await world.report(runner, { id, epoch, reason: 'cancelled', exitCode: undefined })).toEqual({
        repeated: false,
      });
      expect(await world.item(id)).toMatchObject({ state: 'cancelled', reason: 'cancelled' });
    });

    it('ends without its holder when that never calls again, and its heartbeats renew nothing', async () => {
      const { id, epoch } = await running();
      await cancel(world.db.sql, [team], id);
      const before = await world.leaseOf(id);
      await world.beat(runner, { id, epoch });
      expect(await world.leaseOf(id)).toEqual(before);
      await world.expire(id);
      await sweep(world.db.sql, world.settings);
      expect(await world.item(id)).toMatchObject({ state: 'cancelled', reason: 'cancelled' });
      expect(await counts(world, id)).toMatchObject({ open: 0, events: 1 });
    });

    it('stays succeeded when it was already', async () => {
      const { id, epoch } = await running();
      await world.report(runner, { id, epoch });
      expect(await cancel(world.db.sql, [team], id)).toMatchObject({
        state: 'succeeded',
        notifyRunner: false,
      });
    });

    it('is out of reach for another team', async () => {
      const id = await world.submit(team);
      expect(await cancel(world.db.sql, [await world.team()], id)).toBeUndefined();
      await cancel(world.db.sql, [team], id);
    });

    it('counts as failed when the runner says cancelled and nobody asked', async () => {
      const { id, epoch } = await running();
      await world.report(runner, { id, epoch, reason: 'cancelled', exitCode: undefined });
      expect(await world.item(id)).toMatchObject({ state: 'failed', reason: 'cancelled' });
    });
  });

  describe('given out', () => {
    it('goes to containers only when it asks for them', async () => {
      const own = await world.team();
      const namespaces = await world.runner(own, { isolation: 'namespaces' });
      const container = await world.runner(own, { isolation: 'container' });
      const id = await world.submit(own, { needsContainer: true });
      expect(await world.poll(namespaces)).toBeUndefined();
      expect((await world.poll(container))?.workId).toBe(id);
    });

    it('stays within its pool', async () => {
      const mine = await world.team();
      const stranger = await world.runner(await world.team());
      const id = await world.submit(mine);
      expect(await world.poll(stranger)).toBeUndefined();
      expect(await world.item(id)).toMatchObject({ state: 'queued', epoch: 0 });
    });

    it('goes to the service pool for a service-operated team, never to the runners it enrolled', async () => {
      const hosted = await world.team('service');
      const own = await world.runner(hosted);
      const service = await world.runner(world.poolTeamId);
      const id = await world.submit(hosted);
      expect(await world.item(id)).toMatchObject({ pool_id: world.poolTeamId });
      expect(await world.poll(own)).toBeUndefined();
      const off = { ...world.settings, feedServicePool: false };
      const ask = {
        runnerId: service,
        bootId: '',
        kind: 'run',
        pollId: 'poll-y',
        notReady: [],
        wantsWork: true,
      } as const;
      expect(await createPoll(world.db.sql, off)(ask)).toMatchObject({
        may_receive: false,
        grant: undefined,
      });
      expect((await world.poll(service))?.workId).toBe(id);
    });

    it.each([
      ['paused', 'paused_at = now()'],
      ['flagged', 'strikes = 3'],
      ['draining', 'draining = true'],
      ['revoked', 'revoked_at = now()'],
    ])('passes over a runner that is %s', async (_word, change) => {
      const own = await world.team();
      const id = await world.submit(own);
      const refused = await world.runner(own);
      await world.db.sql.unsafe(`update runners set ${change} where id = '${refused}'`);
      expect(await world.poll(refused)).toBeUndefined();
      expect((await world.poll(await world.runner(own)))?.workId).toBe(id);
    });

    it('reaches a runner again when its pause is over', async () => {
      const own = await world.team();
      const id = await world.submit(own);
      const paused = await world.runner(own);
      await world.db
        .sql`update runners set paused_at = now() - interval '1 h', paused_until = now() - interval '1 s' where id = ${paused}`;
      expect((await world.poll(paused))?.workId).toBe(id);
    });

    it('answers 1,000 polls of one runner with each item once', async () => {
      const own = await world.team();
      const busy = await world.runner(own);
      const ids = await Promise.all(Array.from({ length: 50 }, async () => await world.submit(own)));
      const grants = await Promise.all(Array.from({ length: 1_000 }, async () => await world.poll(busy)));
      const got = grants.filter((g) => g !== undefined).map((g) => g.workId);
      expect(got.toSorted()).toEqual(ids.toSorted());
    });
  });

  describe('revocation', () => {
    it('returns everything at once, shuts the runner out and is told once', async () => {
      const own = await world.team();
      const gone = await world.runner(own);
      const a = await world.submit(own);
      const b = await world.submit(own);
      const first = await world.poll(gone);
      await world.poll(gone);
      await world.beat(gone, { id: first!.workId, epoch: first!.epoch });
      const revoked = await revokeRunner(world.db.sql, world.settings, { teamId: own, runnerId: gone });
      expect(revoked).toMatchObject({ runnerId: gone, now: true });
      expect(revoked?.lost.toSorted()).toEqual([a, b].toSorted());
      expect(await world.beat(gone, { id: first!.workId, epoch: first!.epoch })).toBe('superseded');
      await expect(world.report(gone, { id: first!.workId, epoch: first!.epoch })).rejects.toMatchObject({
        code: 'stale_epoch',
      });
      expect(await revokeRunner(world.db.sql, world.settings, { teamId: own, runnerId: gone })).toMatchObject(
        { now: false, lost: [] },
      );
      expect(
        await revokeRunner(world.db.sql, world.settings, { teamId: team, runnerId: gone }),
      ).toBeUndefined();
      const next = await world.runner(own);
      expect(
        [String((await world.poll(next))?.workId), String((await world.poll(next))?.workId)].toSorted(),
      ).toEqual([a, b].toSorted());
      const events = await world.db.sql`select kind from runner_events where runner_id = ${gone}`;
      expect(events.map((e) => e['kind'])).toEqual(['runner.revoked']);
    });
  });

  describe('output', () => {
    const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
    const piece = (text: string, stream: 'stdout' | 'stderr' = 'stdout') => ({
      stream,
      data: new TextEncoder().encode(text),
    });
    const append = async (
      id: string,
      epoch: number,
      offset: number,
      texts: string[],
      end?: { bytes: number; sha256: string },
    ) =>
      await appendLogs({
        id,
        epoch,
        offset,
        pieces: texts.map((t, i) => piece(t, i % 2 === 0 ? 'stdout' : 'stderr')),
        ...(end === undefined ? {} : { end }),
      });
    const stored = async (id: string): Promise<string> => {
      const rows = await world.db.sql<
        Array<{ data: Uint8Array }>
      >`select data from work_logs where work_id = ${id} order by epoch, "offset"`;
      return Buffer.concat(rows.map((r) => r.data)).toString();
    };

    it('is stored in order, overlaps are skipped, gaps are refused with where to go on', async () => {
      const { id, epoch } = await running();
      expect(await append(id, epoch, 0, ['hello ', 'world'])).toEqual({
        nextOffset: 11,
        complete: false,
        status: 'ok',
      });
      expect(await append(id, epoch, 0, ['hello ', 'world'])).toMatchObject({ nextOffset: 11 });
      expect(await append(id, epoch, 6, ['world', '!'])).toMatchObject({ nextOffset: 12 });
      await expect(append(id, epoch, 20, ['lost'])).rejects.toMatchObject({
        code: 'log_gap',
        details: { nextOffset: 12 },
      });
      expect(await stored(id)).toBe('hello world!');
      expect(await append(id, epoch, 12, [], { bytes: 12, sha256: sha('hello world!') })).toMatchObject({
        complete: true,
      });
      await world.report(runner, { id, epoch });
    });

    it('is thrown away and asked for again when its digest does not match', async () => {
      const { id, epoch } = await running();
      await append(id, epoch, 0, ['wrong']);
      await expect(append(id, epoch, 5, [], { bytes: 5, sha256: sha('right') })).rejects.toMatchObject({
        code: 'log_digest_mismatch',
        details: { nextOffset: 0 },
      });
      expect(await append(id, epoch, 0, ['right'], { bytes: 5, sha256: sha('right') })).toMatchObject({
        complete: true,
      });
      expect(await stored(id)).toBe('right');
      await expect(append(id, epoch, 5, [], { bytes: 9, sha256: sha('right') })).rejects.toMatchObject({
        code: 'log_gap',
      });
      await world.report(runner, { id, epoch });
    });

    it('is cut off at its limit with a visible line, acknowledged beyond it, and still complete', async () => {
      const id = await world.submit(team, { logLimit: 10 });
      const grant = await world.poll(runner);
      expect(await append(id, grant!.epoch, 0, ['0123456'])).toMatchObject({ nextOffset: 7, status: 'ok' });
      expect(await append(id, grant!.epoch, 7, ['789abc'])).toMatchObject({ nextOffset: 13 });
      expect(await append(id, grant!.epoch, 13, ['def'], { bytes: 16, sha256: sha('x') })).toMatchObject({
        nextOffset: 16,
        complete: true,
      });
      expect(await stored(id)).toBe('0123456789\n[output was cut off after 10 bytes]\n');
      expect(await world.item(id)).toMatchObject({
        log_bytes: 10,
        log_offset: 16,
        log_truncated: true,
        state: 'running',
        attempt: 1,
      });
      await world.report(runner, { id, epoch: grant!.epoch });
    });

    it('is accepted for five minutes after the end, not longer', async () => {
      const { id, epoch } = await running();
      await append(id, epoch, 0, ['before ']);
      await world.report(runner, { id, epoch });
      expect(await append(id, epoch, 7, ['after'])).toMatchObject({ nextOffset: 12, status: 'superseded' });
      await world.db.sql`update work_items set finished_at = now() - interval '301 s' where id = ${id}`;
      await expect(append(id, epoch, 12, ['late'])).rejects.toMatchObject({ code: 'stale_epoch' });
    });

    it('of a new grant begins at 0 and leaves that of the old one alone', async () => {
      const { id, epoch } = await running();
      await append(id, epoch, 0, ['first']);
      await world.expire(id);
      await sweep(world.db.sql, world.settings);
      const again = await world.poll(runner);
      await expect(append(id, epoch, 5, ['zombie'])).rejects.toMatchObject({ code: 'stale_epoch' });
      expect(await append(id, again!.epoch, 0, ['second'])).toMatchObject({ nextOffset: 6 });
      expect(await stored(id)).toBe('firstsecond');
      await world.report(runner, { id, epoch: again!.epoch });
    });

    it('sent twenty times at once is stored once', async () => {
      const { id, epoch } = await running();
      const text = 'x'.repeat(10_000);
      await Promise.all(Array.from({ length: 20 }, async () => await append(id, epoch, 0, [text])));
      expect(await stored(id)).toBe(text);
      await world.report(runner, { id, epoch });
    });

    it('over 262,144 bytes in one call is refused', async () => {
      const { id, epoch } = await running();
      await expect(append(id, epoch, 0, ['x'.repeat(262_145)])).rejects.toMatchObject({
        code: 'validation_failed',
      });
      await world.report(runner, { id, epoch });
    });
  });

  describe('durations', () => {
    const strikes = async (id: string): Promise<number> =>
      (await world.db.sql`select strikes from runners where id = ${id}`)[0]?.['strikes'] as number;

    it.each([
      ['agree', 100_000, {}, 0],
      ['differ within the tolerance', 126_000, {}, 0],
      ['differ by more than that', 130_000, {}, 1],
      ['differ the other way', 60_000, {}, 1],
      ['differ after an outbox wait', 130_000, { waitedMs: 1_001 }, 0],
      ['are not told', undefined, {}, 0],
    ] as const)('that %s cost the right number of strikes', async (_name, durationMs, more, expected) => {
      const own = await world.team();
      const measured = await world.runner(own);
      const id = await world.submit(own);
      const grant = await world.poll(measured);
      await world.beat(measured, { id, epoch: grant!.epoch });
      await world.db.sql`update work_items set claimed_at = now() - interval '100 s' where id = ${id}`;
      await world.report(measured, { id, epoch: grant!.epoch, durationMs, ...more });
      expect(await strikes(measured)).toBe(expected);
      const events = await world.db
        .sql`select detail from runner_events where runner_id = ${measured} and kind = 'runner.duration_divergence'`;
      expect(events).toHaveLength(expected);
    });

    it('never cost a strike after a gap in contact', async () => {
      const own = await world.team();
      const measured = await world.runner(own);
      const id = await world.submit(own);
      const grant = await world.poll(measured);
      await world.beat(measured, { id, epoch: grant!.epoch });
      await world.db
        .sql`update work_leases set last_contact_at = now() - interval '31 s' where work_id = ${id}`;
      await world.report(measured, { id, epoch: grant!.epoch, durationMs: 500_000 });
      expect(await strikes(measured)).toBe(0);
    });
  });

  it('is heard of by one heartbeat with 256 leases, each in its own order', async () => {
    const own = await world.team();
    const many = await world.runner(own);
    for (let i = 0; i < 256; i += 1) await world.submit(own);
    const grants = [];
    for (let i = 0; i < 256; i += 1) grants.push(await world.poll(many, randomKey('poll')));
    const leases = grants.map((g, i) => ({ id: g!.workId, epoch: i % 4 === 0 ? 99 : g!.epoch }));
    const answer = await createHeartbeat(
      world.db.sql,
      world.settings,
    )({
      runnerId: many,
      bootId: '',
      leases,
      draining: false,
    });
    expect(answer?.leases.map((l) => l.status)).toEqual(
      leases.map((_, i) => (i % 4 === 0 ? 'superseded' : 'ok')),
    );
  });
});
