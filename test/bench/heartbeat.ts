/**
 * This benchmark is about what a heartbeat with one lease writes, beside what it wrote when the expiry of a
 * lease stood in the item's row and in an index of it: bytes of write-ahead log, and how many updates touch
 * no index.
 */
import { createWorld, type World } from '../setup/work/world.ts';
import { figure, type Figure } from './figure.ts';

const LEASES = 1_000;
const ROUNDS = 5;
/** Beats at once, as from a gateway. */
const TOGETHER = 50;

interface Lease {
  readonly id: string;
  readonly epoch: number;
  readonly runner: string;
}

async function holdLeases(world: World): Promise<readonly Lease[]> {
  const team = await world.team();
  const leases: Lease[] = [];
  for (let n = 0; n < LEASES; n += TOGETHER) {
    const some = await Promise.all(
      Array.from({ length: TOGETHER }, async () => {
        const runner = await world.runner(team);
        await world.submit(team);
        // One that comes while others have all items locked gets nothing, and is hinted; here it asks again.
        for (;;) {
          const grant = await world.poll(runner);
          if (grant !== undefined) return { id: grant.workId, epoch: grant.epoch, runner };
        }
      }),
    );
    leases.push(...some);
  }
  return leases;
}

async function walBytes(world: World, run: () => Promise<unknown>): Promise<number> {
  const { sql } = world.db;
  await sql`checkpoint`;
  // The first change of a page after a checkpoint logs all of it, which is the disk's affair and not the
  // statement's.
  await run();
  const [before] = await sql<Array<{ lsn: string }>>`select pg_current_wal_lsn()::text as lsn`;
  for (let round = 0; round < ROUNDS; round += 1) await run();
  const [after] = await sql<Array<{ bytes: number }>>`
    select pg_wal_lsn_diff(pg_current_wal_lsn(), ${before!.lsn}::pg_lsn)::float8 as bytes`;
  return after!.bytes / (ROUNDS * LEASES);
}

/** Share of the updates of a table that were HOT. */
async function hotShare(world: World, table: string): Promise<number> {
  const { sql } = world.db;
  await sql`select pg_stat_force_next_flush()`;
  const [row] = await sql<Array<{ share: number }>>`
    select n_tup_hot_upd::float8 / n_tup_upd as share from pg_stat_user_tables where relname = ${table}`;
  return row!.share;
}

export async function run(): Promise<Figure[]> {
  const world = await createWorld();
  try {
    const { sql } = world.db;
    const leases = await holdLeases(world);
    const beatAll = async (): Promise<void> => {
      for (let n = 0; n < LEASES; n += TOGETHER) {
        const some = leases.slice(n, n + TOGETHER);
        const states = await Promise.all(
          some.map(async ({ runner, ...lease }) => await world.beat(runner, lease)),
        );
        if (states.some((state) => state !== 'ok')) throw new Error(`heartbeats answered ${states.join()}`);
      }
    };
    const now = await walBytes(world, beatAll);
    await sql.unsafe(`
      create table items_before (like work_items including all);
      insert into items_before select * from work_items;
      alter table items_before add column lease_expires_at timestamptz not null default now();
      create index on items_before (lease_expires_at) where state in ('offered', 'running');
      create table leases_before (like work_leases including all);
      insert into leases_before select * from work_leases;
      create table runners_before (like runners including all);
      insert into runners_before select * from runners`);
    const before = await walBytes(world, async () => {
      for (const { id, runner } of leases) {
        await sql`
          with item as (update items_before set lease_expires_at = clock_timestamp() + interval '60 s' where id = ${id}),
          lease as (update leases_before set last_contact_at = clock_timestamp() where work_id = ${id} and ended_at is null)
          update runners_before set last_heartbeat_at = now(), last_seen_at = now() where id = ${runner}`;
      }
    });
    return [
      figure({
        name: 'write-ahead log of a heartbeat with one lease',
        value: now,
        unit: 'bytes',
        reference: "the item's row renewed, its expiry in an index",
        referenceValue: before,
        target: '≤ 0.4 ×',
        pass: (_, ratio) => ratio <= 0.4,
      }),
      figure({
        name: 'renewals of a lease that touch no index',
        value: await hotShare(world, 'work_leases'),
        unit: 'share',
        reference: 'all',
        referenceValue: 1,
        target: '≥ 0.95 ×',
        pass: (_, ratio) => ratio >= 0.95,
      }),
    ];
  } finally {
    await world.drop();
  }
}
