/** A failure is kept once, whatever happens to the job that keeps it. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { FailureSignature } from '@svc/sdk/failure-signature';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import type { Item } from './item.ts';

export async function keepFailure(
  database: Database,
  item: Item,
  { signature, template }: Pick<FailureSignature, 'signature' | 'template'>,
): Promise<void> {
  const { teamId, finishedAt } = item;
  const id = newId('fso', finishedAt.getTime());
  await database.transact(async ({ sql }) => {
    await sql`
      insert into failure_signatures (id, team_id, signature, template, kind, phase, count, first_seen_at, last_seen_at, newest, created_at)
      values (${newId('fsg', finishedAt.getTime())}, ${teamId}, ${signature}, ${template}, ${item.kind}, ${item.phase}, 0, ${finishedAt}, ${finishedAt}, ${id}, now())
      on conflict (team_id, signature) do nothing`;
    await sql`
      with kept as (
        insert into failure_occurrences (id, team_id, signature_id, work_id, source_id, environment_id, commit, runner_id, started_at, at, created_at)
        select ${id}, s.team_id, s.id, ${item.workId}, ${item.sourceId}, ${item.environmentId}, ${item.commit}, ${item.runnerId}, ${item.startedAt}, ${finishedAt}, now()
        from failure_signatures s where s.team_id = ${teamId} and s.signature = ${signature}
        on conflict (team_id, work_id) do nothing
        returning signature_id, id, at
      )
      update failure_signatures s set count = s.count + 1, newest = greatest(s.newest, k.id),
        first_seen_at = least(s.first_seen_at, k.at), last_seen_at = greatest(s.last_seen_at, k.at)
      from kept k where s.id = k.signature_id`;
  });
}
