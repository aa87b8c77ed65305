/**
 * Eight runners that claim, heartbeat, report, repeat, die and come back at random, two sweepers and a
 * canceller, with leases of a tenth of a second: whatever happened, each item was held by one at a time and
 * ended once.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { cancel } from './cancel.ts';
import type { Grant } from './poll.ts';
import { startSweeper } from './sweeper.ts';
import { NO_VIOLATIONS, violations } from '../../../test/setup/work/invariants.ts';
import { createWorld, randomKey, type World } from '../../../test/setup/work/world.ts';

const RUNNERS = 8;
const ITEMS = 150;
const RUN_MS = 6_000;
const BUSY_MS = 30_000;

/** Returns mulberry32, which gives the same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe.skipIf(!(await has('postgres')))('many runners at once', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(
      { offerMs: 60, leaseMs: 100, graceMs: 1, sweepEveryMs: 15, heartbeatMs: 20 },
      12,
    );
  });
  afterAll(async () => await world.drop());

  it('never hold one item together, and end each once', { timeout: 60_000 }, async () => {
    const seed = Number(process.env['SVC_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`seed ${seed} (SVC_SEED repeats the choices)`);
    const { sql } = world.db;
    const team = await world.team();
    const runners = await Promise.all(Array.from({ length: RUNNERS }, async () => await world.runner(team)));
    const ids = await Promise.all(Array.from({ length: ITEMS }, async () => await world.submit(team)));
    const accepted = new Map<string, number>();
    const errors: unknown[] = [];
    const endMs = performance.now() + RUN_MS;
    let grants = 0;
    // On a busy machine it goes on until something was granted again.
    const goesOn = (): boolean => performance.now() < endMs + (grants > ITEMS ? 0 : BUSY_MS);
    const sweepers = [0, 1].map(() =>
      startSweeper({
        sql,
        settings: world.settings,
        onSwept: () => undefined,
        onError: (error) => errors.push(error),
      }),
    );

    const reportOnce = async (runner: string, grant: Grant, reportId: string): Promise<void> => {
      const outcome = await world
        .report(runner, { id: grant.workId, epoch: grant.epoch, reportId })
        .catch((error: { code?: string }) => error.code ?? error);
      if (typeof outcome === 'object' && outcome !== null && 'repeated' in outcome) {
        if (!outcome.repeated) accepted.set(grant.workId, (accepted.get(grant.workId) ?? 0) + 1);
      } else if (outcome !== 'stale_epoch') errors.push(outcome);
    };
    const live = async (runner: string, random: () => number): Promise<void> => {
      const held: Grant[] = [];
      while (goesOn()) {
        const dice = random();
        // Mostly what it got last; now and then something that it should have given up long ago.
        const grant = random() < 0.8 ? held.at(-1) : held[Math.floor(random() * held.length)];
        if (dice < 0.35 || grant === undefined) {
          const got = await world.poll(runner, randomKey('poll'));
          if (got !== undefined) {
            grants += 1;
            held.push(got);
          } else await new Promise((resolve) => setTimeout(resolve, 5));
        } else if (dice < 0.6) {
          await world.beat(runner, { id: grant.workId, epoch: grant.epoch + (random() < 0.1 ? -1 : 0) });
        } else if (dice < 0.75) {
          const reportId = `report-${grant.epoch}-${runner}`;
          // An answer that was lost: the same report comes again, twice at once.
          await Promise.all([reportOnce(runner, grant, reportId), reportOnce(runner, grant, reportId)]);
        } else if (dice < 0.85) {
          held.splice(held.indexOf(grant), 1); // The runner forgets it, as after a crash.
        } else if (dice < 0.9) {
          await new Promise((resolve) => setTimeout(resolve, 120)); // Silent for longer than a lease.
        } else if (dice < 0.93) {
          await cancel(sql, [team], ids[Math.floor(random() * ids.length)]!);
        } else {
          await reportOnce(runner, { ...grant, epoch: grant.epoch + 1 }, 'report-future');
        }
      }
    };
    await Promise.all(runners.map(async (runner, i) => await live(runner, randomFrom(seed + i))));
    await Promise.all(sweepers.map(async (sweeper) => await sweeper.stop()));

    expect(errors).toEqual([]);
    expect(await violations(sql)).toEqual(NO_VIOLATIONS);
    expect([...accepted.values()].every((count) => count === 1)).toBe(true);
    const [counts] = await sql<
      Array<{ reports: number; leases: number; items: number; ended: number; events: number }>
    >`
      select (select count(*)::int from work_reports) as reports, (select count(*)::int from work_leases) as leases,
        (select count(*)::int from work_items) as items, (select count(*)::int from work_items where finished_at is not null) as ended,
        (select count(*)::int from outbox) as events`;
    console.log(`${JSON.stringify(counts)}`);
    expect(counts).toMatchObject({ items: ITEMS, reports: accepted.size });
    expect(counts?.events).toBe(counts?.ended);
    expect(counts?.leases).toBeGreaterThan(ITEMS);
  });
});
