/**
 * Compares random acts with a model in memory, and runs the same acts all at once, after which the invariants
 * hold.
 */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { testCtx } from '../../../test/setup/work/ctx.ts';
import { systemClock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import {
  balanceOf,
  blocksOf,
  disputeLost,
  disputeOpened,
  disputeWon,
  expireCredit,
  grant,
  purchase,
  refund,
  shortfallDue,
  shortfallOf,
  useCredit,
} from './index.ts';

const START = Date.parse('2026-03-01T00:00:00Z');
const STEP_MS = 60_000;
const ACTS = 90;
/** Acts at once: less than wait for a connection for too long on a busy machine. */
const GANG = 24;
const TEAMS = 3;

/** A small generator of numbers that a seed repeats. */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Act {
  readonly kind: 'buy' | 'give' | 'use' | 'refund' | 'open' | 'win' | 'lose' | 'expire' | 'owe';
  readonly at: Date;
  readonly cents: number;
  /** Number of the purchase or of the statement that is meant. */
  readonly n: number;
  readonly expiresAt: Date | undefined;
}

const KINDS: readonly Act['kind'][] = [
  ...(['buy', 'buy', 'give', 'give', 'use', 'use', 'use'] as const),
  ...(['refund', 'open', 'win', 'lose', 'expire', 'owe'] as const),
];

function actsOf(seed: number): Act[] {
  const next = numbers(seed);
  const bought: number[] = [];
  return Array.from({ length: ACTS }, (_, n) => {
    const at = new Date(START + n * STEP_MS);
    const kind = KINDS[next(KINDS.length)] ?? 'buy';
    const expiresAt = next(2) === 0 ? undefined : new Date(at.getTime() + (1 + next(30)) * STEP_MS);
    if (kind === 'buy') bought.push(n);
    const isOfOne = ['refund', 'open', 'win', 'lose'].includes(kind);
    const of = isOfOne ? (bought[next(bought.length)] ?? n) : kind === 'buy' ? n : next(ACTS);
    return { kind, at, cents: 1 + next(500), n: of, expiresAt };
  });
}

interface Part {
  readonly n: number;
  readonly bought: boolean;
  readonly at: Date;
  readonly cents: number;
  readonly expiresAt: Date | undefined;
  rest: number;
  refunded: number;
  held: number;
  dispute: 'none' | 'open' | 'over';
}

/** Model of what the ledger should say. */
class Model {
  readonly parts: Part[] = [];
  readonly used = new Map<number, number>();
  readonly owed = new Map<number, number>();
  shortfall = 0;

  get balance(): number {
    return this.parts.reduce((sum, { rest }) => sum + rest, 0);
  }

  /** Blocks in the order in which they are used. */
  inOrder(): Part[] {
    const end = ({ expiresAt }: Part) => expiresAt?.getTime() ?? Infinity;
    return this.parts
      .filter(({ rest }) => rest > 0)
      .toSorted(
        (a, b) =>
          (end(a) === end(b) ? 0 : end(a) - end(b)) ||
          Number(a.bought) - Number(b.bought) ||
          a.at.getTime() - b.at.getTime(),
      );
  }

  do(act: Act): void {
    const { kind, n, cents, at, expiresAt } = act;
    if (kind === 'buy' || kind === 'give') {
      const bought = kind === 'buy';
      const ends = bought ? undefined : expiresAt;
      this.parts.push({
        n,
        bought,
        at,
        cents,
        expiresAt: ends,
        rest: cents,
        refunded: 0,
        held: 0,
        dispute: 'none',
      });
    } else if (kind === 'use') this.use(act);
    else if (kind === 'expire')
      for (const part of this.parts)
        part.rest = part.expiresAt !== undefined && part.expiresAt <= at ? 0 : part.rest;
    else if (kind === 'owe') {
      if (this.owed.has(n) || this.shortfall === 0) return;
      this.owed.set(n, this.shortfall);
      this.shortfall = 0;
    } else {
      const part = this.parts.find((one) => one.bought && one.n === n);
      if (part !== undefined) this.takeBack(part, act);
    }
  }

  private use({ n, cents, at }: Act): void {
    if (this.used.has(n)) return;
    let left = cents;
    for (const part of this.inOrder().filter(({ expiresAt }) => expiresAt === undefined || expiresAt > at)) {
      const taken = Math.min(left, part.rest);
      part.rest -= taken;
      left -= taken;
    }
    if (left < cents) this.used.set(n, cents - left);
  }

  private takeBack(part: Part, { kind, cents }: Act): void {
    const take = (wanted: number): void => {
      const taken = Math.min(wanted, part.rest);
      part.rest -= taken;
      this.shortfall += wanted - taken;
    };
    if (kind === 'refund') {
      const total = Math.max(part.refunded, Math.min(cents, part.cents));
      take(total - part.refunded);
      part.refunded = total;
    } else if (kind === 'open' && part.dispute === 'none') {
      part.held = Math.min(cents, part.rest);
      part.rest -= part.held;
      if (part.held > 0) part.dispute = 'open';
    } else if (kind === 'win' && part.dispute === 'open') {
      part.rest += part.held;
      part.dispute = 'over';
    } else if (kind === 'lose' && part.dispute !== 'over') {
      take(Math.max(0, Math.min(cents, part.cents) - part.held));
      part.dispute = 'over';
    }
  }
}

describe.skipIf(!(await has('postgres')))('random acts on credit', () => {
  let database: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    database = await createTestDatabase({ max: 8 });
    ({ db } = database);
    await db.sql`insert into regions (id, name, operator) values ('reg_1', 'r', 'service')`;
    await db.sql`insert into teams (id, name, region_id, created_at) select 'team_' || n, 't', 'reg_1', now() from generate_series(0, ${TEAMS - 1}::int) n`;
  });
  afterAll(async () => await database?.drop());

  const ctx = (at: Date) => ({
    ...testCtx('svc.adminbilling.v1.AdminBillingService/GrantCredit', { db, userId: 'user_1', teamIds: [] }),
    clock: { ...systemClock, now: () => at },
  });

  const act = async (teamId: string, { kind, at, cents, n, expiresAt }: Act): Promise<unknown> => {
    const bought = `cs ${teamId} ${n}`;
    const disputed = { purchase: bought, dispute: `dp ${teamId} ${n}`, cents, at };
    const statementId = `stm ${teamId} ${n}`;
    switch (kind) {
      case 'buy':
        return await purchase(db, { teamId, cents, source: bought, at });
      case 'give':
        return await grant(ctx(at), { currency: 'usd', teamId, amountCents: cents, reason: 'r', expiresAt });
      case 'use':
        return await useCredit(db, { currency: 'usd', teamId, cents, source: statementId, at });
      case 'refund':
        return await refund(db, { purchase: bought, totalCents: cents, at });
      case 'open':
        return await disputeOpened(db, disputed);
      case 'win':
        return await disputeWon(db, disputed);
      case 'lose':
        return await disputeLost(db, disputed);
      case 'expire':
        return await expireCredit(db, at);
      case 'owe':
        return await shortfallOf(db, { currency: 'usd', teamId, statementId, at });
    }
  };

  /** What must hold whatever was done. */
  const broken = async () =>
    await db.sql`
      with last as (select distinct on (team_id, account) team_id, account, seq, balance from credit_entries order by team_id, account, seq desc),
      counted as (select team_id, account, count(*) as entries, sum(cents) as cents from credit_entries group by 1, 2),
      rests as (
        select team_id, sum(case when "to" = 'available' then cents when "from" = 'available' then -cents else 0 end) as cents from credit_transfers group by 1
      )
      select 'sum' as what, team_id from credit_entries group by team_id having sum(cents) <> 0
      union all select 'legs', transfer_id from credit_entries group by transfer_id having sum(cents) <> 0 or count(*) <> 2
      union all select 'transfer without entries', t.id from credit_transfers t where not exists (select from credit_entries e where e.transfer_id = t.id)
      union all select 'last', l.team_id from last l join counted c using (team_id, account) where l.seq <> c.entries or l.balance <> c.cents
      union all select 'transfers', r.team_id from rests r join last l on l.team_id = r.team_id and l.account = 'available' where r.cents <> l.balance
      union all select 'block', b.id from credit_transfers b join credit_transfers m on m.block_id = b.id
        group by b.id having sum(case when m."from" = 'available' then m.cents when m."to" = 'available' then -m.cents else 0 end) not between 0 and b.cents`;

  const restsOf = async (teamId: string) =>
    (await blocksOf(db.sql, teamId)).map(({ remainingCents }) => remainingCents);

  it('leave the ledger as the model says, act by act', async () => {
    const seed = randomInt(2 ** 31);
    const teamId = 'team_0';
    const model = new Model();
    for (const [n, each] of actsOf(seed).entries()) {
      await act(teamId, each);
      model.do(each);
      const where = `seed ${seed}, act ${n}: ${JSON.stringify(each)}`;
      expect(await restsOf(teamId), where).toEqual(model.inOrder().map(({ rest }) => rest));
      expect(await balanceOf(db.sql, teamId), where).toBe(model.balance);
      expect(await shortfallDue(db.sql, teamId), where).toBe(model.shortfall);
    }
    for (const [n, cents] of model.used)
      expect(
        await useCredit(db, {
          currency: 'usd',
          teamId,
          cents: 1,
          source: `stm ${teamId} ${n}`,
          at: new Date(START),
        }),
      ).toBe(cents);
    expect(await broken(), `seed ${seed}`).toEqual([]);
  });

  it('at once, and twice each, leave the invariants of each team', async () => {
    const seed = randomInt(2 ** 31);
    const all = Array.from({ length: TEAMS - 1 }, (_, n) =>
      actsOf(seed + n).map((each) => ({ teamId: `team_${n + 1}`, each })),
    );
    const work = all.flat().flatMap((one) => (one.each.kind === 'give' ? [one] : [one, one]));
    for (let from = 0; from < work.length; from += GANG)
      await Promise.all(
        work.slice(from, from + GANG).map(async ({ teamId, each }) => await act(teamId, each)),
      );
    expect(await broken(), `seed ${seed}`).toEqual([]);
    for (let n = 1; n < TEAMS; n += 1) {
      const rests = await restsOf(`team_${n}`);
      expect(rests.reduce((sum, rest) => sum + rest, 0)).toBe(await balanceOf(db.sql, `team_${n}`));
    }
  });
});
