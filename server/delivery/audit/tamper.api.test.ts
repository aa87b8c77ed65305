/**
 * Somebody with every right in the database changes the ledger; the check must say what was done, and where.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anyText } from '../../../test/setup/any-text.ts';
import { has } from '../../../test/setup/needs.ts';
import { entryHash } from '../../kit/ledger/entry.ts';
import { act, openLedger, type Ledger } from '../../../test/setup/audit/ledger.ts';

describe.skipIf(!(await has('postgres')))('the check of a chain names', () => {
  let ledger: Ledger;
  let count = 0;

  beforeAll(async () => {
    ledger = await openLedger();
  });
  afterAll(async () => await ledger?.close());

  /** A chain of its own with ten entries, found intact. */
  async function chainOfTen({ checkpoint = true } = {}): Promise<string> {
    count += 1;
    const chain = `team_${count}`;
    await ledger.append(chain, 10);
    if (checkpoint) await ledger.checkpoint();
    const whole = { finding: 'intact', entries: 10, checkpoints: checkpoint ? 1 : 0 };
    expect(await ledger.verify(chain)).toMatchObject(whole);
    return chain;
  }
  async function finding(chain: string, own?: { seq: number; hash: string }) {
    const { finding, seq } = await ledger.verify(chain, own);
    return `${finding} at ${seq}`;
  }

  it('a byte that was changed, in any column that the hash covers', async () => {
    const changes = [
      `details = '{"by": 2}'`,
      `at = at + 1`,
      `action = 'thing.Changed'`,
      `actor_id = 'user_2'`,
      `actor_kind = 'system'`,
      `actor_display = 'bob'`,
      `target = 'thing_2'`,
      `request_id = ''`,
      `previous_hash = reverse(previous_hash)`,
      `hash = reverse(hash)`,
    ];
    for (const change of changes) {
      const chain = await chainOfTen();
      await ledger.intruder.unsafe(`update audit_entries set ${change} where chain = '${chain}' and seq = 4`);
      expect([change, await finding(chain)]).toEqual([change, 'entry_changed at 4']);
    }
  });

  it('an entry that is missing in the middle, also when the rest was renumbered', async () => {
    const chain = await chainOfTen();
    await ledger.intruder`delete from audit_entries where chain = ${chain} and seq in (5, 6)`;
    expect(await finding(chain)).toBe('entry_missing at 5');
    await ledger.intruder`update audit_entries set seq = seq - 2 where chain = ${chain} and seq > 6`;
    expect(await finding(chain)).toBe('entry_missing at 5');
  });

  it('an end that was cut off, by the head', async () => {
    const chain = await chainOfTen({ checkpoint: false });
    await ledger.intruder`delete from audit_entries where chain = ${chain} and seq > 7`;
    expect(await finding(chain)).toBe('tail_missing at 8');
  });

  it('an end that was cut off together with the head, by the checkpoint', async () => {
    const chain = await chainOfTen();
    await ledger.intruder`delete from audit_entries where chain = ${chain} and seq > 7`;
    await ledger.rechain(chain, 11);
    expect(await finding(chain)).toBe('tail_missing at 8');
  });

  it('a chain that is gone altogether', async () => {
    const chain = await chainOfTen();
    await ledger.intruder`delete from audit_entries where chain = ${chain}`;
    await ledger.intruder`delete from audit_heads where chain = ${chain}`;
    expect(await finding(chain)).toBe('tail_missing at 1');
  });

  it('entries that were exchanged', async () => {
    for (const [a, b] of [
      [3, 4],
      [3, 7],
      [2, 10],
    ] as const) {
      const chain = await chainOfTen();
      await ledger.intruder.begin(async (sql) => {
        await sql`update audit_entries set seq = 1000 where chain = ${chain} and seq = ${a}`;
        await sql`update audit_entries set seq = ${a} where chain = ${chain} and seq = ${b}`;
        await sql`update audit_entries set seq = ${b} where chain = ${chain} and seq = 1000`;
      });
      expect([a, b, await finding(chain)]).toEqual([a, b, `order_broken at ${a}`]);
    }
  });

  it('an entry that was put in, whether its own hash is right or not', async () => {
    for (const isRight of [true, false]) {
      const chain = await chainOfTen();
      const [before] = (await ledger.rows(chain)).slice(4, 5);
      const forged = { ...before!, seq: 6, target: 'forged', previousHash: before!.hash };
      const hash = isRight
        ? entryHash({ chain, seq: 6, previousHash: before!.hash }, forged)
        : 'f'.repeat(64);
      await ledger.intruder.begin(async (sql) => {
        await sql`update audit_entries set seq = seq + 1000 where chain = ${chain} and seq > 5`;
        await sql`update audit_entries set seq = seq - 999 where chain = ${chain} and seq > 1000`;
        await sql`
          insert into audit_entries
          select chain, 6, at, actor_kind, actor_id, actor_display, action, 'forged', details, request_id, hash, ${hash}
          from audit_entries where chain = ${chain} and seq = 5`;
      });
      expect([isRight, await finding(chain)]).toEqual([isRight, 'order_broken at 6']);
    }
  });

  it('an entry that was put in behind the head', async () => {
    const chain = await chainOfTen();
    const [last] = (await ledger.rows(chain)).slice(-1);
    const hash = entryHash({ chain, seq: 11, previousHash: last!.hash }, last!);
    await ledger.intruder`
      insert into audit_entries
      select chain, 11, at, actor_kind, actor_id, actor_display, action, target, details, request_id, hash, ${hash}
      from audit_entries where chain = ${chain} and seq = 10`;
    expect(await finding(chain)).toBe('order_broken at 11');
  });

  it('an entry that was exchanged for another one with a right hash', async () => {
    const chain = await chainOfTen();
    const [before] = (await ledger.rows(chain)).slice(4, 5);
    const hash = entryHash(
      { chain, seq: 5, previousHash: before!.previousHash },
      { ...before!, target: 'other' },
    );
    await ledger.intruder`update audit_entries set target = 'other', hash = ${hash} where chain = ${chain} and seq = 5`;
    expect(await finding(chain)).toBe('order_broken at 5');
  });

  it('a chain that was written anew from one entry on', async () => {
    for (const from of [1, 6, 10]) {
      const chain = await chainOfTen();
      await ledger.intruder`update audit_entries set target = 'other' where chain = ${chain} and seq = ${from}`;
      await ledger.rechain(chain, from);
      expect([from, await finding(chain)]).toEqual([from, 'rewritten at 10']);
    }
  });

  it('the first checkpoint behind the place from where it was written anew', async () => {
    const chain = await chainOfTen();
    await ledger.append(chain, 10);
    await ledger.checkpoint();
    await ledger.intruder`update audit_entries set target = 'other' where chain = ${chain} and seq = 12`;
    await ledger.rechain(chain, 12);
    expect(await ledger.verify(chain)).toMatchObject({ finding: 'rewritten', seq: 20, checkpoints: 2 });
  });

  it('an old backup that was restored, and what was written on top of it', async () => {
    const chain = await chainOfTen();
    await ledger.intruder`create table backup_entries as select * from audit_entries where chain = ${chain}`;
    await ledger.append(chain, 5);
    await ledger.checkpoint();
    await ledger.intruder`delete from audit_entries where chain = ${chain}`;
    await ledger.intruder`insert into audit_entries select * from backup_entries`;
    await ledger.rechain(chain, 11);
    expect(await finding(chain)).toBe('tail_missing at 11');
    ledger.clock.advance(1);
    await ledger.append(chain, 5);
    expect(await finding(chain)).toBe('rewritten at 15');
    await ledger.checkpoint(); // what is there now is signed too, and the break stays visible
    expect(await finding(chain)).toBe('rewritten at 15');
  });

  it('a chain that is another one than the caller has kept', async () => {
    const chain = await chainOfTen({ checkpoint: false });
    const kept = (await ledger.rows(chain))[7]!;
    expect(await finding(chain, kept)).toBe('intact at undefined');
    await ledger.intruder`update audit_entries set target = 'other' where chain = ${chain} and seq = 5`;
    await ledger.rechain(chain, 5);
    expect(await finding(chain)).toBe('intact at undefined');
    expect(await finding(chain, kept)).toBe('rewritten at 8');
    expect(await finding(chain, { seq: 11, hash: kept.hash })).toBe('tail_missing at 11');
  });

  it('two entries of one place, also where a piece of the reading ends', async () => {
    const own = await openLedger();
    try {
      await own.append('team_a', 5);
      await own.append('team_b', 501);
      await own.intruder`alter table audit_entries drop constraint audit_entries_chain_seq_pk`;
      await own.intruder`insert into audit_entries select * from audit_entries where chain = 'team_a' and seq = 3`;
      await own.intruder`insert into audit_entries select * from audit_entries where chain = 'team_b' and seq = 500`;
      expect(await own.verify('team_a')).toMatchObject({ finding: 'entry_duplicated', seq: 3 });
      expect(await own.verify('team_b')).toMatchObject({ finding: 'entry_duplicated', seq: 500 });
    } finally {
      await own.close();
    }
  });

  it('a checkpoint that somebody else has written', async () => {
    const chain = await chainOfTen();
    const forged = { ...ledger.signer.sign({ chain, seq: 10, hash: 'f'.repeat(64), at: 1 }), seq: 9 };
    const text = readFileSync(ledger.file.path, 'utf8');
    appendFileSync(ledger.file.path, `${JSON.stringify(forged)}\n`);
    expect(await finding(chain)).toBe('checkpoint_invalid at 9');
    writeFileSync(ledger.file.path, `${text}{"chain":"${chain}","seq":\n`);
    expect(await finding(chain)).toBe('checkpoint_invalid at 0');
    writeFileSync(ledger.file.path, `${text}{"chain":"${chain}"`); // just being written
    expect(await finding(chain)).toBe('intact at undefined');
    writeFileSync(ledger.file.path, text);
  });

  it('nothing while others append', async () => {
    const chain = await chainOfTen();
    const appending = Array.from({ length: 4 }, async () => await ledger.append(chain, 50));
    let checks = 0;
    let done = false;
    void Promise.all(appending).then(() => (done = true));
    while (!done || checks < 3) {
      expect(await finding(chain)).toBe('intact at undefined');
      await ledger.checkpoint();
      checks += 1;
    }
    await Promise.all(appending);
    expect(await ledger.verify(chain)).toMatchObject({ finding: 'intact', entries: 210 });
  });

  it('nothing in details of every shape, as they come back from the database', async () => {
    const shapes = [
      {},
      { text: 'ä €  \u2028 "quoted" \\ \u0007 😀', empty: '', '': 'empty name' },
      { z: 1, a: -0, big: Number.MAX_SAFE_INTEGER, small: Number.MIN_SAFE_INTEGER, b: [true, false, null] },
      { ﬀ: 1, é: 2, '\u{1F600}': 3, '\uFB33': 4, '\r': 5, '1': 6, '10': 7, '2': 8 },
      JSON.parse('{"__proto__": {"x": 1}, "constructor": [], "toString": {}}') as object,
      { half: '\ud800', other: ['\udfff x'] },
      { left: undefined, nested: { deep: { deeper: [{ x: [[]] }] } } },
    ];
    for (const details of shapes) await act(ledger.db, 'shapes', { at: ledger.clock.now(), details });
    expect(await ledger.verify('shapes')).toMatchObject({ finding: 'intact', entries: shapes.length });
    const rows = await ledger.rows('shapes');
    expect(rows[4]?.details).toEqual(shapes[4]);
    expect(rows[5]?.details).toEqual({ half: '\ufffd', other: ['\ufffd x'] });
  });

  it('nothing in details of any shape that comes up', async () => {
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        anyText(),
        fc.string({ unit: 'grapheme' }),
        fc.maxSafeInteger(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value')),
        fc.dictionary(anyText(), tie('value')),
      ),
    }));
    const samples = fc
      .sample(value, { numRuns: 400, seed: 20_261_120 })
      .filter((each) => !JSON.stringify(each).includes('\\u0000'));
    expect(samples.length).toBeGreaterThan(300);
    for (const sample of samples)
      await act(ledger.db, 'samples', { at: ledger.clock.now(), details: { sample } });
    expect(await ledger.verify('samples')).toMatchObject({ finding: 'intact', entries: samples.length });
  });
});
