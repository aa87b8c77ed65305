/**
 * Publishes events that were written with their cause: each feature's effects (usage of the day, notifications, deliveries of webhooks)
 * and the mark are one statement: each event is published once, by whichever worker comes first, and those who report work pay for
 * nothing of it.
 */
import type { EventEffect, Feature, System } from '../../platform/feature.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { wakeWorkers } from '../../platform/jobs/index.ts';
import { startLoop } from '../../platform/loop.ts';
import type { Loop } from '../../platform/loop.ts';

/** Often, so that a busy second is not published in one piece that holds a core of the database up. */
const EVERY_MS = 250;
const BATCH = 500;
const KEPT_MS = 7 * 24 * 60 * 60_000;

export interface PublishDeps {
  readonly sql: SqlTag;
  readonly effects: readonly EventEffect[];
  /** The most events that are published in one statement. */
  readonly batch?: number;
}

/** Returns how many events were published. */
export async function publish({ sql, effects, batch = BATCH }: PublishDeps): Promise<number> {
  const [row] = await sql<Array<{ count: number }>>`
    with due as (
      select o.id from outbox o where o.published_at is null
      order by o.created_at limit ${batch}::int for update skip locked
    ),
    published as (
      update outbox o set published_at = now() from due d where o.id = d.id
      returning o.id, o.team_id, o.kind, o.dedupe_key, o.payload, o.created_at
    )${effects.reduce((before, effect) => sql`${before}, ${effect(sql)}`, sql``)}
    select count(*)::int as count from published`;
  return row?.count ?? 0;
}

function startOutbox({ db, onError }: System, effects: readonly EventEffect[]): Loop {
  return startLoop({
    everyMs: EVERY_MS,
    onError,
    run: async () => {
      const count = await publish({ sql: db.sql, effects });
      if (count > 0) wakeWorkers(db);
      return count === BATCH;
    },
  });
}

/** Published a week ago and longer; the ids sort by time. */
export async function purgeOutbox(sql: SqlTag, nowMs: number): Promise<number> {
  const { count } = await sql`
    delete from outbox where id < ${newId('evt', nowMs - KEPT_MS)} and published_at < now() - interval '1 day'`;
  return count;
}

export function outboxFeature(system: System, effects: readonly EventEffect[]): Feature {
  return {
    loops: [() => startOutbox(system, effects)],
    purges: [async (nowMs) => await purgeOutbox(system.db.sql, nowMs)],
  };
}
