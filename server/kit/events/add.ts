/** What has happened is written down in the transaction in which it happens, and published from there. */
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';

export interface NewEvent {
  readonly teamId: string;
  readonly kind: string;
  /** Key of what has happened: of two events of a kind with the same key the second one is dropped. */
  readonly key: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: Date;
}

/** This is called in the transaction of what has happened. */
export async function addEvent(
  { sql }: Database,
  { teamId, kind, key, payload, at }: NewEvent,
): Promise<void> {
  await sql`
    insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
    values (${newId('evt', at.getTime())}, ${teamId}, ${kind}, ${key}, ${sql.json(payload)}, ${at})
    on conflict (kind, dedupe_key) do nothing`;
}
