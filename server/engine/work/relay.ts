/**
 * Hints queued items that nobody has claimed, again and again with growing pauses: the rows are the outbox,
 * so a purged queue, a rebuilt broker or a lost message heals by itself. Any number of servers relay at once;
 * finding and postponing is one statement. An item is postponed before it is published, because a crash in
 * between costs one pause, while the other order could publish for ever.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { WorkHint, WorkQueue } from '@svc/proto/queue/queue.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { isTurn } from './build-sql.ts';
import type { WorkSettings } from './settings.ts';
import { beginTurns } from './turns.ts';
import { startLoop, type Loop } from '../../base/loop.ts';
import { ms } from '../../base/sql.ts';

/** After a hint that could not be published. */
const FAILED_AGAIN_MS = 2_000;
/**
 * A build whose turn has not come is looked at again after this time; the end of the one before it makes it
 * due at once.
 */
const HELD_AGAIN_MS = 5_000;

/** Takes what is due, at most `batch`, and postpones it. */
export async function takeDueHints(sql: SqlTag, settings: WorkSettings): Promise<readonly WorkHint[]> {
  return await sql<WorkHint[]>`
    with due as (
      select w.id, w.kind = 'build' and not ${isTurn(sql)} as held from work_items w
      where w.state = 'queued' and w.hint_due_at <= now() and w.run_after <= now()
        and (${settings.feedServicePool}::boolean or not exists (select from teams t where t.id = w.pool_id and t.service_pool))
      order by w.hint_due_at limit ${settings.batch}::int
      for update of w skip locked
    ),
    taken as (
      update work_items w set
        hint_due_at = now() + case when due.held then ${ms(sql, HELD_AGAIN_MS)}
          else least(${ms(sql, settings.hintAgainMs)} * power(2, least(w.hint_count, 16)), ${ms(sql, settings.hintMaxMs)}) end,
        hint_count = w.hint_count + (not due.held)::int
      from due where w.id = due.id
      returning w.id, w.pool_id, w.kind, w.team_id, due.held
    ),
    ${beginTurns(
      sql,
      sql`
      select i.pool_id, i.kind, i.team_id from taken i join teams p on p.id = i.pool_id and p.service_pool`,
    )}
    select id as "workId", pool_id as "poolId", kind, 1 as count from taken where not held`;
}

async function postponeFailed(sql: SqlTag, ids: readonly string[]): Promise<void> {
  await sql`
    update work_items w set hint_due_at = now() + ${ms(sql, FAILED_AGAIN_MS)}, hint_count = 0
    from (select id from work_items where id = any(${[...ids]}::text[]) and state = 'queued' order by id for no key update) failed
    where w.id = failed.id`;
}

export interface RelayDeps {
  readonly sql: SqlTag;
  readonly queue: WorkQueue;
  readonly settings: WorkSettings;
  onError(error: unknown): void;
}

/**
 * Makes one pass. Returns whether more is due. While the broker is down nothing is taken: waiting polls then
 * claim by themselves.
 */
export async function relayOnce({ sql, queue, settings, onError }: RelayDeps): Promise<boolean> {
  if (!queue.up) return false;
  const hints = await takeDueHints(sql, settings);
  const outcomes = await Promise.allSettled(hints.map(async (hint) => await queue.hint(hint)));
  const failed = hints.filter((_, i) => outcomes[i]?.status === 'rejected').map((hint) => hint.workId);
  if (failed.length > 0) {
    await postponeFailed(sql, failed);
    const first = outcomes.find((outcome) => outcome.status === 'rejected');
    onError(
      new Error(`${failed.length} of ${hints.length} hints could not be published`, { cause: first?.reason }),
    );
    return false;
  }
  return hints.length === settings.batch;
}

export function startRelay(deps: RelayDeps): Loop {
  return startLoop({
    everyMs: deps.settings.relayEveryMs,
    onError: deps.onError,
    run: async () => await relayOnce(deps),
  });
}
