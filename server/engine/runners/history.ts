/**
 * What a runner held and gave back. Times are the control plane's, to the millisecond; its own measurements
 * stand beside them.
 */
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { RunnerInTeam } from './row.ts';

export interface LeaseRow {
  /** The run, or the build whose item it is. */
  readonly workId: string;
  /** It is for the cursor. */
  readonly itemId: string;
  readonly kind: string;
  readonly epoch: number;
  readonly outcome: string;
  readonly grantedAt: Date;
  /** The same to the microsecond, for the cursor. */
  readonly grantedText: string;
  readonly startedAt: Date | null;
  readonly endedAt: Date;
  readonly meteredMs: number | null;
  readonly selfReportedMs: number | null;
  readonly contactGapMs: number;
}

export interface HistoryQuery extends RunnerInTeam {
  readonly take: number;
  /** The last lease of the page before. */
  readonly after: { readonly grantedAt: string; readonly workId: string } | undefined;
}

/**
 * Reads the newest grant first. A report is of one epoch alone, so the item's own times belong to the lease
 * that has one.
 */
export async function listHistory(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, runnerId, take, after }: HistoryQuery,
): Promise<readonly LeaseRow[]> {
  const behind =
    after === undefined
      ? sql``
      : sql`and (x.granted_at, x.work_id) < (${after.grantedAt}::timestamptz, ${after.workId})`;
  return await sql<LeaseRow[]>`
    select coalesce(w.build_id, x.work_id) as "workId", x.work_id as "itemId", w.kind, x.epoch, coalesce(p.outcome, x.end_reason, '') as outcome, x.granted_at as "grantedAt",
      x.granted_at::text as "grantedText", x.started_at as "startedAt", x.ended_at as "endedAt", x.contact_gap_ms as "contactGapMs",
      case when p.work_id is not null then w.metered_ms end as "meteredMs",
      case when p.work_id is not null then w.self_reported_ms end as "selfReportedMs"
    from work_leases x
    join work_items w on w.id = x.work_id
    left join work_reports p on p.work_id = x.work_id and p.epoch = x.epoch
    where x.runner_id = ${runnerId} and x.ended_at is not null ${behind}
      and exists (select from runners where id = ${runnerId} and team_id = ${requireTeam(scope, teamId)})
    order by x.granted_at desc nulls last, x.work_id desc nulls last limit ${take}::int`;
}
