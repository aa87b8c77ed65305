/** These tests show how output lies in the database: segments, limits, holes, tails, retention. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { grantToWorkRole, prepareWorkRole, WORK_ROLE } from '../../base/db/role.ts';
import { createAppendLogs, type AppendInput, type LogPiece, type LogStreamWord } from './append-logs.ts';
import {
  followOutput,
  OutputReader,
  pageOf,
  segmentStart,
  tailPosition,
  type Output,
} from './follow-logs.ts';
import { preparePartitions, retirePartition } from './log-retention.ts';
import { cutPieces, decodeRuns, encodeRuns } from './log-runs.ts';
import { createWake } from './wake.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';

const there = await has('postgres');

const text = (data: string, stream: LogStreamWord = 'stdout', missing = 0): LogPiece => ({
  stream,
  data: Buffer.from(data),
  missing,
});

describe('the runs of a segment', () => {
  it('join neighbours of one stream, and keep what is lost in front of a piece apart', () => {
    const pieces = [
      text('ab'),
      text('cd'),
      text('e', 'stderr'),
      text('[7 lost]', 'runner', 7),
      text('f', 'runner'),
    ];
    const { runs, missing } = encodeRuns(pieces);
    expect(runs).toEqual([1, 4, 2, 1, 0, 7, 3, 9]);
    expect(missing).toBe(7);
    expect(decodeRuns(runs)).toEqual([
      { stream: 'stdout', at: 0, length: 4, missing: 0 },
      { stream: 'stderr', at: 4, length: 1, missing: 0 },
      { stream: 'runner', at: 5, length: 9, missing: 7 },
    ]);
  });

  it('are cut on both sides, and a loss is not counted twice', () => {
    const pieces = [text('abc'), text('defg', 'stderr', 5)];
    const cut = (from: number, to: number) =>
      cutPieces(pieces, { offset: 10, from, to }).map((p) => [
        Buffer.from(p.data).toString(),
        p.missing ?? 0,
      ]);
    expect(cut(11, 15)).toEqual([
      ['bc', 0],
      ['de', 5],
    ]);
    expect(cut(14, 99)).toEqual([['efg', 0]]);
    expect(cut(17, 99)).toEqual([]);
  });
});

describe.skipIf(!there)('stored output', () => {
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

  interface Writer {
    readonly id: string;
    readonly epoch: number;
    put(offset: number, ...pieces: LogPiece[]): Promise<number>;
  }

  async function writer(logLimit?: number): Promise<Writer> {
    const id = await world.submit(team, logLimit === undefined ? {} : { logLimit });
    const grant = await world.poll(runner);
    const epoch = grant!.epoch;
    return {
      id,
      epoch,
      put: async (offset, ...pieces) => {
        const input = { runnerId: runner, kind: 'run', id, epoch, offset, pieces } as const;
        return (await createAppendLogs(world.db.sql, world.settings)(input)).nextOffset;
      },
    };
  }

  async function readAll(id: string, after = { epoch: 0, offset: 0 }): Promise<Output[]> {
    const reader = await OutputReader.at(world.db.sql, id, after);
    const events: Output[] = [];
    for await (const event of reader.rest()) events.push(event);
    return [...events, ...reader.end()];
  }

  it('is one row an append, whatever streams it holds', async () => {
    const log = await writer();
    const pieces = Array.from({ length: 200 }, (_, i) =>
      text(`line ${i}\n`, i % 2 === 0 ? 'stdout' : 'stderr'),
    );
    await log.put(0, ...pieces);
    const rows = await world.db.sql`select "offset" from work_logs where work_id = ${log.id}`;
    expect(rows).toHaveLength(1);
    const events = await readAll(log.id);
    expect(events.map((e) => e.text)).toEqual(pieces.map((p) => Buffer.from(p.data).toString()));
    expect(events[1]).toMatchObject({ stream: 'stderr', text: 'line 1\n' });
  });

  it('can be gone on with from any byte', async () => {
    const log = await writer();
    const whole = 'a€bß'.repeat(7);
    const bytes = Buffer.from(whole);
    for (let at = 0; at < bytes.length; at += 5)
      await log.put(at, { stream: 'stdout', data: bytes.subarray(at, at + 5) });
    for (let from = 1; from < bytes.length; from += 1) {
      const rest = (await readAll(log.id, { epoch: log.epoch, offset: from })).map((e) => e.text).join('');
      // A character that began before the position is told whole.
      let begin = from;
      while (((bytes[begin] ?? 0) & 0xc0) === 0x80) begin -= 1;
      expect([from, rest]).toEqual([from, bytes.subarray(begin).toString()]);
    }
  });

  it('says where bytes were lost, how many, and does so once when an append is repeated', async () => {
    const log = await writer();
    await log.put(0, text('before\n'));
    const lost = text('[90 bytes are missing]\n', 'runner', 90);
    const next = await log.put(7, lost, text('after\n'));
    expect(await log.put(7, lost, text('after\n'))).toBe(next);
    expect((await readAll(log.id)).map(({ text: said, missing }) => [said, missing])).toEqual([
      ['before\n', undefined],
      ['[90 bytes are missing]\n', 90],
      ['after\n', undefined],
    ]);
    expect(await world.item(log.id)).toMatchObject({ log_missing: 90 });
  });

  it('that differs from what was announced is asked for again once, then kept and marked', async () => {
    const log = await writer();
    const end = { bytes: 5, sha256: createHash('sha256').update('right').digest('hex') };
    const input = { runnerId: runner, kind: 'run', id: log.id, epoch: log.epoch } as const;
    const send = async () => await appendLogs({ ...input, offset: 0, pieces: [text('wrong')], end });
    await expect(send()).rejects.toMatchObject({ code: 'log_digest_mismatch', details: { nextOffset: 0 } });
    await expect(send()).rejects.toMatchObject({ code: 'log_digest_mismatch', details: { nextOffset: 5 } });
    await expect(send()).rejects.toMatchObject({ code: 'log_digest_mismatch' });
    const said = (await readAll(log.id)).map((e) => e.text);
    expect(said).toEqual(['wrong', expect.stringContaining('not what the runner announced')]);
    expect(await world.item(log.id)).toMatchObject({ log_mismatch: true, log_complete: false });
  });

  describe('whose end is announced again and again', () => {
    /** Counts how often output was read for a digest. */
    const counted = (): { readonly sql: SqlTag; reads(): number } => {
      let reads = 0;
      const sql = new Proxy(world.db.sql, {
        apply: (target, self, args: [TemplateStringsArray]) => {
          if (/^\s*select "offset", data from work_logs/.test(args[0].join('?'))) reads += 1;
          return Reflect.apply(target as never, self, args);
        },
      }) as SqlTag;
      return { sql, reads: () => reads };
    };
    const sha256 = (said: string) => createHash('sha256').update(said).digest('hex');
    const announcing = async () => {
      const log = await writer();
      const { sql, reads } = counted();
      const send = async (offset: number, said: string, end?: { bytes: number; sha256: string }) => {
        const where = { runnerId: runner, kind: 'run', id: log.id, epoch: log.epoch, offset } as const;
        const pieces = said === '' ? [] : [text(said)];
        return await createAppendLogs(
          sql,
          world.settings,
        )({
          ...where,
          pieces,
          ...(end === undefined ? {} : { end }),
        });
      };
      return { id: log.id, send, reads };
    };

    it('is read once when it is right, also by calls at the same time, and stays as it is', async () => {
      const { id, send, reads } = await announcing();
      await send(0, 'right');
      const end = { bytes: 5, sha256: sha256('right') };
      const answers = await Promise.all(Array.from({ length: 8 }, async () => await send(5, '', end)));
      for (let n = 0; n < 5; n += 1) answers.push(await send(5, '', end));
      answers.push(await send(0, 'right', end));
      expect(answers.every(({ complete, nextOffset }) => complete && nextOffset === 5)).toBe(true);
      expect(reads()).toBe(1);
      for (const other of [
        { ...end, sha256: sha256('wrong') },
        { ...end, bytes: 4 },
      ])
        await expect(send(5, '', other)).rejects.toMatchObject({ details: { nextOffset: 5 } });
      expect(reads()).toBe(1);
      expect(await world.item(id)).toMatchObject({ log_complete: true, log_mismatch: false, log_offset: 5 });
      expect((await readAll(id)).map((e) => e.text)).toEqual(['right']);
    });

    it('takes no byte behind the end, which would have all of it read again', async () => {
      const { id, send, reads } = await announcing();
      await send(0, 'right', { bytes: 5, sha256: sha256('right') });
      for (const end of [undefined, { bytes: 6, sha256: sha256('right!') }]) {
        await expect(send(5, '!', end)).rejects.toMatchObject({
          code: 'log_digest_mismatch',
          details: { nextOffset: 5 },
        });
      }
      expect(reads()).toBe(1);
      expect(await world.item(id)).toMatchObject({ log_complete: true, log_offset: 5 });
    });

    it('is read twice at most when it is wrong, and once the kept part is what was meant, it is complete', async () => {
      const { id, send, reads } = await announcing();
      const end = { bytes: 5, sha256: sha256('right') };
      for (const nextOffset of [0, 5, 5, 5])
        await expect(send(0, 'wrong', end)).rejects.toMatchObject({ details: { nextOffset } });
      await expect(send(5, '!')).rejects.toMatchObject({ code: 'log_digest_mismatch' });
      expect(reads()).toBe(2);
      expect(await world.item(id)).toMatchObject({ log_mismatch: true, log_complete: false });
      expect(await send(5, '', { bytes: 5, sha256: sha256('wrong') })).toMatchObject({ complete: true });
      expect(reads()).toBe(2);
    });

    it('begins anew with another grant', async () => {
      const id = await world.submit(team, {});
      const send = async (epoch: number, said: string) =>
        await appendLogs({
          id,
          epoch,
          offset: 0,
          pieces: [text(said)],
          end: { bytes: said.length, sha256: sha256(said) },
        });
      const first = await world.poll(runner);
      expect(await send(first!.epoch, 'first')).toMatchObject({ complete: true });
      await world.db.sql`
        update work_items set state = 'queued', lease_id = null, run_after = now() where id = ${id}`;
      await world.db
        .sql`update work_leases set ended_at = now(), end_reason = 'expired' where work_id = ${id}`;
      const second = await world.poll(runner);
      expect(second).toMatchObject({ workId: id, epoch: first!.epoch + 1 });
      expect(await send(second!.epoch, 'the second')).toMatchObject({ complete: true, nextOffset: 10 });
    });
  });

  it('makes its partition when nobody did ahead', async () => {
    const log = await writer();
    const today = new Date().toISOString().slice(0, 10).replaceAll('-', '');
    await world.db.sql.unsafe(`drop table work_logs_d${today}`);
    expect(await log.put(0, text('first'))).toBe(5);
    expect((await readAll(log.id)).map((e) => e.text)).toEqual(['first']);
  });

  describe('of 16 MiB', () => {
    const SEGMENT = 65_536;
    const SEGMENTS = 256;
    let log: Writer;
    beforeAll(async () => {
      log = await writer(SEGMENT * SEGMENTS);
      for (let i = 0; i < SEGMENTS; i += 1) await log.put(i * SEGMENT, text(`${i} `.padEnd(SEGMENT, '.')));
    });

    it('is read from its tail by touching the last rows of one partition only', async () => {
      const { sql } = world.db;
      const from = await tailPosition(sql, log.id, SEGMENT);
      expect(from).toEqual({ epoch: log.epoch, offset: (SEGMENTS - 1) * SEGMENT });
      const offset = await segmentStart(sql, log.id, from);
      const plan = await explain(sql, log.id, { ...from, offset });
      const scans = nodesOf(plan).filter((n) => n['Relation Name'] !== undefined && n['Actual Loops'] !== 0);
      const logs = scans.filter((n) => String(n['Relation Name']).startsWith('work_logs'));
      expect(logs, JSON.stringify(plan, null, 1)).toHaveLength(1);
      expect(logs[0]).toMatchObject({ 'Node Type': 'Index Scan', 'Actual Rows': 1 });
      expect(logs[0]?.['Rows Removed by Filter'] ?? 0).toBe(0);
      expect(String(logs[0]?.['Index Cond'])).toContain('offset');
    });

    it('comes whole through pages, and a tail has exactly the bytes asked for', async () => {
      const hash = createHash('sha256');
      for (const { text: said } of await readAll(log.id)) hash.update(said);
      const want = createHash('sha256');
      for (let i = 0; i < SEGMENTS; i += 1) want.update(`${i} `.padEnd(SEGMENT, '.'));
      expect(hash.digest('hex')).toBe(want.digest('hex'));
      const tail = await readAll(log.id, await tailPosition(world.db.sql, log.id, 100_000));
      expect(tail.map((e) => e.text).join('')).toHaveLength(100_000);
    });
  });

  it('is read once for all who follow it at the same place', async () => {
    const log = await writer();
    await log.put(0, text('begun\n'));
    let statements = 0;
    const counting = new Proxy(world.db.sql, {
      apply: (target, self, args) => {
        statements += 1;
        return Reflect.apply(target as never, self, args);
      },
    }) as SqlTag;
    const wake = createWake();
    const stop = new AbortController();
    const FOLLOWERS = 40;
    const seen: string[] = Array.from({ length: FOLLOWERS }, () => '');
    const following = seen.map(async (_, i) => {
      const options = {
        workId: log.id,
        after: { epoch: 0, offset: 0 },
        follow: true,
        signal: AbortSignal.any([stop.signal]),
      };
      for await (const event of followOutput({ sql: counting, wake }, options)) {
        seen[i] += event.text;
        if (seen[i]?.endsWith('end\n') === true) break;
      }
    });
    let offset = 6;
    for (const line of ['one\n', 'two\n', 'end\n']) {
      offset = await log.put(offset, text(line));
      wake.notify(log.id);
      await waitUntil(
        () => seen.every((s) => s.endsWith(line)),
        () => `seen: ${JSON.stringify(seen.slice(0, 3))}`,
      );
    }
    stop.abort();
    await Promise.all(following);
    expect(new Set(seen)).toEqual(new Set(['begun\none\ntwo\nend\n']));
    // Alone, each would ask at least twice for each of the four pieces.
    expect(statements).toBeLessThan(FOLLOWERS);
  });

  it('is kept by days also under the role of the running server, which owns no table', async () => {
    const prepared = await prepareWorkRole(world.db);
    expect(prepared.problem).toBeUndefined();
    await grantToWorkRole(world.db.sql);
    await world.db.sql.unsafe(
      `create table work_logs_d20200104 partition of work_logs for values from ('2020-01-04') to ('2020-01-05')`,
    );
    const [ahead] = await world.db.sql<Array<{ name: string }>>`
      select 'work_logs_d' || to_char((clock_timestamp() at time zone 'UTC')::date + 3, 'YYYYMMDD') as name`;
    await world.db.sql.unsafe(`drop table ${ahead!.name}`);
    await world.db.transact(async ({ sql }) => {
      await sql.unsafe(`set local role ${WORK_ROLE}`);
      await preparePartitions(sql);
      const [there] = await sql`select to_regclass(${ahead!.name}) is not null as made`;
      expect(there).toEqual({ made: true });
      expect(await retirePartition(sql, 30)).toBe('work_logs_d20200104');
    });
  });

  it('goes by whole days once it is older than the installation keeps it', async () => {
    const log = await writer();
    await log.put(0, text('old'));
    await world.db.sql.unsafe(
      `create table work_logs_d20200103 partition of work_logs for values from ('2020-01-03') to ('2020-01-04')`,
    );
    await world.db.sql`update work_logs set day = '2020-01-03' where work_id = ${log.id}`;
    await world.db.sql`update work_items set log_day = '2020-01-03' where id = ${log.id}`;
    expect((await readAll(log.id)).map((e) => e.text)).toEqual(['old']);
    expect(await retirePartition(world.db.sql, 100_000)).toBeUndefined();
    expect(await retirePartition(world.db.sql, 30)).toBe('work_logs_d20200103');
    expect(await retirePartition(world.db.sql, 30)).toBeUndefined();
    expect(await readAll(log.id)).toEqual([]);
    await preparePartitions(world.db.sql);
  });
});

async function waitUntil(done: () => boolean, last: () => string): Promise<void> {
  for (const until = performance.now() + 5_000; !done();) {
    if (performance.now() > until) throw new Error(`not within 5 s; ${last()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

type PlanNode = Record<string, unknown> & { Plans?: PlanNode[] };

async function explain(sql: SqlTag, id: string, from: { epoch: number; offset: number }): Promise<PlanNode> {
  const [row] = await sql<Array<Record<string, Array<{ Plan: PlanNode }>>>>`
    explain (analyze, format json) ${pageOf(sql, id, { from, limit: 4 })}`;
  const plan = row?.['QUERY PLAN']?.[0]?.Plan;
  if (plan === undefined) throw new Error(`no plan in ${JSON.stringify(row)}`);
  return plan;
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
