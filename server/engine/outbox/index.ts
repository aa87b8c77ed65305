/**
 * Publishes events that were written with their cause: each feature's effects (usage of the day, notifications, deliveries of webhooks)
 * and the end of the event are one statement: each is published once, by whichever worker comes first, and those who report work pay for
 * nothing of it. A mark in its row would cost as much as the deletion, and the deletion later besides.
 */
import type { EventEffect, Feature, System } from '../../platform/feature.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import { wakeWorkers } from '../../platform/jobs/index.ts';
import { startLoop } from '../../platform/loop.ts';
import type { Loop } from '../../platform/loop.ts';

/** Often, so that a busy second is not published in one piece that holds a core of the database up. */
const EVERY_MS = 250;
const BATCH = 500;

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
      select o.id from outbox o order by o.created_at limit ${batch}::int for update skip locked
    ),
    published as (
      delete from outbox o using due d where o.id = d.id
      returning o.id, o.team_id, o.kind, o.dedupe_key, o.payload, o.created_at
    )${effects.reduce((before, effect) => sql`${before}, ${effect(sql)}`, sql``)}
    select count(*)::int as count from published`;
  return row?.count ?? 0;
}

/** Whether something that happened in the team before this time is not published yet, so that what comes of it is not there. */
export async function isBehind(sql: SqlTag, teamId: string, until: Date): Promise<boolean> {
  const left = await sql`select 1 from outbox where team_id = ${teamId} and created_at < ${until} limit 1`;
  return left.length > 0;
}

/** Time up to which all of the team's events of a kind are published, as the database that is asked knows it: a replica knows what it has replayed. */
export async function publishedUntil(
  sql: SqlTag,
  { teamId, kind, now }: { readonly teamId: string; readonly kind: string; readonly now: Date },
): Promise<Date> {
  const [row] = await sql<Array<{ at: Date }>>`
    select least(${now}::timestamptz, (select min(created_at) from outbox where team_id = ${teamId} and kind = ${kind}),
      case when pg_is_in_recovery() then pg_last_xact_replay_timestamp() end) as at`;
  return row?.at ?? now;
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

export function outboxFeature(system: System, effects: readonly EventEffect[]): Feature {
  return { loops: [() => startOutbox(system, effects)] };
}
