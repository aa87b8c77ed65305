/** How credit comes to a team and goes from it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMoneyWorld, type MoneyWorld } from '../../../test/setup/money/months.ts';
import { has } from '../../../test/setup/needs.ts';
import { testCtx } from '../../../test/setup/work/ctx.ts';
import { systemClock } from '../../base/clock.ts';
import type { Ctx } from '../../kit/context.ts';
import { openDatabase, type Database } from '../../base/db/index.ts';
import {
  balanceOf,
  blocksOf,
  disputeLost,
  disputeOpened,
  disputeWon,
  drawsOf,
  expireCredit,
  grant,
  boughtLeft,
  purchase,
  refund,
  shortfallDue,
  shortfallOf,
  teamsWithShortfall,
  useCredit,
} from './index.ts';

const at = new Date('2026-03-01T12:00:00Z');
const after = (ms: number) => new Date(at.getTime() + ms);

describe.skipIf(!(await has('postgres')))('credit', () => {
  let world: MoneyWorld;
  let db: Database;
  let teamId: string;

  beforeAll(async () => {
    world = await createMoneyWorld();
    ({ db } = world);
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => (teamId = await world.team('the buyers')));

  const source = (name: string) => `${teamId} ${name}`;
  const buy = async (cents: number, name = 'cs_1', when = at) =>
    await purchase(db, { teamId, cents, source: source(name), at: when, eventId: 'evt_1' });
  const staff = (now = at): Ctx => ({
    ...testCtx('svc.adminbilling.v1.AdminBillingService/GrantCredit', {
      db,
      userId: 'user_staff',
      teamIds: [],
    }),
    clock: { ...systemClock, now: () => now },
  });
  const give = async (amountCents: number, expiresAt?: Date, now = at) =>
    await grant(staff(now), { currency: 'usd', teamId, amountCents, reason: 'an outage', expiresAt });
  const use = async (cents: number, statement: string, when = at) =>
    await useCredit(db, { currency: 'usd', teamId, cents, source: source(statement), at: when });
  const balance = async () => await balanceOf(db.sql, teamId);
  const acts = async () =>
    (
      await db.sql<Array<{ action: string; actor: string; details: Record<string, unknown> }>>`
        select action, actor_id as actor, details from audit_entries where chain = ${teamId} order by seq`
    ).map(({ action, actor, details }) => ({ action, actor, ...details }));
  const low = async () =>
    await db.sql<Array<{ key: string; payload: Record<string, unknown> }>>`
      select dedupe_key as key, payload from outbox where team_id = ${teamId} and kind = 'credit.low'`;

  describe('bought', () => {
    it('is there once, whatever is told again, and says so in the audit', async () => {
      const first = await buy(5_000);
      expect(first).toMatchObject({
        outcome: 'posted',
        teamGone: false,
        transfer: { cents: 5_000, balanceCents: 5_000 },
      });
      expect(await buy(5_000, 'cs_1', after(1_000))).toEqual({ ...first, outcome: 'repeated' });
      expect(await balance()).toBe(5_000);
      expect(await boughtLeft(db.sql, teamId)).toBeGreaterThan(0);
      expect(await acts()).toEqual([
        {
          action: 'credit.purchased',
          actor: 'stripe',
          amountCents: 5_000,
          source: source('cs_1'),
          eventId: 'evt_1',
        },
      ]);
    });

    it('for a team that is gone is in the ledger, and to be refunded', async () => {
      await db.sql`delete from teams where id = ${teamId}`;
      expect((await buy(5_000)).teamGone).toBe(true);
      expect(await balance()).toBe(5_000);
    });
  });

  describe('granted', () => {
    it('is an entry of staff, and not bought', async () => {
      const entry = await give(700, after(1));
      expect(entry).toMatchObject({
        kind: 'grant',
        amountCents: 700,
        balanceCents: 700,
        reason: 'an outage',
        expiresAt: after(1),
      });
      expect(await boughtLeft(db.sql, teamId)).toBe(0);
      expect(await acts()).toMatchObject([
        { action: 'credit.granted', amountCents: 700, reason: 'an outage' },
      ]);
    });

    it('is refused with an end that has come, an amount that is none, or no such team', async () => {
      await expect(give(700, at)).rejects.toMatchObject({ code: 'validation_failed' });
      await expect(give(0.5)).rejects.toMatchObject({ code: 'validation_failed' });
      teamId = 'team_nowhere';
      await expect(give(700)).rejects.toMatchObject({ code: 'not_found' });
      expect(await balance()).toBe(0);
    });

    it('ends once with two workers, with what is left of it', async () => {
      await give(700, after(1_000));
      await give(50);
      await buy(100);
      expect(await use(200, 'stm_1')).toBe(200);
      const other = openDatabase({ url: world.url, max: 2 });
      try {
        await expireCredit(db, after(999));
        expect(await balance()).toBe(650);
        await Promise.all([db, other, db, other].map(async (one) => await expireCredit(one, after(1_000))));
      } finally {
        await other.close();
      }
      expect(await balance()).toBe(150);
      expect((await acts()).filter(({ action }) => action === 'credit.expired')).toMatchObject([
        { amountCents: 500, actor: 'billing' },
      ]);
      expect(await expireCredit(db, after(9_000))).toBe(false);
      expect(await balance()).toBe(150);
    });
  });

  describe('used', () => {
    it('goes by the earliest end, granted before bought, older before newer', async () => {
      await buy(10, 'cs_old');
      await buy(20, 'cs_new', after(1));
      const granted = await give(30, undefined, after(2));
      const late = await give(40, after(90_000), after(3));
      const early = await give(50, after(80_000), after(4));
      const order = (await blocksOf(db.sql, teamId)).map(({ remainingCents }) => remainingCents);
      expect(order).toEqual([50, 40, 30, 10, 20]);
      expect(await use(95, 'stm_1', after(10))).toBe(95);
      expect(await drawsOf(db.sql, { teamId, source: source('stm_1') })).toEqual([
        { blockId: early.id, kind: 'grant', cents: 50 },
        { blockId: late.id, kind: 'grant', cents: 40 },
        { blockId: granted.id, kind: 'grant', cents: 5 },
      ]);
      expect((await blocksOf(db.sql, teamId)).map(({ remainingCents }) => remainingCents)).toEqual([
        25, 10, 20,
      ]);
    });

    it('is never more than there is, and the same for a statement that comes again', async () => {
      await buy(100);
      expect(await use(0, 'stm_0')).toBe(0);
      expect(await use(60, 'stm_1')).toBe(60);
      expect(await use(60, 'stm_2')).toBe(40);
      expect(await use(60, 'stm_3')).toBe(0);
      await buy(500, 'cs_2');
      expect(await use(60, 'stm_1')).toBe(60);
      expect(await use(999, 'stm_2')).toBe(40);
      expect(await balance()).toBe(500);
      expect((await acts()).filter(({ action }) => action === 'credit.used')).toMatchObject([
        { amountCents: 60, balanceCents: 40, actor: 'billing' },
        { amountCents: 40, balanceCents: 0 },
      ]);
    });

    it('by 16 statements at once is 30, 30, 30 and 10 of 100', async () => {
      await buy(100);
      const taken = await Promise.all(Array.from({ length: 16 }, (_, n) => use(30, `stm_${n}`)));
      expect(taken.toSorted((a, b) => b - a).slice(0, 5)).toEqual([30, 30, 30, 10, 0]);
      expect(await balance()).toBe(0);
    });

    it('does not pay with what has ended', async () => {
      await give(30, after(1_000));
      expect(await use(10, 'stm_1', after(1_000))).toBe(0);
    });

    it('is told when less than a tenth is left, once a purchase', async () => {
      await give(1_000);
      expect(await use(990, 'stm_0')).toBe(990);
      expect(await low()).toEqual([]);
      const first = await buy(990);
      await use(900, 'stm_1');
      expect(await low()).toEqual([]);
      await use(1, 'stm_2');
      await use(1, 'stm_3');
      expect(await low()).toEqual([
        {
          key: first.transfer.id,
          payload: {
            title: 'The credit of the buyers is low',
            body: expect.stringContaining(`svc costs credits balance --team ${teamId}`),
            balanceCents: 99,
            ofCents: 1_000,
          },
        },
      ]);
      await buy(1_000, 'cs_2');
      await use(1_050, 'stm_4');
      expect(await low()).toHaveLength(2);
    });
  });

  describe('given back', () => {
    const back = async (totalCents: number, name = 'cs_1') =>
      await refund(db, { purchase: source(name), totalCents, at, eventId: 'evt_2' });
    const owed = async (statement: string) =>
      await shortfallOf(db, { currency: 'usd', teamId, statementId: source(statement), at });

    it('is what is left of that purchase, by the total, in any order', async () => {
      await buy(100);
      await buy(1_000, 'cs_2');
      expect(await back(30)).toEqual({ takenCents: 30, shortfallCents: 0 });
      expect(await back(30)).toEqual({ takenCents: 0, shortfallCents: 0 });
      expect(await back(80)).toEqual({ takenCents: 50, shortfallCents: 0 });
      expect(await back(60)).toEqual({ takenCents: 0, shortfallCents: 0 });
      expect(await back(120)).toEqual({ takenCents: 20, shortfallCents: 0 });
      expect(await balance()).toBe(1_000);
      expect(await back(1, 'cs_unknown')).toBeUndefined();
      expect((await acts()).filter(({ action }) => action === 'credit.refunded')).toHaveLength(3);
    });

    it('comes to statements in amounts that can be paid, also of credit that was used in others before', async () => {
      await buy(500);
      await use(495, 'stm_1');
      await back(500);
      expect(await shortfallDue(db.sql, teamId)).toBe(495);
      const put = async (statement: string) =>
        await shortfallOf(db, { currency: 'kwd', teamId, statementId: source(statement), at });
      expect(await put('stm_2')).toBe(490);
      expect(await put('stm_3')).toBe(0);
      expect(await put('stm_2')).toBe(490);
      expect(await shortfallDue(db.sql, teamId)).toBe(5);
      const dinars = { currency: 'kwd', teamId, at };
      await buy(125, 'cs_2');
      await buy(38, 'cs_3');
      expect(await useCredit(db, { ...dinars, cents: 1_000, source: source('stm_4') })).toBe(150);
      expect(await balance()).toBe(13);
    });

    it('beyond what is left comes to exactly one statement', async () => {
      await buy(100);
      await buy(50, 'cs_2', after(1));
      await use(70, 'stm_1');
      await Promise.all(Array.from({ length: 8 }, () => back(100)));
      expect(await balance()).toBe(50);
      expect(await shortfallDue(db.sql, teamId)).toBe(70);
      expect(await teamsWithShortfall(db.sql)).toContain(teamId);
      await expect(
        db.transact(async (tx) => {
          await shortfallOf(tx, { currency: 'usd', teamId, statementId: source('stm_2'), at });
          throw new Error('the closing fails');
        }),
      ).rejects.toThrow();
      const all = await Promise.all(['stm_2', 'stm_3', 'stm_4'].map(owed));
      expect(all.toSorted((a, b) => a - b)).toEqual([0, 0, 70]);
      expect(await Promise.all(['stm_2', 'stm_3', 'stm_4'].map(owed))).toEqual(all);
      expect(await shortfallDue(db.sql, teamId)).toBe(0);
      expect(await teamsWithShortfall(db.sql)).not.toContain(teamId);
      await use(10, 'stm_5');
      await back(50, 'cs_2');
      expect(await owed('stm_6')).toBe(10);
    });

    it('after a dispute is held, and comes back or is gone', async () => {
      await buy(100);
      await buy(40, 'cs_2', after(1)); // Ids of one moment may be in either order.
      await use(60, 'stm_1');
      const one = { purchase: source('cs_1'), dispute: source('dp_1'), cents: 100, at };
      const two = { purchase: source('cs_2'), dispute: source('dp_2'), cents: 40, at };
      expect(
        await Promise.all([disputeOpened(db, one), disputeOpened(db, one), disputeOpened(db, two)]),
      ).toEqual([true, true, true]);
      expect(await balance()).toBe(0);
      expect(await boughtLeft(db.sql, teamId)).toBeGreaterThan(0);
      expect(await shortfallDue(db.sql, teamId)).toBe(0);

      expect(await disputeWon(db, two)).toBe(true);
      expect(await disputeWon(db, two)).toBe(true);
      expect(await disputeOpened(db, two)).toBe(true);
      expect(await balance()).toBe(40);
      expect(await disputeLost(db, one)).toEqual({ takenCents: 40, shortfallCents: 60 });
      expect(await disputeLost(db, one)).toEqual({ takenCents: 0, shortfallCents: 0 });
      expect(await disputeWon(db, one)).toBe(true);
      expect(await balance()).toBe(40);
      expect(await owed('stm_2')).toBe(60);
      const disputed = (await acts()).filter(({ action }) => action === 'credit.disputed');
      expect(disputed.map((act) => ('state' in act ? act.state : ''))).toEqual([
        'opened',
        'opened',
        'won',
        'lost',
      ]);
    });

    it('after a dispute that was lost before anybody heard of it, too', async () => {
      await buy(100);
      await use(30, 'stm_1');
      const lost = { purchase: source('cs_1'), dispute: source('dp_1'), cents: 100, at };
      expect(await disputeLost(db, lost)).toEqual({ takenCents: 70, shortfallCents: 30 });
      expect(await disputeLost(db, lost)).toEqual({ takenCents: 0, shortfallCents: 0 });
      expect(await disputeOpened(db, lost)).toBe(true);
      expect(await balance()).toBe(0);
      expect(await owed('stm_2')).toBe(30);
      expect(await disputeLost(db, { ...lost, purchase: 'cs_unknown' })).toBeUndefined();
      expect(await disputeOpened(db, { ...lost, purchase: 'cs_unknown' })).toBe(false);
    });
  });
});
