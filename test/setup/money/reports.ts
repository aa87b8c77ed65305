/** Reports of work that is gone, as the engine writes them: what money is computed from, without the work. */
import { announce } from '../../../server/engine/work/sql.ts';
import type { SqlTag } from '../../../server/base/db/index.ts';
import { newId } from '../../../server/base/ids.ts';

export interface Reported {
  readonly teamId: string;
  /** Time of the report. */
  readonly at: string;
  readonly ms: number;
  /** Id of the run; one id twice is the same report. */
  readonly id?: string;
  readonly kind?: 'run' | 'build';
  readonly runnerId?: string;
}

/** The event waits in the outbox from the report on. Returns the run's id. */
export async function report(
  sql: SqlTag,
  { teamId, at, ms, id = newId('run'), kind = 'run', runnerId = 'rnr_gone' }: Reported,
): Promise<string> {
  const claimedAt = new Date(Date.parse(at) - ms).toISOString();
  await sql`
    with ended as (
      select ${id}::text as id, ${teamId}::text as team_id, ${kind}::text as kind, 'succeeded' as state, 'exit' as reason, 0 as exit_code, ${runnerId}::text as runner_id,
        1 as epoch, 1 as attempt, ${ms}::int as metered_ms, null::int as self_reported_ms, ${claimedAt}::text::timestamptz as claimed_at,
        ${at}::text::timestamptz as finished_at, null::text as build_id
    ), ${announce(sql, 'ended')}
    select 1`;
  await sql`update outbox set created_at = ${at}::text::timestamptz where kind = 'work.finished' and dedupe_key = ${id}`;
  return id;
}
