/** Tombstones are kept for a while after they were carried out, for whoever asks what became of an app. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';

const KEPT_DAYS = 7;
/** Nobody carries out those of a runner that never comes back. */
const OPEN_DAYS = 365;

export async function purgeTombstones(sql: SqlTag): Promise<void> {
  await sql`
    delete from host_tombstones
    where created_at < now() - ${KEPT_DAYS}::int * interval '1 day'
      and (removed_at < now() - ${KEPT_DAYS}::int * interval '1 day' or created_at < now() - ${OPEN_DAYS}::int * interval '1 day')`;
}
