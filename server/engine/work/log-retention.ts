/**
 * Keeps the output's partitions: the coming days' are made ahead, those that are older than the installation
 * keeps output are dropped, one table at a time. Any number of servers may do it at once. The functions are
 * in migration 0016: the server's own role owns no table.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { startLoop, type Loop } from '../../base/loop.ts';

const AHEAD_DAYS = 3;
const EVERY_MS = 3_600_000;

export async function preparePartitions(sql: SqlTag): Promise<void> {
  await sql`select work_logs_prepare(${AHEAD_DAYS}::int)`;
}

/**
 * Drops one partition that holds nothing younger; its name, or undefined when there is none or when it is in
 * use just now.
 */
export async function retirePartition(sql: SqlTag, keepDays: number): Promise<string | undefined> {
  const [row] = await sql<Array<{ dropped: string | null }>>`
    select work_logs_retire(${keepDays}::int) as dropped`;
  return row?.dropped ?? undefined;
}

export function startLogRetention(sql: SqlTag, keepDays: number, onError: (error: unknown) => void): Loop {
  return startLoop({
    everyMs: EVERY_MS,
    onError,
    run: async () => {
      await preparePartitions(sql);
      return (await retirePartition(sql, keepDays)) !== undefined;
    },
  });
}
