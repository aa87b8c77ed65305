/** The tables of the ledger by themselves, and posts that race. */
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { balanceOf, post, purchase, type NewTransfer } from './index.ts';

const at = new Date('2026-03-01T12:00:00Z');

interface Violation {
  readonly constraint_name?: string;
  readonly message: string;
}

describe.skipIf(!(await has('postgres')))('the ledger of credit', () => {
  let database: TestDatabase;
  let owner: postgres.Sql;
  let teams = 0;
  const newTeam = () => `team_${++teams}`;
  const PURCHASE = { kind: 'purchase', from: 'bought', to: 'available', at } as const;
  const USAGE = { kind: 'usage', from: 'available', to: 'consumed', at } as const;
  const bought = (teamId: string, cents: number, source = `cs_${teamId}`): NewTransfer => ({
    ...PURCHASE,
    teamId,
    source,
    cents,
  });
  const used = (teamId: string, cents: number, source: string): NewTransfer => ({
    ...USAGE,
    teamId,
    source,
    cents,
  });
  const entriesOf = async (teamId: string) =>
    await database.db.sql<Array<{ account: string; seq: number; cents: number; balance: number }>>`
      select account, seq, cents, balance from credit_entries where team_id = ${teamId} order by account, seq`;

  beforeAll(async () => {
    database = await createTestDatabase({ max: 16 });
    owner = postgres(database.url, { max: 1, onnotice: () => undefined });
  });
  afterAll(async () => {
    await owner?.end();
    await database?.drop();
  });

  describe('in the database', () => {
    let teamId: string;
    let transfer: string;
    beforeAll(async () => {
      teamId = newTeam();
      await post(database.db, bought(teamId, 100));
      const more = await post(database.db, bought(teamId, 50, 'cs_more'));
      if (more.outcome !== 'posted') throw new Error(more.outcome);
      transfer = more.transfer.id;
    });

    const violated = async (statement: string): Promise<string> => {
      try {
        await owner.unsafe(statement);
        return 'nothing';
      } catch (error) {
        const { constraint_name: name, message } = error as Violation;
        return name ?? message;
      }
    };
    /** Writes an entry of the account `available`, whose last one is 2, at 150. */
    const entry = async (
      [seq, cents, previousSeq, previousBalance, balance]: Array<number | null>,
      account = 'available',
    ) =>
      await violated(`
        insert into credit_entries (team_id, account, seq, transfer_id, cents, previous_seq, previous_balance, balance)
        values ('${teamId}', '${account}', ${seq}, '${transfer}', ${cents}, ${previousSeq}, ${previousBalance}, ${balance})`);

    it.each([
      ['a gap', [4, 1, 2, 150, 151], 'credit_entries_gapless'],
      ['an entry behind a gap', [4, 1, 3, 150, 151], 'credit_entries_previous'],
      ['a wrong sum', [3, 1, 2, 150, 152], 'credit_entries_sum'],
      ['a second first entry', [1, 1, null, null, 1], 'credit_entries_pk'],
      ['a second entry in one place', [2, 1, 1, 100, 101], 'credit_entries_pk'],
      ['a balance before that was another one', [3, 1, 2, 149, 150], 'credit_entries_previous'],
      ['half of what was before', [3, 1, 2, null, 1], 'credit_entries_first'],
      ['credit below nothing', [3, -151, 2, 150, -1], 'credit_entries_not_negative'],
    ])('%s is refused', async (_, values, constraint) => {
      expect(await entry(values)).toBe(constraint);
    });

    it('more than what is disputed, or another account, is refused', async () => {
      expect(await entry([1, -1, null, null, -1], 'disputed')).toBe('credit_entries_not_negative');
      expect(await entry([1, 1, null, null, 1], 'petty_cash')).toBe('credit_entries_account');
    });

    it('nothing is changed or deleted, by the tables’ owner either', async () => {
      for (const table of ['credit_entries', 'credit_transfers'])
        for (const act of [
          `update ${table} set cents = cents + 1`,
          `delete from ${table}`,
          `truncate ${table} cascade`,
        ])
          expect(await violated(act), act).toMatch(/append-only/);
    });

    it('a transfer of nothing, to itself, or of less is refused', async () => {
      const add = (cents: number, to: string) => `
        insert into credit_transfers (id, team_id, kind, source, "from", "to", cents, created_at)
        values ('crt_x', '${teamId}', 'usage', 'x', 'available', '${to}', ${cents}, now())`;
      for (const [cents, to] of [
        [0, 'consumed'],
        [-1, 'consumed'],
        [1, 'available'],
      ] as const)
        expect(await violated(add(cents, to))).toBe('credit_transfers_cents');
    });
  });

  it('32 equal sources at once are one transfer, and 31 answers name it', async () => {
    const teamId = newTeam();
    const outcomes = await Promise.all(
      Array.from({ length: 32 }, () => post(database.db, bought(teamId, 500))),
    );
    const ids = new Set(outcomes.map((one) => (one.outcome === 'refused' ? '' : one.transfer.id)));
    expect(ids.size).toBe(1);
    expect(outcomes.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
    expect(outcomes.every((one) => one.outcome !== 'refused' && one.transfer.balanceCents === 500)).toBe(
      true,
    );
    expect(await entriesOf(teamId)).toEqual([
      { account: 'available', seq: 1, cents: 500, balance: 500 },
      { account: 'bought', seq: 1, cents: -500, balance: -500 },
    ]);
  });

  it('16 draws of 30 at once from 100 are 3, and the others are told what is left', async () => {
    const teamId = newTeam();
    await post(database.db, bought(teamId, 100));
    const draw = async (n: number) => await post(database.db, used(teamId, 30, `${teamId} ${n}`));
    const outcomes = await Promise.all(Array.from({ length: 16 }, (_, n) => draw(n)));
    expect(outcomes.filter(({ outcome }) => outcome === 'posted')).toHaveLength(3);
    const refused = outcomes.filter(({ outcome }) => outcome === 'refused');
    expect(refused).toHaveLength(13);
    expect(refused[0]).toEqual({ outcome: 'refused', account: 'available', balanceCents: 10 });
    expect(await balanceOf(database.db.sql, teamId)).toBe(10);
    const again = await Promise.all(Array.from({ length: 16 }, (_, n) => draw(n)));
    expect(again.map(({ outcome }) => outcome)).toEqual(
      outcomes.map(({ outcome }) => (outcome === 'posted' ? 'repeated' : 'refused')),
    );
  });

  it('a refusal and a repetition leave the transaction of the caller as it is', async () => {
    const teamId = newTeam();
    await database.db.transact(async (tx) => {
      await post(tx, bought(teamId, 100));
      expect((await post(tx, used(teamId, 101, `${teamId} a`))).outcome).toBe('refused');
      expect((await post(tx, bought(teamId, 100))).outcome).toBe('repeated');
      expect((await post(tx, used(teamId, 100, `${teamId} b`))).outcome).toBe('posted');
    });
    expect(await balanceOf(database.db.sql, teamId)).toBe(0);
    const rolledBack = database.db.transact(async (tx) => {
      await post(tx, bought(teamId, 100, `cs_${teamId} lost`));
      throw new Error('the caller fails');
    });
    await expect(rolledBack).rejects.toThrow('the caller fails');
    expect(await entriesOf(teamId)).toHaveLength(4);
  });

  it('transactions of one busy team wait for each other, and none fails', async () => {
    const teamId = newTeam();
    const twice = async (n: number) =>
      await database.db.transact(async (tx) => {
        await post(tx, bought(teamId, 10, `${teamId} ${n}`));
        await post(tx, used(teamId, 4, `${teamId} ${n}`));
      });
    await Promise.all(Array.from({ length: 48 }, (_, n) => twice(n)));
    expect(await balanceOf(database.db.sql, teamId)).toBe(48 * 6);
  });

  it.each([0, -1, 0.5, Number.NaN, 1e18])('an amount of %s is refused before', async (cents) => {
    await expect(post(database.db, bought(newTeam(), cents))).rejects.toMatchObject({
      code: 'validation_failed',
    });
  });

  it('a source of another team is a mistake, not credit', async () => {
    const [mine, theirs] = [newTeam(), newTeam()];
    await post(database.db, bought(mine, 100, 'cs_shared'));
    await expect(post(database.db, bought(theirs, 100, 'cs_shared'))).rejects.toThrow('another team');
    await expect(
      purchase(database.db, { teamId: theirs, cents: 100, source: 'cs_shared', at }),
    ).rejects.toThrow('another team');
    expect(await balanceOf(database.db.sql, theirs)).toBe(0);
  });
});
