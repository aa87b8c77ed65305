/**
 * This benchmark measures the ledger of credit: the balance of a team with a long history and of one with a
 * short one, in turn, and posts over many teams beside the same rows without a ledger's rules.
 */
import { performance } from 'node:perf_hooks';
import postgres from 'postgres';
import type { Database } from '../../server/base/db/index.ts';
import { balanceOf, blocksOf, post } from '../../server/money/credits/index.ts';
import { createTestDatabase } from '../setup/database.ts';
import { figure, median, type Figure } from './figure.ts';

/** Two entries a transfer. */
const LONG = 500_000;
const SHORT = 100;
const READS = 400;
const WARM_UP = 100;
/** Transfers of a block: the purchase, and what uses it up. */
const OF_BLOCK = 50;

const TEAMS = 200;
const AT_ONCE = 16;
const POSTS = 2_000;
const ROUNDS = 4;

/**
 * Writes blocks of 49 cents, each of which but the newest is used up cent by cent. References are not
 * checked, and right.
 */
async function fill(owner: postgres.Sql, teamId: string, entries: number): Promise<void> {
  await owner`
    insert into credit_transfers (id, team_id, kind, source, "from", "to", cents, block_id, created_at)
    select id, ${teamId}, kind, id, case kind when 'purchase' then 'bought' else 'available' end, case kind when 'purchase' then 'available' else 'consumed' end,
      case kind when 'purchase' then ${OF_BLOCK - 1}::int else 1 end, case kind when 'usage' then block end, timestamptz '2026-01-01' + n * interval '1 second'
    from generate_series(0, ${entries / 2 - 2}::int) n,
      lateral (select ${teamId}::text || lpad(n::text, 8, '0') as id, ${teamId}::text || lpad((n - n % ${OF_BLOCK}::int)::text, 8, '0') as block,
        case n % ${OF_BLOCK}::int when 0 then 'purchase' else 'usage' end as kind) t`;
  await owner`
    insert into credit_entries (team_id, account, seq, transfer_id, cents, previous_seq, previous_balance, balance)
    select team_id, account, seq, id, cents, nullif(seq - 1, 0), case when seq > 1 then balance - cents end, balance
    from (
      select team_id, account, id, leg.cents, row_number() over w as seq, sum(leg.cents) over w as balance
      from credit_transfers, lateral (values ("from", -cents), ("to", cents)) leg (account, cents) where team_id = ${teamId}
      window w as (partition by account order by id)
    ) e`;
}

type Read = (teamId: string) => Promise<unknown>;

async function compared(name: string, read: Read): Promise<Figure> {
  const times = new Map<string, number[]>([
    ['long', []],
    ['short', []],
  ]);
  for (let n = 0; n < READS + WARM_UP; n += 1)
    for (const [teamId, samples] of times) {
      const began = performance.now();
      await read(teamId);
      if (n >= WARM_UP) samples.push(performance.now() - began);
    }
  return figure({
    name: `${name} of a team with ${LONG.toLocaleString('en')} entries, p50`,
    value: median(times.get('long') ?? []),
    unit: 'ms',
    reference: `with ${SHORT}`,
    referenceValue: median(times.get('short') ?? []),
    target: '≤ 1.5 ×',
    pass: (_, ratio) => ratio <= 1.5,
  });
}

/** Without keys to others, without checks, without what was before. */
async function createBare({ sql }: Database): Promise<void> {
  await sql`create table bare_transfers (id text primary key, team_id text, kind text, source text, cents bigint, created_at timestamptz)`;
  await sql`create table bare_entries (team_id text, account text, transfer_id text, cents bigint, primary key (transfer_id, account))`;
}

let made = 0;

async function bare({ sql }: Database, teamId: string): Promise<void> {
  const id = `bare_${(made += 1)}`;
  await sql`
    with t as (insert into bare_transfers values (${id}, ${teamId}, 'purchase', ${id}, 1, now()))
    insert into bare_entries values (${teamId}, 'available', ${id}, 1), (${teamId}, 'bought', ${id}, -1)`;
}

async function posted(db: Database, teamId: string): Promise<void> {
  const source = `cs_${(made += 1)}`;
  const move = { kind: 'purchase', from: 'bought', to: 'available', cents: 1 } as const;
  const { outcome } = await post(db, { teamId, source, ...move, at: new Date() });
  if (outcome !== 'posted') throw new Error(`the post ${source} was ${outcome}`);
}

async function perSecond(work: (teamId: string) => Promise<void>): Promise<number> {
  let left = POSTS;
  const began = performance.now();
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await work(`team_${left % TEAMS}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return (POSTS / (performance.now() - began)) * 1_000;
}

async function posts(db: Database): Promise<Figure> {
  await createBare(db);
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    theirs.push(await perSecond(async (teamId) => await bare(db, teamId)));
    ours.push(await perSecond(async (teamId) => await posted(db, teamId)));
  }
  // The first of each are planned and cold.
  return figure({
    name: `posts to the ledgers of ${TEAMS} teams, ${AT_ONCE} at once`,
    value: median(ours.slice(1)),
    unit: 'a second',
    reference: 'three bare rows',
    referenceValue: median(theirs.slice(1)),
    target: '≥ 0.5 ×',
    pass: (_, ratio) => ratio >= 0.5,
  });
}

export async function run(): Promise<Figure[]> {
  const database = await createTestDatabase({ max: AT_ONCE });
  const owner = postgres(database.url, { max: 1, onnotice: () => undefined });
  try {
    await owner`set session_replication_role = replica`;
    await owner`set synchronous_commit = off`;
    await fill(owner, 'long', LONG);
    await fill(owner, 'short', SHORT);
    await owner`analyze credit_transfers, credit_entries`;
    const { db } = database;
    return [
      await compared('credit', async (teamId) => await balanceOf(db.sql, teamId)),
      await compared('blocks of the credit', async (teamId) => await blocksOf(db.sql, teamId)),
      await posts(db),
    ];
  } finally {
    await owner.end();
    await database.drop();
  }
}
