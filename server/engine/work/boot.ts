/**
 * The current process of a runner is the one that was first seen last; only its calls count. A boot id that
 * was never seen takes the runner over; one that was replaced stays replaced, so that a process that hung and
 * came back cannot act beside its successor.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { apiError } from '@svc/proto/http/errors.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Signed } from './nonces.ts';
import type { CallingRunner, RunnerRef } from './sql.ts';

/** Makes a boot id that was never seen the current one. Does nothing for one that was seen before. */
async function takeOver(sql: SqlTag, { runnerId, bootId }: RunnerRef): Promise<void> {
  await sql`
    with fresh as (
      insert into runner_boots (runner_id, boot_id, first_seen_at)
      select id, ${bootId}, clock_timestamp() from runners where id = ${runnerId} and revoked_at is null
      on conflict (runner_id, boot_id) do nothing
      returning runner_id
    ),
    replaced as (
      update runner_boots b set superseded_at = clock_timestamp()
      from fresh f where b.runner_id = f.runner_id and b.boot_id <> ${bootId} and b.superseded_at is null
    )
    update runners r set boot_id = ${bootId}, draining = false from fresh f where r.id = f.runner_id`;
}

/**
 * This runs a statement of a runner. When it changed nothing because its process is new, the process takes
 * over and the statement runs once more, without the nonce, which is used up: a process pays for this once in
 * its life, and the usual call checks it in passing.
 */
export async function asCurrentProcess<Input extends RunnerRef & Signed, T extends CallingRunner>(
  sql: SqlTag,
  input: Input,
  statement: (input: Input) => Promise<T | undefined>,
): Promise<T> {
  const { runnerId } = input;
  let row = await statement(input);
  if (row !== undefined && !row.current && !row.revoked) {
    await takeOver(sql, input);
    row = await statement({ ...input, nonce: undefined });
  }
  if (row === undefined) throw apiError('key_unknown', `runner ${runnerId} is not enrolled`);
  if (row.revoked)
    throw apiError('runner_revoked', `runner ${runnerId} was revoked by its team; enroll it again to go on`);
  if (!row.current) {
    throw apiError('boot_superseded', `a newer process of runner ${runnerId} has taken over; stop this one`);
  }
  return row;
}
