/**
 * An environment is green again: what had changed since a failure, by the ledger, is what helped. The first
 * that fits counts: nothing (`retry`), the runner, the settings, the commit. A commit that is not known
 * counts as the same.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import type { Item } from './item.ts';

export const RESOLVED_WITHIN_DAYS = 7;
/** Failures that one green build resolves. */
const RESOLVED_MAX = 500;
/** Entries at the end of a ledger that are looked through. */
const LEDGER_MAX = 10_000;

/** Names of acts of a person that change how an environment is built. */
const OF_ENVIRONMENT = ['environment.updated', 'variables.', 'build_step.', 'storage.', 'database.'];

export async function resolveBy(sql: SqlTag, green: Item): Promise<void> {
  const { teamId, environmentId } = green;
  if (environmentId === null) return;
  await sql`
    with due as (
      select o.id, o.started_at, o.runner_id is not distinct from ${green.runnerId} as same_runner,
        coalesce(o.commit = ${green.commit}::text, true) as same_commit
      from failure_occurrences o
      where o.team_id = ${teamId} and o.environment_id = ${environmentId} and o.resolved_at is null
        and o.at <= ${green.finishedAt} and o.at > ${green.finishedAt}::timestamptz - ${RESOLVED_WITHIN_DAYS}::int * interval '1 day'
      order by o.at desc limit ${RESOLVED_MAX} for no key update
    ), changes as materialized (
      select a.at from audit_entries a join audit_heads h on h.chain = a.chain
      where a.chain = ${teamId} and a.seq > h.seq - ${LEDGER_MAX}::int
        and a.at >= (select extract(epoch from min(started_at)) * 1000 from due)
        and a.at <= extract(epoch from ${green.startedAt}::timestamptz) * 1000
        and (starts_with(a.action, 'registry.') or a.target = ${environmentId}
          and exists (select from unnest(${OF_ENVIRONMENT}::text[]) w (word) where starts_with(a.action, w.word)))
    ), judged as (
      select d.id, d.same_runner, d.same_commit,
        exists (select from changes c where c.at >= extract(epoch from d.started_at) * 1000) as changed
      from due d
    )
    ${resolved(
      sql,
      sql`select id, case when same_commit and not changed and same_runner then 'retry' when same_commit and not changed then 'runner'
        when changed then 'settings' else 'commit' end as resolution from judged`,
    )}`;
}

/** Ends the waiting of those that waited for long enough. */
export async function giveUp(sql: SqlTag, now: Date): Promise<void> {
  await sql`
    with due as (
      select id from failure_occurrences
      where resolved_at is null and at < ${now}::timestamptz - ${RESOLVED_WITHIN_DAYS}::int * interval '1 day'
      order by at limit ${RESOLVED_MAX} for no key update skip locked
    )
    ${resolved(sql, sql`select id, 'unresolved' as resolution from due`)}`;
}

/** Ends a statement: `rows` (id, resolution) are resolved, and signatures show the last of theirs. */
function resolved(sql: SqlTag, rows: Fragment): Fragment {
  return sql`, done as (
      update failure_occurrences o set resolution = r.resolution, resolved_at = now() from (${rows}) r where o.id = r.id
      returning o.signature_id, o.id, o.resolution
    )
    update failure_signatures s set resolution = d.resolution
    from (select distinct on (signature_id) signature_id, resolution from done order by signature_id, id desc) d
    where s.id = d.signature_id`;
}
