/**
 * Runs that nothing is heard of any more. Webhooks are lost for good (GitHub does not send a failed delivery again), so a run that stands open past the
 * longest time its provider allows becomes `unknown` with the reason `lost`: never `failed`, since nobody said so. What is heard of it later
 * takes its place (runs-store.ts). Any number of servers may do this.
 */
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/index.ts';
import { every } from '../platform/every.ts';
import type { Repeating } from '../platform/every.ts';
import type { CiProvider } from './words.ts';

const HOUR_MS = 3_600_000;

/** How long an open run may be silent. A queued GitHub job was seen to wait 48 h for a self-hosted runner; elsewhere a day is the limit. */
const QUEUED_MS: Readonly<Partial<Record<CiProvider, number>>> = { github: 49 * HOUR_MS };
const QUEUED_DEFAULT_MS = 25 * HOUR_MS;
/** Hosted jobs end after 6 h at most. */
const RUNNING_MS = 7 * HOUR_MS;
/** Approvals of GitHub expire after 30 days, others later or never. */
const BLOCKED_MS = 30 * 24 * HOUR_MS;

const EVERY_MS = 60_000;
/** Runs of one statement; a longer backlog takes several. */
const BATCH = 500;

export interface CiHealthDeps {
  readonly db: Database;
  readonly clock: Clock;
  onError(error: unknown): void;
}

export function startCiHealth({ db, clock, onError }: CiHealthDeps): Repeating {
  return every(EVERY_MS, async () => await giveUpLost(db, clock.now()), onError);
}

/** Returns how many runs were given up. */
export async function giveUpLost(db: Database, now: Date): Promise<number> {
  let lost = 0;
  for (let batch = BATCH; batch === BATCH; lost += batch) batch = await giveUpBatch(db, now);
  return lost;
}

async function giveUpBatch({ sql }: Database, now: Date): Promise<number> {
  const before = (ms: number): Date => new Date(now.getTime() - ms);
  const queued = Object.entries(QUEUED_MS);
  const rows = await sql<Array<{ n: number }>>`
    with deadlines as (
      select * from unnest(${queued.map(([provider]) => provider)}::text[], ${queued.map(([, ms]) => before(ms).toISOString())}::text[])
        as d (provider, queued_before)
    ), silent as (
      select r.id from ci_runs r join ci_connections c on c.id = r.connection_id left join deadlines d on d.provider = c.provider
      where r.status in ('queued', 'running') and r.heard_at < ${before(RUNNING_MS)} and r.heard_at < case
        when r.blocked then ${before(BLOCKED_MS)}::timestamptz
        when r.status = 'queued' then coalesce(d.queued_before::timestamptz, ${before(QUEUED_DEFAULT_MS)}::timestamptz)
        else ${before(RUNNING_MS)}::timestamptz
      end
      limit ${BATCH} for no key update of r skip locked
    ), lost as (
      update ci_runs r set status = 'unknown', reason = 'lost', lost = true, blocked = false, updated_at = ${now}
      from silent where r.id = silent.id returning r.id
    ), closed as (
      update ci_jobs j set status = 'unknown', reason = 'run_ended', blocked = false
      from lost where j.run_id = lost.id and j.own_status in ('queued', 'running') returning 1
    )
    select count(*)::int as n from lost`;
  return rows[0]?.n ?? 0;
}
