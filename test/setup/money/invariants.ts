/** What must hold of money whatever was killed, stopped or deleted: over all teams, by SQL. */
import { differencesOf } from '../../../server/money/costs/verify.ts';
import type { Difference } from '../../../server/money/costs/differences.ts';
import type { Database } from '../../../server/platform/db/index.ts';

const SHOWN_MAX = 100;

/** Empty: each published report has exactly one event, days are the sums of events, statements those of days, each with the credit that the ledger took, and the ledger's own sums are right. */
export async function moneyDifferences(db: Database): Promise<Difference[]> {
  const { differences } = await differencesOf(db, { limit: SHOWN_MAX });
  return [...(await eventsOnce(db)), ...differences];
}

/** Of work that is still there. What waits in the outbox has none yet. */
async function eventsOnce({ sql }: Database): Promise<Difference[]> {
  return await sql<Difference[]>`
    select 'usage_events' as table, w.id as row, 'its report of ' || w.metered_ms || ' ms has ' || u.events || ' events of ' || u.ms || ' ms, expected 1' as problem
    from work_items w cross join lateral (
      select count(*) as events, coalesce(sum(e.metered_ms), 0) as ms from usage_events e where e.work_id = w.id and e.reported_at = w.finished_at
    ) u
    where w.finished_at is not null and w.metered_ms is not null and (u.events <> 1 or u.ms <> w.metered_ms)
      and not exists (select from outbox o where o.kind = 'work.finished' and o.dedupe_key = w.id)
    limit ${SHOWN_MAX}::int`;
}
