/** What must hold for every item at any time, read from the database alone. */
import type { SqlTag } from '../../../server/base/db/index.ts';

export interface Violations {
  /** Pairs of leases of one item that overlap in time. */
  readonly overlapping: number;
  /** Items whose grants are not numbered 1, 2, 3 … up to their epoch. */
  readonly epochGaps: number;
  /** Items that are held without exactly one open lease, or not held with one. */
  readonly openLeases: number;
  /** Ended items without exactly one event of that, or events of items that have not ended. */
  readonly events: number;
  /** Items ended by a report without one, or reports of items that were not. */
  readonly reports: number;
  /** Attempts or offers beyond their limits. */
  readonly limits: number;
}

export const NO_VIOLATIONS: Violations = {
  overlapping: 0,
  epochGaps: 0,
  openLeases: 0,
  events: 0,
  reports: 0,
  limits: 0,
};

export async function violations(sql: SqlTag): Promise<Violations> {
  const [row] = await sql<Violations[]>`
    select
      (select count(*)::int from work_leases a join work_leases b on a.work_id = b.work_id and a.epoch < b.epoch
        where coalesce(a.ended_at, 'infinity') > b.granted_at) as overlapping,
      (select count(*)::int from work_items w left join lateral (
          select count(*) as leases, coalesce(max(epoch), 0) as highest from work_leases l where l.work_id = w.id
        ) l on true where l.leases <> w.epoch or l.highest <> w.epoch) as "epochGaps",
      (select count(*)::int from work_items w
        where (w.state in ('offered', 'running'))::int <> (select count(*) from work_leases l where l.work_id = w.id and l.ended_at is null)) as "openLeases",
      (select count(*)::int from work_items w
        where (w.finished_at is not null)::int <> (select count(*) from outbox o where o.kind = 'work.finished' and o.dedupe_key = w.id)) as events,
      (select count(*)::int from work_items w left join work_leases l on l.work_id = w.id and l.end_reason = 'reported'
        where (l.work_id is not null)::int <> (select count(*) from work_reports p where p.work_id = w.id and p.epoch = l.epoch)
          or (w.state = 'succeeded' and l.work_id is null)) as reports,
      (select count(*)::int from work_items w where w.attempt > w.max_attempts or w.offers > 20 or w.offers <> w.epoch) as limits`;
  if (row === undefined) throw new Error('no answer');
  return { ...row };
}
